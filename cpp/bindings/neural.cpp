// Search and Layout for Python; search.py is the face users see.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>

#include "bindings/aggregation.h"
#include "bindings/arrays.h"
#include "bindings/module.h"
#include "neural/search.h"

namespace anycsp {
namespace {

const int32_t* checked(const Search& s, const Positions& positions) {
    return checked(*s.problem, positions, s.options.runs);
}

// A dictionary with a function for each array, called when that is packed.
class NumpyWeights : public WeightArrays {
  public:
    explicit NumpyWeights(nb::dict functions) : functions_(std::move(functions)) {}

    bool contains(const std::string& name) const override { return functions_.contains(name.c_str()); }
    WeightArray get(const std::string& name) const override {
        using Array = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
        auto array = std::make_shared<Array>(nb::cast<Array>(nb::object(functions_[name.c_str()])()));
        WeightArray result{array, array->data(), {}};
        for (size_t axis = 0; axis < array->ndim(); ++axis) result.shape.push_back(array->shape(axis));
        return result;
    }

  private:
    nb::dict functions_;
};

// All edge labels of one run in edge order, for tests.
nb::object labels_of(const Search& s) {
    const Problem& p = *s.problem;
    std::vector<uint8_t> result(size_t(s.options.runs) * p.edges());
    for (int32_t run = 0; run < s.options.runs; ++run)
        for (int32_t slot = 0; slot < p.slots(); ++slot) {
            uint8_t* to = result.data() + size_t(run) * p.edges() + p.edge_start[slot];
            const int32_t x = p.scope[slot];
            const bool exceptional = p.families[p.family_of[p.slot_constraint[slot]]].exceptional();
            for (int32_t v = 0; v < p.domain_size(x); ++v)
                to[v] = exceptional
                            ? s.exceptions[run * s.layout->exceptional_constraint.size() + s.layout->place[slot]] != v
                            : s.labels[size_t(run) * s.layout->labels + s.layout->label_start[slot] + v];
        }
    return copied(result.data(), {size_t(s.options.runs), size_t(p.edges())});
}

// external(positions [runs, variables]) returns [runs, edges of all external families] labels.
Search::External external_of(nb::callable function) {
    return [function](Search& s) {
        nb::gil_scoped_acquire gil;
        const Problem& p = *s.problem;
        const size_t runs = s.options.runs;
        size_t edges = 0;
        for (const Family& f : p.families)
            if (f.kind == Kind::external)
                edges +=
                    p.edge_start[p.scope_start[f.last_constraint]] - p.edge_start[p.scope_start[f.first_constraint]];
        nb::object answer = function(copied(s.positions.data(), {runs, size_t(p.variables)}));
        auto labels = nb::cast<nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(answer);
        if (labels.shape(0) != runs || labels.shape(1) != edges)
            throw std::invalid_argument("external labels are not [runs, edges]");
        size_t offset = 0;
        for (const Family& f : p.families) {
            if (f.kind != Kind::external || f.first_constraint == f.last_constraint) continue;
            const int32_t first = p.scope_start[f.first_constraint], last = p.scope_start[f.last_constraint];
            const size_t count = p.edge_start[last] - p.edge_start[first];
            for (size_t run = 0; run < runs; ++run) {
                const uint8_t* from = labels.data() + run * edges + offset;
                for (size_t i = 0; i < count; ++i)
                    if (from[i] > 1) throw std::invalid_argument("an external label is neither 0 nor 1");
                std::copy_n(from, count, s.labels.data() + run * s.layout->labels + s.layout->label_start[first]);
            }
            offset += count;
        }
    };
}

std::shared_ptr<PackedNetwork> make_network(const nb::dict& weights, const Layout& layout, const nb::dict& options) {
    return std::make_shared<PackedNetwork>(
        NumpyWeights(weights), nb::cast<int32_t>(options["hidden"]),
        aggregation_of(nb::cast<std::string>(options["aggregation"])), layout.form,
        Inputs{nb::cast<bool>(options["gain"]), nb::cast<bool>(options["graded"]), layout.constraint_features},
        nb::cast<float>(options["inertia"]), kernels());
}

std::unique_ptr<Search> make_search(std::shared_ptr<Problem> problem, std::shared_ptr<Layout> layout,
                                    std::shared_ptr<PackedNetwork> network, const nb::dict& options,
                                    nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> constant,
                                    nb::object external) {
    SearchOptions o;
    o.first_run = nb::cast<int32_t>(options["first_run"]);
    o.runs = nb::cast<int32_t>(options["runs"]);
    o.threads = nb::cast<int32_t>(options["threads"]);
    o.seed = nb::cast<uint64_t>(options["seed"]);
    o.temperature = nb::cast<float>(options["temperature"]);
    o.guidance = nb::cast<std::vector<float>>(options["guidance"]);
    o.memory = nb::cast<float>(options["memory"]);
    o.local = nb::cast<bool>(options["local"]);
    if (o.runs < 1) throw std::invalid_argument("runs below 1");
    if (o.threads < 1 || o.threads > 1024) throw std::invalid_argument("threads not between 1 and 1024");
    if (!(o.temperature > 0)) throw std::invalid_argument("temperature not above 0");
    if (o.guidance.size() != size_t(o.runs)) throw std::invalid_argument("guidance: not [runs]");
    for (const float strength : o.guidance)
        if (!(strength >= 0)) throw std::invalid_argument("guidance below 0");
    if (!(o.memory >= 0 && o.memory <= 1)) throw std::invalid_argument("memory not between 0 and 1");
    if (layout->topology.value_start != problem->value_start.data())
        throw std::invalid_argument("layout of another problem");
    if (network->view().form != layout->form) throw std::invalid_argument("network of another form");
    auto search = std::make_unique<Search>(std::move(problem), std::move(layout), std::move(network),
                                           std::vector<int64_t>(constant.data(), constant.data() + constant.size()), o);
    if (!external.is_none()) search->external = external_of(nb::cast<nb::callable>(external));
    return search;
}

nb::tuple current_of(const Search& s) {
    const size_t runs = s.options.runs, instances = s.problem->instances, all = runs * instances;
    std::vector<int64_t> violated(all), weight(all), hard(all), score(all);
    for (size_t i = 0; i < all; ++i) {
        violated[i] = s.current[i].violated;
        weight[i] = s.current[i].weight;
        hard[i] = s.current[i].hard;
        score[i] = s.current[i].score;
    }
    return nb::make_tuple(copied(violated.data(), {runs, instances}), copied(weight.data(), {runs, instances}),
                          copied(hard.data(), {runs, instances}), copied(score.data(), {runs, instances}));
}

nb::list improvements_of(Search& s) {
    nb::list result;
    for (const Improvement& e : s.improvements)
        result.append(nb::make_tuple(e.step, e.seconds, e.run, e.instance, e.violation.violated, e.violation.weight,
                                     e.violation.hard, e.violation.score, e.found_by));
    s.improvements.clear();
    return result;
}

// GFLOPS of the register-only loop, best of a few tries.
double measured_peak() {
    const Kernels& k = kernels();
    double best = 0;
    for (int attempt = 0; attempt < 5; ++attempt) {
        const double begin = worked_seconds();
        const double operations = 2 * k.peak(2000000);
        best = std::max(best, operations / (worked_seconds() - begin));
    }
    return best * 1e-9;
}

}  // namespace
}  // namespace anycsp

