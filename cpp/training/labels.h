// What the policy is told about assignments: labels of edges, the weight a value satisfies, features of values.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.h"
#include "training/edge_index.h"

namespace anycsp {

// Writes [runs][edges] labels of every family that can; returns the families left to the caller.
std::vector<int32_t> edge_labels(const Problem& problem, int64_t runs, const int64_t* positions, uint8_t* labels);

// Σ over a value's edges labelled 1 of their constraint's weight, in edge order: [runs][values].
void satisfied_weight(const EdgeIndex& index, int64_t runs, const uint8_t* labels, const float* weight, float* out);

// L_V, and where `satisfied` and `degree` are given the gain features of policy.py: [runs·values][1 or 4].
void value_features(const EdgeIndex& index, int64_t runs, const int64_t* positions, const float* satisfied,
                    const float* degree, float* out);

}  // namespace anycsp
