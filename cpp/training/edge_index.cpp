#include "training/edge_index.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/arrays.h"

namespace anycsp {
namespace {

std::vector<int32_t> starts(const SharedArray<int64_t>& given, const char* what) {
    require_start(given, given.empty() ? 0 : given.back(), what);
    require(given.back() < std::numeric_limits<int32_t>::max() / 2, "too many edges for the native ops");
    return std::vector<int32_t>(given.begin(), given.end());
}

std::vector<int32_t> owners(const std::vector<int32_t>& start) {
    std::vector<int32_t> owner(start.back());
    for (size_t i = 0; i + 1 < start.size(); ++i)
        std::fill(owner.begin() + start[i], owner.begin() + start[i + 1], static_cast<int32_t>(i));
    return owner;
}

}  // namespace

EdgeIndex::EdgeIndex(const SharedArray<int64_t>& variable_start_, const SharedArray<int64_t>& constraint_start_,
                     const SharedArray<int64_t>& edge_value_)
    : constraint_start(starts(constraint_start_, "constraint_start is not a list of starts")),
      variable_start(starts(variable_start_, "variable_start is not a list of starts")) {
    values = variable_start.back();
    edges = constraint_start.back();
    constraints = static_cast<int32_t>(constraint_start.size()) - 1;
    variables = static_cast<int32_t>(variable_start.size()) - 1;
    for (int32_t x = 0; x < variables; ++x) require(variable_start[x] < variable_start[x + 1], "an empty domain");
    require(edge_value_.size() == size_t(edges), "edge_value has the wrong shape");
    edge_value.resize(edges);
    value_start.assign(size_t(values) + 1, 0);
    for (int32_t e = 0; e < edges; ++e) {
        const int64_t v = edge_value_[e];
        require(v >= 0 && v < values, "an edge names a value that is not there");
        edge_value[e] = static_cast<int32_t>(v);
        ++value_start[v + 1];
    }
    std::partial_sum(value_start.begin(), value_start.end(), value_start.begin());
    edge_constraint = owners(constraint_start);
    value_variable = owners(variable_start);
    value_edge.resize(edges);
    value_constraint.resize(edges);
    std::vector<int32_t> next(value_start.begin(), value_start.end() - 1);
    for (int32_t e = 0; e < edges; ++e) {
        const int32_t at = next[edge_value[e]]++;
        value_edge[at] = e;
        value_constraint[at] = edge_constraint[e];
    }
    edge.resize(edges);
    std::iota(edge.begin(), edge.end(), 0);
    each_value.resize(size_t(values) + 1);
    std::iota(each_value.begin(), each_value.end(), 0);
    value.assign(each_value.begin(), each_value.end() - 1);
}

Edges EdgeIndex::to(const std::string& receivers) const {
    if (receivers == "constraints")
        return {true,
                constraints,
                values,
                edges,
                constraint_start.data(),
                edge_value.data(),
                edge.data(),
                value_start.data(),
                value_constraint.data(),
                value_edge.data()};
    if (receivers == "values")
        return {true,
                values,
                constraints,
                edges,
                value_start.data(),
                value_constraint.data(),
                value_edge.data(),
                constraint_start.data(),
                edge_value.data(),
                edge.data()};
    require(receivers == "variables", "receivers are neither constraints, values nor variables");
    return {false,
            variables,
            values,
            values,
            variable_start.data(),
            value.data(),
            value.data(),
            each_value.data(),
            value_variable.data(),
            value.data()};
}

}  // namespace anycsp
