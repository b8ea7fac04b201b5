// The Python face of local search: LocalSearch (runs of a strategy) and LocalState (one assignment, for the tests).
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/arrays.h"
#include "bindings/external.h"
#include "bindings/module.h"
#include "local/search.h"

namespace anycsp::local {
namespace {

nb::list improvements_of(Search& search) {
    nb::list result;
    for (auto& run : search.runs()) {
        for (const Improvement& i : run->improvements)
            result.append(nb::make_tuple(i.step, i.seconds, i.run, i.violation.violated, i.violation.weight,
                                         i.violation.hard, i.violation.score));
        run->improvements.clear();
    }
    return result;
}

template <class Of>
nb::object positions_of(Search& search, Of of) {
    std::vector<int32_t> all;
    for (auto& run : search.runs()) all.insert(all.end(), of(*run).begin(), of(*run).end());
    return copied(all.data(), {search.runs().size(), size_t(search.index().problem->variables)});
}

// An index and one state of it.
struct Single {
    Single(std::shared_ptr<Problem> problem, bool graded, bool on_demand, nb::object external)
        : index(problem, {graded, external_labels(problem, std::move(external))}), state(index, on_demand) {}
    MoveIndex index;
    State state;
};
constexpr unsigned kEverything = kCounts | kViolated | kConflicted | kTouched;

}  // namespace
}  // namespace anycsp::local

void bind_local(nb::module_& m) {
    using namespace anycsp;
    using namespace anycsp::local;

    nb::class_<Search>(m, "LocalSearch")
        .def(
            "__init__",
            [](Search* self, std::shared_ptr<Problem> problem, const std::string& strategy,
               const std::map<std::string, double>& parameters, int32_t runs, uint64_t seed, int32_t threads,
               bool graded, nb::object external) {
                new (self) Search(problem, strategy, parameters, runs, seed, threads,
                                  {graded, external_labels(problem, std::move(external))});
            },
            nb::arg("problem"), nb::arg("strategy"), nb::arg("parameters"), nb::arg("runs"), nb::arg("seed"),
            nb::arg("threads"), nb::arg("graded"), nb::arg("external").none())
        .def(
            "start",
            [](Search& self, std::optional<Positions> positions, int64_t moves, double seconds) {
                const int32_t* data =
                    positions ? checked(*self.index().problem, *positions, self.runs().size()) : nullptr;
                nb::gil_scoped_release release;
                self.start(data, moves, seconds);
            },
            nb::arg("positions").none(), nb::arg("moves") = INT64_MAX, nb::arg("seconds") = 1e9)
        .def("temperatures", [](Search& self) { return self.runs().front()->temperatures(); })
        .def("advance", &Search::advance, nb::arg("max_moves"), nb::arg("seconds"),
             nb::call_guard<nb::gil_scoped_release>())
        .def("stop", &Search::stop)
        .def("moves",
             [](Search& self) {
                 std::vector<int64_t> moves;
                 for (auto& run : self.runs()) moves.push_back(run->moves);
                 return moves;
             })
        .def("improvements", &improvements_of)
        .def("best_score",
             [](Search& self) {
                 std::vector<int64_t> scores;
                 for (auto& run : self.runs()) scores.push_back(run->best_score());
                 return scores;
             })
        .def("best_positions",
             [](Search& self) {
                 return positions_of(self,
                                     [](Run& run) -> const std::vector<int32_t>& { return run.best_positions(); });
             })
        .def("positions",
             [](Search& self) {
                 return positions_of(self, [](Run& run) -> const std::vector<int32_t>& { return run.positions(); });
             })
        .def("verify", [](Search& self) {
            for (auto& run : self.runs()) run->verify();
        });

    nb::class_<Single>(m, "LocalState")
        .def(nb::init<std::shared_ptr<Problem>, bool, bool, nb::object>(), nb::arg("problem"), nb::arg("graded"),
             nb::arg("on_demand"), nb::arg("external").none())
        .def("place",
             [](Single& self, const Positions& positions, const std::vector<int64_t>& weights) {
                 if (weights.size() != size_t(self.index.problem->constraints))
                     throw std::invalid_argument("one weight a constraint");
                 self.state.place(checked(*self.index.problem, positions, 1), weights);
             })
        .def("move",
             [](Single& self, int32_t x, int32_t to) {
                 const Problem& p = *self.index.problem;
                 if (x < 0 || x >= p.variables || to < 0 || to >= p.domain_size(x))
                     throw std::invalid_argument("no such move");
                 if (to != self.state.position(x)) self.state.move<kEverything>(x, to);
             })
        .def("reweigh",
             [](Single& self, int32_t c, int64_t amount) {
                 if (c < 0 || c >= self.index.problem->constraints) throw std::invalid_argument("no such constraint");
                 self.state.reweigh<kEverything>(c, amount);
             })
        .def("differences",
             [](Single& self) {
                 std::vector<int64_t> all;
                 const Problem& p = *self.index.problem;
                 for (int32_t x = 0; x < p.variables; ++x)
                     for (int32_t v = 0; v < p.domain_size(x); ++v) all.push_back(self.state.difference(x, v));
                 return all;
             })
        .def("score_weights", [](Single& self) { return self.index.score.of; })
        .def("score", [](Single& self) { return self.state.score(); })
        .def("counts",
             [](Single& self) { return std::make_tuple(self.state.violated_count(), self.state.hard_count()); })
        .def("violated",
             [](Single& self) {
                 std::vector<int32_t> all;
                 for (int32_t k = 0; k < self.state.violated().size(); ++k) all.push_back(self.state.violated()[k]);
                 return all;
             })
        .def("conflicted", [](Single& self) {
            std::vector<int32_t> all;
            for (int32_t k = 0; k < self.state.conflicted().size(); ++k) all.push_back(self.state.conflicted()[k]);
            return all;
        });
}
