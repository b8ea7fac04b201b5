// The values of an invariant graph at one assignment, kept up to date move by move. A move is a proposal: its effects
// are worked out at once and taken back from a trail where it is refused.
#pragma once

#include <vector>

#include "invariants/graph.h"

namespace anycsp::invariants {

class State {
  public:
    // `roots`: the nodes whose changes the search wants to hear of.
    State(const Graph& graph, const std::vector<int32_t>& roots);

    // Compute everything from these values of the variables' nodes.
    void place(const std::vector<std::pair<int32_t, int64_t>>& values);

    // A proposal: `set` some variables, each once, then `propagate`, then `commit` or `roll_back`.
    void set(int32_t node, int64_t value) {
        touch(node);
        cells_[node] = value;
    }
    void propagate();
    void commit();
    void roll_back();

    struct Change {
        int32_t root;  // its place in `roots`
        int64_t before, after;
    };
    // Of the roots, by the last proposal.
    const std::vector<Change>& changes() const { return changes_; }

    int64_t value(int32_t node) const { return cells_[node]; }
    // Throws unless every cell equals one computed afresh.
    void verify() const;

  private:
    void touch(int32_t n) {
        if (stamp_[n] == epoch_) return;
        stamp_[n] = epoch_;
        before_[n] = cells_[n];
        trail_.push_back({n, cells_[n]});
        const int32_t level = graph_.node(n).level;
        waiting_[level].push_back(n);
        highest_ = level > highest_ ? level : highest_;
    }
    void keep(int32_t cell) { trail_.push_back({cell, cells_[cell]}); }
    void notify(const Use& use, int64_t before, int64_t after);
    int64_t compute(int32_t n) const;
    int64_t circuit_distance(const Node& node, const int32_t* operand) const;
    int64_t row_distance(const Node& node, const int32_t* operand, const Rows& rows) const;

    struct Old {
        int32_t cell;
        int64_t value;
    };

    const Graph& graph_;
    std::vector<int64_t> cells_, before_;  // the nodes, then the histograms
    std::vector<int32_t> root_;            // by node; −1: none
    std::vector<uint8_t> rescan_;          // extrema whose holder has gone
    std::vector<uint64_t> stamp_;
    uint64_t epoch_ = 1;
    std::vector<Old> trail_;
    std::vector<std::vector<int32_t>> waiting_;  // by level
    int32_t highest_ = 0;
    std::vector<Change> changes_;
};

}  // namespace anycsp::invariants
