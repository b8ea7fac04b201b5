// The Python face of propagation: a Network run to its fixpoint, and the tree search over it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/external.h"
#include "bindings/module.h"
#include "propagation/tree_search.h"

namespace anycsp::propagation {
namespace {

using Assignment = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The families as make_problem takes them: (kind, first constraint, last constraint, arrays).
std::vector<FamilyArrays> arrays_of(const nb::list& families) {
    std::vector<FamilyArrays> result;
    for (nb::handle item : families) {
        auto entry = nb::cast<nb::tuple>(item);
        result.push_back(
            {nb::cast<std::string>(entry[0]), std::make_shared<NumpyArrays>(nb::cast<nb::dict>(entry[3]))});
    }
    return result;
}

Clock::time_point after(double seconds) {
    if (seconds >= 1e7) return Clock::time_point::max();
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// `building`: seconds after which it is given up to build the propagators, `seconds` those after which to run them.
std::unique_ptr<Network> network_of(const std::shared_ptr<Problem>& problem, const nb::list& families,
                                    const Bytes& enforced, nb::object external, double seconds, double building) {
    require(enforced.size() == size_t(problem->constraints), "one flag a constraint");
    const Clock::time_point deadline = after(seconds);
    auto network = std::make_unique<Network>(problem, arrays_of(families),
                                             std::vector<uint8_t>(enforced.data(), enforced.data() + enforced.size()),
                                             external_labels(problem, std::move(external)), after(building), true);
    network->deadline = deadline;
    return network;
}

nb::ndarray<nb::numpy, uint8_t> domains_of(Network& network) {
    const Problem& problem = network.problem();
    auto* kept = new std::vector<uint8_t>(problem.values(), 0);
    for (int32_t x = 0; x < problem.variables; ++x)
        for (int32_t v = 0; v < problem.domain_size(x); ++v)
            (*kept)[problem.value_start[x] + v] = network.store().has(x, v);
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<uint8_t>*>(p); });
    return nb::ndarray<nb::numpy, uint8_t>(kept->data(), {kept->size()}, owner);
}

}  // namespace
}  // namespace anycsp::propagation

void bind_propagation(nb::module_& m) {
    using namespace anycsp;
    using namespace anycsp::propagation;

    nb::exception<OutOfTime>(m, "OutOfTime");
    nb::class_<Network>(m, "PropagationNetwork")
        .def(
            "__init__",
            [](Network* self, std::shared_ptr<Problem> problem, const nb::list& families, const Bytes& enforced,
               nb::object external, double seconds) {
                require(enforced.size() == size_t(problem->constraints), "one flag a constraint");
                const Clock::time_point deadline = after(seconds);
                new (self) Network(problem, arrays_of(families),
                                   std::vector<uint8_t>(enforced.data(), enforced.data() + enforced.size()),
                                   external_labels(problem, std::move(external)), deadline);
                self->deadline = deadline;
            },
            nb::arg("problem"), nb::arg("families"), nb::arg("enforced"), nb::arg("external").none(),
            nb::arg("seconds") = 1e9)
        .def("propagate", &Network::propagate, nb::call_guard<nb::gil_scoped_release>())
        .def("probe", &Network::probe, nb::arg("most_barren"), nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("failed", [](Network& self) { return self.failed; })
        .def_prop_ro("late", [](Network& self) { return self.late; })
        .def("domains", &domains_of);

    nb::class_<TreeSearch>(m, "TreeSearch")
        .def(
            "__init__",
            [](TreeSearch* self, std::shared_ptr<Problem> problem, const nb::list& families, const Bytes& enforced,
               const Bytes& decisions, int32_t objective, uint64_t seed, nb::object external, double seconds,
               double building) {
                require(decisions.size() == size_t(problem->variables), "one flag a variable");
                new (self) TreeSearch(network_of(problem, families, enforced, std::move(external), seconds, building),
                                      std::vector<uint8_t>(decisions.data(), decisions.data() + decisions.size()),
                                      objective, seed);
            },
            nb::arg("problem"), nb::arg("families"), nb::arg("enforced"), nb::arg("decisions"), nb::arg("objective"),
            nb::arg("seed"), nb::arg("external").none(), nb::arg("seconds") = 1e9, nb::arg("building") = 1e9)
        .def("advance", &TreeSearch::advance, nb::arg("max_nodes"), nb::arg("seconds"),
             nb::call_guard<nb::gil_scoped_release>())
        .def("suggest",
             [](TreeSearch& self, const Assignment& positions, bool solution) {
                 require(positions.size() == size_t(self.network().variables()), "one position a variable");
                 self.suggest(positions.data(), solution);
             })
        .def("enumerate",
             [](TreeSearch& self, const Bytes& flagged) {
                 require(flagged.size() == size_t(self.network().variables()), "one flag a variable");
                 self.enumerate(std::vector<uint8_t>(flagged.data(), flagged.data() + flagged.size()));
             })
        .def("set_learning",
             [](TreeSearch& self, bool wanted) {
                 self.set_mode(wanted ? TreeSearch::Learning::always : TreeSearch::Learning::never);
             })
        .def_prop_ro("blamed", &TreeSearch::blamed)
        .def("learnt", &TreeSearch::learnt)
        .def_prop_ro("exhausted", &TreeSearch::exhausted)
        .def_prop_ro("late", [](TreeSearch& self) { return self.network().late; })
        .def_prop_ro("root_failure", &TreeSearch::root_failure)
        .def_prop_ro("solutions", &TreeSearch::solutions)
        .def_prop_ro("nodes", &TreeSearch::nodes)
        .def_prop_ro("failures", &TreeSearch::failures)
        .def("solution", [](TreeSearch& self) {
            auto* kept = new std::vector<int32_t>(self.solution());
            kept->resize(self.network().variables());  // without the orders of tasks
            nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
            return nb::ndarray<nb::numpy, int32_t>(kept->data(), {kept->size()}, owner);
        });
}
