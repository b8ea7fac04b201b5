// Clauses over "X is not at this position", with two watched literals each (Moskewicz et al., DAC 2001): a clause is
// looked at only when one of its two watched literals becomes false. Nogoods learnt by a search are added here too.
#pragma once

#include <vector>

#include "propagation/explanation.h"

namespace anycsp::propagation {

class Clauses {
  public:
    explicit Clauses(const Problem& problem);

    // `literals` are value vertices: the clause holds where one of them is not taken. At the root only.
    bool add(Store& store, std::vector<int32_t> literals, int32_t constraint);
    // Variable x has just been fixed at `position`. False: `failed` is the constraint that cannot hold.
    bool fixed(Store& store, int32_t x, int32_t position, int32_t& failed);
    size_t size() const { return start_.size(); }
    int32_t last_failed = -1;  // the clause of the last failure
    // Its literals but that of a variable.
    void explain(int32_t clause, int32_t x, Explanation& why) const {
        for (int32_t i = 0; i < length_[clause]; ++i) {
            const int32_t y = variable_[literals_[start_[clause] + i]];
            if (y != x) why.fixed(y);
        }
    }

  private:
    bool is_false(const Store& store, int32_t literal) const {
        const int32_t x = variable_[literal];
        return store.fixed(x) && store.has(x, literal - problem_.value_start[x]);
    }
    bool is_true(const Store& store, int32_t literal) const {
        const int32_t x = variable_[literal];
        return !store.has(x, literal - problem_.value_start[x]);
    }
    bool make_true(Store& store, int32_t literal) const {
        const int32_t x = variable_[literal];
        return store.remove(x, literal - problem_.value_start[x]);
    }

    const Problem& problem_;
    std::vector<int32_t> variable_;               // [values]
    std::vector<int32_t> literals_;               // clause after clause, the two watched ones first
    std::vector<int64_t> start_;                  // by clause
    std::vector<int32_t> length_, constraint_;    // by clause
    std::vector<std::vector<int32_t>> watching_;  // [values] clauses that watch "not this value"
};

}  // namespace anycsp::propagation
