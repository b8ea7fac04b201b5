// What the policy is told about assignments: labels of edges, the weight a value satisfies, features of values.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.h"
#include "training/edge_index.h"

namespace anycsp {

// Writes [runs][edges] labels of every family that can; returns the families left to the caller.
std::vector<int32_t> edge_labels(const Problem& problem, int64_t runs, const int64_t* positions, uint8_t* labels);

// Writes [runs][edges] grades; `labels` are those of the same positions, and decide where a family has no grades.
void edge_grades(const Problem& problem, int64_t runs, const int64_t* positions, const uint8_t* labels, float* grades);

// Σ over a value's edges labelled 1 of their constraint's weight, in edge order: [runs][values].
void satisfied_weight(const EdgeIndex& index, int64_t runs, const uint8_t* labels, const float* weight, float* out);

// Σ over a value's edges of grade · their constraint's weight, in edge order: [runs][values].
void graded_weight(const EdgeIndex& index, int64_t runs, const float* grades, const float* weight, float* out);

// L_V, where `satisfied` and `degree` are given the gain features of policy.py, and where `graded` is those of grades:
// [runs·values][1, 4 or 7].
void value_features(const EdgeIndex& index, int64_t runs, const int64_t* positions, const float* satisfied,
                    const float* degree, const float* graded, float* out);

}  // namespace anycsp
