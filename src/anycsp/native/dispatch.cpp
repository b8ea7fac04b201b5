// Picks the kernels for the processor at hand.
#include <cstdlib>
#include <cstring>

#include "kernels.h"
#include "ops.h"

namespace anycsp {
namespace {

const Kernels& choose() {
#if defined(ANYCSP_X86_LEVELS)
    const char* wanted = std::getenv("ANYCSP_LEVEL");
    auto allowed = [&](const char* level) { return !wanted || std::strcmp(wanted, level) == 0; };
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (avx512 && allowed("avx512")) return kernels_avx512();
    if (avx2 && (allowed("avx2") || allowed("avx512"))) return kernels_avx2();
#endif
    return kernels_baseline();
}

}  // namespace

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
