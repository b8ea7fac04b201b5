// How a problem is laid out for the policy step: which form each family takes, blocks, slots by variable.
// The one place where the exact shortcuts of docs/architecture.md are chosen.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.h"
#include "core/range.h"
#include "neural/kernels.h"

namespace anycsp {

// Constraints of one family and one instance, the unit of relabelling: its violations are summed in order,
// so that totals do not depend on threads.
struct Chunk : Range {
    int32_t family, instance;
};

// Instances that a step finishes before it begins the next ones, so that their messages stay in cache and share buffers:
// nothing passes between instances.
struct Part {
    Range variables, constraints;
    Range variable_blocks, constraint_blocks, groups;  // of the arrays of Layout
};

struct Layout {
    Form form = Form::direct;
    std::vector<float> constraint_edges, relative_weight, features, degree;
    int32_t constraint_features = 0;  // columns of `features`: those of tensors.py
    std::vector<int64_t> label_start;
    int64_t labels = 0;
    std::vector<int32_t> exceptional_start, exceptional_constraint;  // starts: [tiles][variables + 1]
    std::vector<int32_t> place;                                      // [slots] index among exceptional_constraint
    std::vector<int32_t> labelled_start, labelled_constraint;
    std::vector<int64_t> labelled_label;
    std::vector<Block> variable_blocks, constraint_blocks;
    std::vector<int32_t> group_block;  // [groups + 1] variable blocks that are updated together
    std::vector<Part> parts;
    bool own_rows = false;  // every exceptional slot has a row of its own (kernels.h, Topology)
    std::vector<Tile> tiles;
    std::vector<int32_t> tile_block;  // [tiles + 1] first constraint block of each tile
    std::vector<Chunk> chunks;
    int32_t largest_block = 0;  // rows of a block
    int32_t largest_group = 0;  // values of a group
    int32_t most_variables_in_block = 0, most_variables_in_group = 0;
    int32_t largest_tile = 0;  // constraints
    Topology topology;         // views of the above and of the problem

    // tile_bytes: messages kept at once; 0 for the default. in_parts: cut a batch into parts, for a thread that works alone;
    // parts are small, and several threads would wait for one another more than they work.
    Layout(const Problem& problem, Aggregation aggregation, int32_t hidden, bool weighted, bool kinds, const char* form,
           int64_t tile_bytes, bool in_parts);
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;

  private:
    void describe_constraints(const Problem& problem, bool weighted, bool kinds);
    void cut_parts(const Problem& problem, int32_t hidden);
    void cut_blocks(const Problem& problem, int32_t hidden);
    void cut_tiles(const Problem& problem, int32_t hidden, int64_t tile_bytes);
    void sort_slots(const Problem& problem);
};

}  // namespace anycsp
