// The topology of a graph as the training ops see it. Indices are checked once, when it is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shared_array.h"
#include "training/ops.h"

namespace anycsp {

// Edges by constraint (their own order) and by value, and values by variable.
struct EdgeIndex {
    int32_t values, constraints, variables, edges;
    std::vector<int32_t> constraint_start, edge_value, edge_constraint, edge;  // by constraint; edge = 0, 1, 2, …
    std::vector<int32_t> value_start, value_edge, value_constraint;            // by value
    std::vector<int32_t> variable_start, value_variable, value;                // values by variable; value = 0, 1, 2, …
    std::vector<int32_t> each_value;                                           // [values + 1] 0, 1, 2, …

    EdgeIndex(const SharedArray<int64_t>& variable_start, const SharedArray<int64_t>& constraint_start,
              const SharedArray<int64_t>& edge_value);

    int32_t domain_size(int32_t x) const { return variable_start[x + 1] - variable_start[x]; }

    Edges to(const std::string& receivers) const;
};

}  // namespace anycsp
