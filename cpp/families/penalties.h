// What local search asks a family, one constraint at a time. Clauses and binary tables, which fill most problems, have
// faster ways of their own in local/state.h.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/problem.h"

namespace anycsp {

// Weights and costs are integers: sums are exact, so a state updated a billion times equals one computed afresh.
using Weight = int64_t;

// One slot of a constraint, seen from its variable.
struct Occurrence {
    int32_t constraint, slot;
};

// What a run keeps for a family. `penalty` and `cost` are null where costs are computed on demand.
struct PenaltyState {
    const int32_t* positions;  // [variables]
    int64_t* memory;           // [memory()] the family's own
    int32_t* penalty;          // [edges of the family] as last added to `cost`
    Weight* cost;              // [values] Σ weight · penalty over the constraints of the value's variable
};

// The penalty of edge (C, X = v) is what C costs if X alone moves to v, up to a constant common to all values of X:
// 0 or 1 for a plain relation. Where a family is graded, it says how far from satisfied the constraint is: a search
// that only sees 0 or 1 is blind in a long sum or all-different until one move suffices.
class Penalties {
  public:
    Penalties(const Problem& problem, const Family& arrays, bool graded = false)
        : problem_(problem),
          arrays_(arrays),
          graded_(graded),
          first_slot_(problem.scope_start[arrays.first_constraint]),
          first_edge_(problem.edge_start[first_slot_]) {}
    virtual ~Penalties() = default;

    // How many integers the family keeps for a run.
    virtual size_t memory() const { return 0; }
    size_t edges() const { return problem_.edge_start[problem_.scope_start[arrays_.last_constraint]] - first_edge_; }

    // Fill memory from the positions.
    virtual void place(const PenaltyState&) const {}
    // The variable of `at` has moved; bring memory up to date. False: no penalty of another slot can have changed.
    virtual bool shift(Occurrence, int32_t from, int32_t to, const PenaltyState&) const {
        (void)from, (void)to;
        return true;
    }
    virtual bool satisfied(int32_t constraint, const PenaltyState&) const = 0;
    // The penalties of all values of the slot's variable.
    virtual void penalties(Occurrence, const PenaltyState&, int32_t* out) const = 0;
    // The difference in penalty between two values of the slot's variable, `from` being the current one.
    virtual int64_t difference(Occurrence, int32_t from, int32_t to, const PenaltyState&) const = 0;

    // Add weight · penalty of every edge of the constraint to the costs.
    void enter(int32_t constraint, Weight weight, const PenaltyState& state) const;
    // shift(), and the penalties of the other slots carried into the costs.
    virtual void move(Occurrence at, int32_t from, int32_t to, Weight weight, const PenaltyState& state) const;
    // The constraint's weight grew by `amount`.
    void reweigh(int32_t constraint, Weight amount, const PenaltyState& state) const;

  protected:
    int32_t row(int32_t constraint) const { return constraint - arrays_.first_constraint; }
    int32_t* cached(int32_t slot, const PenaltyState& state) const {
        return state.penalty + (problem_.edge_start[slot] - first_edge_);
    }

    const Problem& problem_;
    const Family& arrays_;
    const bool graded_;  // penalties say how far from satisfied, not only whether
    const int32_t first_slot_;
    const int64_t first_edge_;
};

// Labels of constraints only Python can evaluate: (constraint, positions of its scope) → a byte for every edge.
using ExternalLabels = std::function<void(int32_t constraint, const int32_t* scope_positions, uint8_t* labels)>;

// What decides a family's penalties beside its arrays.
struct PenaltyOptions {
    bool graded = false;
    ExternalLabels external;  // may be empty
    int32_t steps = 1 << 20;  // of a graded penalty above 1, at most: costs are to fit into a Weight
};

}  // namespace anycsp
