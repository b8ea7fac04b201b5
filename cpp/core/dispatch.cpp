// Picks the kernels for the processor at hand.
#include "core/dispatch.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "training/ops.h"

namespace anycsp {
namespace {

// What this build and this processor both have, slowest first.
std::vector<const Kernels*> find_levels() {
    std::vector<const Kernels*> found = {&kernels_baseline()};
#if defined(ANYCSP_X86_LEVELS)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (avx2) found.push_back(&kernels_avx2());
    if (avx512) found.push_back(&kernels_avx512());
#endif
    return found;
}

// The fastest, or the one ANYCSP_LEVEL names.
const Kernels& choose() {
    const char* wanted = std::getenv("ANYCSP_LEVEL");
    for (const Kernels* level : levels())
        if (wanted && std::strcmp(wanted, level->name) == 0) return *level;
    return *levels().back();
}

}  // namespace

const std::vector<const Kernels*>& levels() {
    static const std::vector<const Kernels*> found = find_levels();
    return found;
}

const Kernels& kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

const OpTables& op_tables() {
#if defined(ANYCSP_X86_LEVELS)
    if (&kernels() == &kernels_avx512()) return ops_avx512();
    if (&kernels() == &kernels_avx2()) return ops_avx2();
#endif
    return ops_baseline();
}

}  // namespace anycsp
