// What the policy sees of an assignment, for Python: labels of edges, and the features of values that follow from them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "training/edge_index.h"
#include "core/problem.h"

namespace anycsp {
namespace {

// L_E of the slots of a clause or of a matching: 1 but at the exception.
void write_exception(const Problem& p, int32_t slot, int32_t exception, uint8_t* labels) {
    uint8_t* of_slot = labels + p.edge_start[slot];
    std::fill_n(of_slot, p.domain_size(p.scope[slot]), uint8_t(1));
    if (exception >= 0) of_slot[exception] = 0;
}

void label_clauses(const Problem& p, const Family& f, const int64_t* positions, uint8_t* labels) {
    const int32_t* forbidden = f.forbidden.data() - p.scope_start[f.first_constraint];
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        int32_t satisfying = 0;
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s)
            satisfying += positions[p.scope[s]] != forbidden[s];
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            const bool hangs_by_it = satisfying - (positions[p.scope[s]] != forbidden[s]) == 0;
            write_exception(p, s, hangs_by_it ? forbidden[s] : -1, labels);
        }
    }
}

void label_matchings(const Problem& p, const Family& f, const int64_t* positions, uint8_t* labels) {
    const int64_t* offset = f.offset.data() - p.scope_start[f.first_constraint];
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        const int32_t s = p.scope_start[c];
        write_exception(p, s, f.conflict[offset[s] + positions[p.scope[s + 1]]], labels);
        write_exception(p, s + 1, f.conflict[offset[s + 1] + positions[p.scope[s]]], labels);
    }
}

void label_dense(const Problem& p, const Family& f, const int64_t* positions, uint8_t* labels) {
    const int64_t* stride = f.stride.data() - p.scope_start[f.first_constraint];
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        int64_t address = f.base[c - f.first_constraint];
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) address += stride[s] * positions[p.scope[s]];
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            const uint8_t* truth = f.truth.data() + (address - stride[s] * positions[p.scope[s]]);
            uint8_t* of_slot = labels + p.edge_start[s];
            for (int32_t v = 0; v < p.domain_size(p.scope[s]); ++v) of_slot[v] = truth[stride[s] * v];
        }
    }
}

// Writes the labels of clauses, matchings and dense tables for every run; returns the families left to the caller.
std::vector<int32_t> edge_labels(const Problem& p, const In<int64_t>& positions, const Out<uint8_t>& out) {
    const int64_t runs = require_positions(p, positions);
    require_shape(out, {runs, p.edges()}, "labels");
    std::vector<int32_t> left;
    for (size_t i = 0; i < p.families.size(); ++i) {
        const Family& f = p.families[i];
        auto label = f.kind == Kind::clause     ? label_clauses
                     : f.kind == Kind::matching ? label_matchings
                     : f.kind == Kind::dense    ? label_dense
                                                : nullptr;
        if (!label) {
            left.push_back(static_cast<int32_t>(i));
            continue;
        }
        for (int64_t run = 0; run < runs; ++run)
            label(p, f, positions.data() + run * p.variables, out.data() + run * p.edges());
    }
    return left;
}

// Σ over a value's edges labelled 1 of their constraint's weight, in edge order.
void satisfied_weight(const EdgeIndex& index, const In<uint8_t>& labels, const In<float>& weight, const Out<float>& out) {
    const int64_t runs = require_runs(labels, index.edges, "labels");
    require_shape(weight, {index.constraints}, "weight");
    require_shape(out, {runs, index.values}, "output");
    nb::gil_scoped_release release;
    float* to = out.data();
    for (int64_t run = 0; run < runs; ++run) {
        const uint8_t* label = labels.data() + run * index.edges;
        for (int32_t v = 0; v < index.values; ++v) {
            float sum = 0;
            for (int32_t k = index.value_start[v]; k < index.value_start[v + 1]; ++k)
                sum += label[index.value_edge[k]] ? weight.data()[index.value_constraint[k]] : 0.f;
            *to++ = sum;
        }
    }
}

// L_V, and with `weight` and `degree` the gain features of policy.py: [runs·values][1 or 4].
void value_features(const EdgeIndex& index, const In<int64_t>& positions, const std::optional<In<float>>& satisfied,
                    const std::optional<In<float>>& degree, const Out<float>& out) {
    const int64_t runs = require_positions(index, positions);
    require(satisfied.has_value() == degree.has_value(), "gain needs the satisfied weight and the degree");
    if (satisfied) require_shape(*satisfied, {runs, index.values}, "satisfied weight");
    if (degree) require_shape(*degree, {index.values}, "degree");
    require_shape(out, {runs * index.values, satisfied ? 4 : 1}, "output");
    nb::gil_scoped_release release;
    float* to = out.data();
    for (int64_t run = 0; run < runs; ++run)
        for (int32_t x = 0; x < index.variables; ++x) {
            const int64_t taken = index.variable_start[x] + positions.data()[run * index.variables + x];
            for (int64_t v = index.variable_start[x]; v < index.variable_start[x + 1]; ++v) {
                *to++ = v == taken;
                if (!satisfied) continue;
                const float* at = satisfied->data() + run * index.values;
                const float gain = at[v] - at[taken], of_value = degree->data()[v];
                *to++ = gain / std::sqrt(of_value + 1);
                *to++ = std::min(std::max(gain, -2.f), 2.f) / 2;
                *to++ = std::log1p(std::max(of_value - at[v], 0.f));
            }
        }
}

}  // namespace
}  // namespace anycsp

void bind_labels_ops(nb::module_& m) {
    using namespace anycsp;
    m.def("edge_labels", &edge_labels, nb::arg("problem"), array("positions"), array("out"));
    m.def("satisfied_weight", &satisfied_weight, nb::arg("index"), array("labels"), array("weight"), array("out"));
    m.def("value_features", &value_features, nb::arg("index"), array("positions"), optional("satisfied"),
          optional("degree"), array("out"));
}
