// Labels and features for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings/training.h"
#include "training/labels.h"

namespace anycsp {
namespace {

std::vector<int32_t> checked_edge_labels(const Problem& p, const In<int64_t>& positions, const Out<uint8_t>& out) {
    const int64_t runs = require_positions(p, positions);
    require_shape(out, {runs, p.edges()}, "labels");
    nb::gil_scoped_release release;
    return edge_labels(p, runs, positions.data(), out.data());
}

void checked_satisfied_weight(const EdgeIndex& index, const In<uint8_t>& labels, const In<float>& weight,
                              const Out<float>& out) {
    const int64_t runs = require_runs(labels, index.edges, "labels");
    require_shape(weight, {index.constraints}, "weight");
    require_shape(out, {runs, index.values}, "output");
    nb::gil_scoped_release release;
    satisfied_weight(index, runs, labels.data(), weight.data(), out.data());
}

void checked_edge_grades(const Problem& p, const In<int64_t>& positions, const In<uint8_t>& labels,
                         const Out<float>& out) {
    const int64_t runs = require_positions(p, positions);
    require_shape(labels, {runs, p.edges()}, "labels");
    require_shape(out, {runs, p.edges()}, "grades");
    nb::gil_scoped_release release;
    edge_grades(p, runs, positions.data(), labels.data(), out.data());
}

void checked_graded_weight(const EdgeIndex& index, const In<float>& grades, const In<float>& weight,
                           const Out<float>& out) {
    const int64_t runs = require_runs(grades, index.edges, "grades");
    require_shape(weight, {index.constraints}, "weight");
    require_shape(out, {runs, index.values}, "output");
    nb::gil_scoped_release release;
    graded_weight(index, runs, grades.data(), weight.data(), out.data());
}

void checked_value_features(const EdgeIndex& index, const In<int64_t>& positions,
                            const std::optional<In<float>>& satisfied, const std::optional<In<float>>& degree,
                            const std::optional<In<float>>& graded, const Out<float>& out) {
    const int64_t runs = require_positions(index, positions);
    require(satisfied.has_value() == degree.has_value(), "gain needs the satisfied weight and the degree");
    if (satisfied) require_shape(*satisfied, {runs, index.values}, "satisfied weight");
    if (degree) require_shape(*degree, {index.values}, "degree");
    require(satisfied.has_value() || !graded.has_value(), "grades come with the gain");
    if (graded) require_shape(*graded, {runs, index.values}, "graded weight");
    require_shape(out, {runs * index.values, graded ? 7 : satisfied ? 4 : 1}, "output");
    nb::gil_scoped_release release;
    value_features(index, runs, positions.data(), data_of(satisfied), data_of(degree), data_of(graded), out.data());
}

}  // namespace
}  // namespace anycsp

void bind_labels_ops(nb::module_& m) {
    using namespace anycsp;
    m.def("edge_labels", &checked_edge_labels, nb::arg("problem"), array("positions"), array("out"));
    m.def("satisfied_weight", &checked_satisfied_weight, nb::arg("index"), array("labels"), array("weight"),
          array("out"));
    m.def("value_features", &checked_value_features, nb::arg("index"), array("positions"), optional("satisfied"),
          optional("degree"), optional("graded"), array("out"));
    m.def("edge_grades", &checked_edge_grades, nb::arg("problem"), array("positions"), array("labels"), array("out"));
    m.def("graded_weight", &checked_graded_weight, nb::arg("index"), array("grades"), array("weight"), array("out"));
}
