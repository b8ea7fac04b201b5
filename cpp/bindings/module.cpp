// The Python module anycsp._native: each part binds itself in its own file.
#include "bindings/module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "core/clock.h"
#include "core/dispatch.h"

namespace {

std::vector<std::string> level_names() {
    std::vector<std::string> names;
    for (const anycsp::Kernels* level : anycsp::levels()) names.emplace_back(level->name);
    return names;
}

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of anycsp; every function has a plain PyTorch twin.";
    m.attr("compiler") = kCompiler;
    m.attr("build") = ANYCSP_BUILD;
    m.def("level", [] { return anycsp::kernels().name; });
    m.def("levels", level_names, "Instruction sets this build and this processor both have, slowest first.");
    m.def("count_cpu_time", [](bool wanted) { anycsp::Clock::counts_cpu_time = wanted; });
    bind_problem(m);
    bind_neural(m);
    bind_local(m);
    bind_propagation(m);
    bind_invariants(m);
    bind_training(m);
}