void bind_neural(nb::module_& m) {
    using namespace anycsp;
    nb::class_<Layout>(m, "Layout")
        .def(
            "__init__",
            [](Layout* self, const std::shared_ptr<Problem>& problem, const std::string& aggregation, int32_t hidden,
               bool weighted, bool kinds, const std::string& form, int64_t tile_bytes, bool in_parts) {
                if (tile_bytes < 0) throw std::invalid_argument("negative tile_bytes");
                new (self) Layout(*problem, aggregation_of(aggregation), hidden, weighted, kinds, form.c_str(),
                                  tile_bytes, in_parts);
            },
            nb::keep_alive<1, 2>())
        .def_prop_ro("tiles", [](const Layout& l) { return l.tiles.size(); })
        .def_prop_ro("parts", [](const Layout& l) { return l.parts.size(); })
        .def_prop_ro("linear", [](const Layout& l) { return l.form == Form::linear; });
    nb::class_<Search>(m, "Search")
        .def(
            "start",
            [](Search& s, std::optional<Positions> positions) {
                const int32_t* given = positions ? checked(s, *positions) : nullptr;
                nb::gil_scoped_release release;
                s.start(given);
            },
            nb::arg("positions").none())
        .def("restart",
             [](Search& s, const std::vector<int32_t>& runs) {
                 for (const int32_t run : runs)
                     if (run < 0 || run >= s.options.runs) throw std::invalid_argument("restart: no such run");
                 nb::gil_scoped_release release;
                 s.restart(runs);
             })
        .def("advance",
             [](Search& s, int64_t steps, double seconds) {
                 nb::gil_scoped_release release;
                 return s.advance(steps, seconds);
             })
        .def("abandon_after", &Search::abandon_after, nb::arg("seconds"))
        .def("set_profile", &Search::set_profile)
        .def("set_temperature",
             [](Search& self, const std::vector<float>& temperature) {
                 if (temperature.size() != self.temperature.size())
                     throw std::invalid_argument("one temperature for every run");
                 for (float t : temperature)
                     if (!(t > 0)) throw std::invalid_argument("temperature not above 0");
                 self.temperature = temperature;
             })
        .def("phase_seconds", &Search::phase_seconds)
        .def("improvements", &improvements_of)
        .def("best_score",
             [](const Search& s) {
                 return copied(s.best_score.data(), {size_t(s.options.runs), size_t(s.problem->instances)});
             })
        .def("best_positions",
             [](const Search& s) {
                 return copied(s.best_positions.data(), {size_t(s.options.runs), size_t(s.problem->variables)});
             })
        .def("current", &current_of)
        .def("labels", &labels_of)
        .def("positions",
             [](const Search& s) {
                 return copied(s.positions.data(), {size_t(s.options.runs), size_t(s.problem->variables)});
             })
        .def("logits",
             [](const Search& s) {
                 return copied(s.logits.data(), {size_t(s.options.runs), size_t(s.problem->values())});
             })
        .def("state",
             [](const Search& s) {
                 return copied(s.state.data(),
                               {size_t(s.options.runs), size_t(s.problem->values()), size_t(s.network->view().width)});
             })
        .def_ro("step", &Search::step)
        .def_prop_ro("bytes", &Search::bytes)
        .def_prop_ro("multiply_adds", &Search::multiply_adds);
    nb::class_<PackedNetwork>(m, "Network");
    m.def("make_network", &make_network, nb::arg("weights"), nb::arg("layout"), nb::arg("options"));
    m.def("make_search", &make_search, nb::arg("problem"), nb::arg("layout"), nb::arg("network"), nb::arg("options"),
          nb::arg("constant"), nb::arg("external").none());
    m.def("measured_peak", &measured_peak, nb::call_guard<nb::gil_scoped_release>());
}
