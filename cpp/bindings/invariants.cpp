// The Python face of the search over an invariant graph.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/external.h"
#include "bindings/module.h"
#include "invariants/search.h"

namespace anycsp::invariants {
namespace {

using Assignment = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<uint8_t> flags(const Bytes& bytes, int32_t expected, const char* what) {
    require(bytes.size() == size_t(expected), what);
    return std::vector<uint8_t>(bytes.data(), bytes.data() + bytes.size());
}

const int32_t* checked(const Model& model, const Assignment& positions) {
    const Problem& p = model.problem();
    require(positions.size() == size_t(p.variables), "one position a variable");
    for (int32_t x = 0; x < p.variables; ++x)
        require(positions.data()[x] >= 0 && positions.data()[x] < p.domain_size(x), "a position outside its domain");
    return positions.data();
}

nb::ndarray<nb::numpy, int32_t> as_array(std::vector<int32_t> positions) {
    auto* kept = new std::vector<int32_t>(std::move(positions));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
    return nb::ndarray<nb::numpy, int32_t>(kept->data(), {kept->size()}, owner);
}

std::tuple<int64_t, int64_t, int64_t, int64_t> as_tuple(const Violation& v) {
    return {v.violated, v.weight, v.hard, v.score};
}

}  // namespace
}  // namespace anycsp::invariants

void bind_invariants(nb::module_& m) {
    using namespace anycsp;
    using namespace anycsp::invariants;

    nb::class_<Model>(m, "InvariantModel")
        .def(
            "__init__",
            [](Model* self, std::shared_ptr<Problem> problem, const nb::list& families, const Bytes& enforced,
               const Bytes& auxiliary, const Bytes& kept, int32_t objective, nb::object external) {
                require(objective >= -1 && objective < problem->constraints, "no such constraint");
                std::vector<propagation::FamilyArrays> arrays;
                for (nb::handle item : families) {
                    auto entry = nb::cast<nb::tuple>(item);
                    arrays.push_back(
                        {nb::cast<std::string>(entry[0]), std::make_shared<NumpyArrays>(nb::cast<nb::dict>(entry[3]))});
                }
                new (self) Model(problem, arrays, flags(enforced, problem->constraints, "one flag a constraint"),
                                 flags(auxiliary, problem->variables, "one flag a variable"),
                                 flags(kept, problem->values(), "one flag a value"), objective,
                                 external_labels(problem, std::move(external)));
            },
            nb::arg("problem"), nb::arg("families"), nb::arg("enforced"), nb::arg("auxiliary"), nb::arg("kept"),
            nb::arg("objective"), nb::arg("external").none())
        .def_prop_ro("decisions", &Model::decisions)
        .def_prop_ro("defined", &Model::defined)
        .def_prop_ro("nodes", [](const Model& self) { return self.graph().size(); })
        .def_prop_ro("groups", [](const Model& self) {
            std::vector<std::tuple<std::string, std::vector<int32_t>, std::vector<int32_t>>> result;
            const char* names[] = {"different", "counted", "circuit", "sum"};
            for (const Group& group : self.groups())
                result.push_back({names[group.kind], group.variables, group.constraints});
            return result;
        });

    nb::class_<Search>(m, "InvariantSearch")
        .def(nb::init<std::shared_ptr<Model>, uint64_t, uint64_t>(), nb::arg("model"), nb::arg("seed"), nb::arg("run"))
        .def(
            "start",
            [](Search& self, std::optional<Assignment> positions) {
                const int32_t* data = positions ? checked(self.model(), *positions) : nullptr;
                self.start(data);
            },
            nb::arg("positions").none())
        .def("advance", &Search::advance, nb::arg("max_moves"), nb::arg("seconds"),
             nb::call_guard<nb::gil_scoped_release>())
        .def("learn", [](Search& self, const Assignment& positions) { self.learn(checked(self.model(), positions)); })
        .def_prop_ro("moves", &Search::moves)
        .def_prop_ro("solved", &Search::solved)
        .def_prop_ro("best", [](const Search& self) { return as_tuple(self.best()); })
        .def_prop_ro("now", [](const Search& self) { return as_tuple(self.now()); })
        .def_prop_ro("best_objective", &Search::best_objective)
        .def("improvements",
             [](Search& self) {
                 std::vector<std::tuple<int64_t, double, int64_t, int64_t, int64_t, int64_t>> result;
                 for (const Improvement& i : self.take_improvements())
                     result.push_back({i.step, i.seconds, i.violation.violated, i.violation.weight, i.violation.hard,
                                       i.violation.score});
                 return result;
             })
        .def("best_positions", [](const Search& self) { return as_array(self.best_positions()); })
        .def("positions", [](const Search& self) { return as_array(self.positions()); })
        .def_prop_ro("objective", &Search::objective)
        .def("verify", &Search::verify);
}
