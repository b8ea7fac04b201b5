// The parts of the Python module, each bound in its own file.
#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_problem(nb::module_& m);
void bind_propagation(nb::module_& m);
void bind_invariants(nb::module_& m);
void bind_neural(nb::module_& m);
void bind_local(nb::module_& m);
void bind_training(nb::module_& m);
