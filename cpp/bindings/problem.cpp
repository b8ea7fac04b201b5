// The compiled problem for Python; graph.py makes it.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.h"
#include "bindings/module.h"
#include "families/registry.h"

namespace anycsp {
namespace {

// `families`: (name, first constraint, last constraint, arrays) one after another.
std::shared_ptr<Problem> make_problem(const nb::dict& arrays, const nb::list& families) {
    auto problem = std::make_shared<Problem>(NumpyArrays(arrays));
    for (nb::handle item : families) {
        auto [name, first, last, of_family] = nb::cast<std::tuple<std::string, int32_t, int32_t, nb::dict>>(item);
        add_family(*problem, name, {first, last}, NumpyArrays(of_family));
    }
    require(problem->family_of.size() == size_t(problem->constraints), "families do not cover the constraints");
    return problem;
}

}  // namespace
}  // namespace anycsp

void bind_problem(nb::module_& m) {
    using anycsp::Problem;
    nb::class_<Problem>(m, "Problem")
        .def_prop_ro("variables", [](const Problem& p) { return p.variables; })
        .def_prop_ro("constraints", [](const Problem& p) { return p.constraints; })
        .def_prop_ro("slots", [](const Problem& p) { return p.slots(); })
        .def_prop_ro("edges", [](const Problem& p) { return p.edges(); });
    m.def("make_problem", &anycsp::make_problem, nb::arg("arrays"), nb::arg("families"));
}
