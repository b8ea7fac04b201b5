// The moves of a search over an invariant graph: single values, swaps inside groups, reconnections of circuits. Each
// keeps what its group keeps.
#pragma once

#include <vector>

#include "invariants/model.h"
#include "invariants/state.h"
#include "local/random.h"

namespace anycsp::invariants {

struct Assign {
    int32_t variable;
    int64_t value;
};

class Moves {
  public:
    Moves(const Model& model, const State& state, local::Random& random)
        : model_(model), state_(state), random_(random), spare_(model.groups().size()) {}

    // Values of all decisions that satisfy what the groups keep: as near to `values` (by variable) as can be.
    void repair(std::vector<int64_t>& values);

    // A move that changes the variable. Empty where none was found; what it holds is valid until the next call.
    // `wanted`: the change that would mend something, where it is not 0; a variable of no group then takes the value
    // nearest to it.
    const std::vector<Assign>& propose(int32_t x, int64_t wanted);
    // The last proposal was made.
    void made();

  private:
    int64_t value(int32_t x) const { return state_.value(model_.node(x)); }
    void reassign(int32_t x);
    void shift(int32_t x, int64_t wanted);
    void swap(const Group& group, int32_t x);
    void transfer(const Group& group, int32_t x, int64_t wanted);
    void exchange(int32_t group, int32_t x);
    void reconnect(const Group& group, int32_t x);
    void move_segment(const Group& group, int32_t before);
    void reverse_segment(const Group& group, int32_t before);

    const Model& model_;
    const State& state_;
    local::Random& random_;
    std::vector<std::vector<int64_t>> spare_;  // by group: values that nobody has
    std::vector<Assign> proposal_;
    int32_t spare_group_ = -1, spare_place_ = -1;  // that the proposal takes
    int64_t given_back_ = 0;
};

}  // namespace anycsp::invariants
