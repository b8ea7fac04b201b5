// The Python module anycsp.native._native: each part binds itself in its own file.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_problem(nb::module_& m);
void bind_search(nb::module_& m);
void bind_local(nb::module_& m);
void bind_ops(nb::module_& m);

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of anycsp; every function has a plain PyTorch twin.";
    bind_problem(m);
    bind_search(m);
    bind_local(m);
    bind_ops(m);
}
