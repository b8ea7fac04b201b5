// How a problem is laid out for the policy step: which form each family takes, blocks, slots by variable.
// The one place where the exact shortcuts of docs/speed.md are chosen.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.h"
#include "problem.h"

namespace anycsp {

// Constraints of one family and one instance, the unit of relabelling: its violations are summed in order,
// so that totals do not depend on threads.
struct Chunk {
    int32_t family, first, last, instance;
};

struct Layout {
    Form form = Form::direct;
    std::vector<double> score;  // [constraints] what a violated one adds to the score
    std::vector<float> constraint_edges, relative_weight, weight_features;
    std::vector<int64_t> label_start;
    int64_t labels = 0;
    std::vector<int32_t> exceptional_start, exceptional_slot, exceptional_constraint;
    std::vector<int32_t> labelled_start, labelled_constraint;
    std::vector<int64_t> labelled_label;
    std::vector<Block> variable_blocks, constraint_blocks;
    std::vector<Chunk> chunks;
    int32_t largest_block = 0, largest_degree = 0;  // rows of a block; exceptional slots of a variable
    Topology topology;                              // views of the above and of the problem

    Layout(const Problem& problem, Aggregation aggregation, int32_t hidden, bool weighted, const char* form);
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
};

}  // namespace anycsp
