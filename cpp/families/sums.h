// Σ term ∘ bound over the slots of a constraint: what families with such constraints share. `Term(problem, family)` is
// a function (slot, position) → the term of that value.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/comparison.h"
#include "core/magnitude.h"
#include "families/definition.h"

namespace anycsp {

inline void read_comparison(Family& f, const Arrays& arrays, const char* unknown_operator) {
    const size_t rows = f.last_constraint - f.first_constraint;
    f.op = arrays.shared<int32_t>("operator", rows);
    f.bound = arrays.shared<int64_t>("bound", rows);
    for (int32_t op : f.op) require(op >= LE && op <= GT, unknown_operator);
}

// The bound and all terms of a constraint together: differences of such sums stay within 64 bits (constraints/sum.py).
inline bool sums_fit(__int128 reach) { return reach < __int128(1) << 62; }

// From the residual, sum − bound: writes what `judged(op, residual)` says for every value of every slot.
template <class Term, class Edges, class Judged>
void judge_sums(const Problem& p, const Family& f, Range constraints, const Edges& to, const Judged& judged) {
    const Term term(p, f);
    for (int32_t c = constraints.first; c < constraints.last; ++c) {
        const int32_t begin = p.scope_start[c], end = p.scope_start[c + 1];
        const int32_t op = f.op[c - f.first_constraint];
        int64_t residual = -f.bound[c - f.first_constraint];
        for (int32_t s = begin; s < end; ++s) residual += term(s, to.positions[p.scope[s]]);
        for (int32_t s = begin; s < end; ++s) {
            const int32_t values = p.domain_size(p.scope[s]);
            const int64_t others = residual - term(s, to.positions[p.scope[s]]);
            auto* out = to.of(s);
            for (int32_t v = 0; v < values; ++v) out[v] = judged(op, others + term(s, v));
        }
    }
}

template <class Term>
void label_sums(const Problem& p, const Family& f, Range constraints, const EdgeLabels& to) {
    judge_sums<Term>(p, f, constraints, to, [](int32_t op, int64_t residual) { return holds(op, residual); });
}

template <class Term>
void grade_sums(const Problem& p, const Family& f, Range constraints, const EdgeGrades& to) {
    judge_sums<Term>(p, f, constraints, to,
                     [](int32_t op, int64_t residual) { return grade_of_distance(distance(op, residual)); });
}

// Memory holds every constraint's difference, sum − bound.
//
// A graded penalty is the distance to the nearest sum that satisfies, in steps of a quarter of what a variable can
// change on average, rounded up.
template <class Term>
class SumPenalties : public Penalties {
  public:
    SumPenalties(const Problem& problem, const Family& arrays, const PenaltyOptions& options)
        : Penalties(problem, arrays, options.graded), term(problem, arrays), steps_(options.steps) {
        for (int32_t c = arrays.first_constraint; c < arrays.last_constraint; ++c) {
            int64_t widest = 0, total = 0;
            for (int32_t s = problem.scope_start[c]; s < problem.scope_start[c + 1]; ++s) {
                int64_t low = INT64_MAX, high = INT64_MIN;
                for (int32_t v = 0; v < problem.domain_size(problem.scope[s]); ++v) {
                    low = std::min(low, term(s, v));
                    high = std::max(high, term(s, v));
                }
                widest = std::max(widest, high - low);
                total += high - low;
            }
            reach_.push_back(widest);
            step_.push_back(std::max<int64_t>(1, total / (4 * (problem.scope_start[c + 1] - problem.scope_start[c]))));
        }
    }

    size_t memory() const override { return arrays_.bound.size(); }

    void place(const PenaltyState& state) const override {
        for (size_t r = 0; r < arrays_.bound.size(); ++r) {
            int32_t c = arrays_.first_constraint + static_cast<int32_t>(r);
            state.memory[r] = -arrays_.bound[r];
            for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
                state.memory[r] += term(s, state.positions[problem_.scope[s]]);
        }
    }

    bool shift(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        int64_t& difference = state.memory[row(at.constraint)];
        const int64_t before = difference;
        difference += term(at.slot, to) - term(at.slot, from);
        return before != difference && !(slack(at.constraint, before) && slack(at.constraint, difference));
    }

    bool satisfied(int32_t constraint, const PenaltyState& state) const override {
        int32_t r = row(constraint);
        return distance(arrays_.op[r], state.memory[r]) == 0;
    }

    void penalties(Occurrence at, const PenaltyState& state, int32_t* out) const override {
        int32_t x = problem_.scope[at.slot], r = row(at.constraint);
        const int64_t others = state.memory[r] - term(at.slot, state.positions[x]);
        for (int32_t v = 0; v < problem_.domain_size(x); ++v) out[v] = penalty(r, others + term(at.slot, v));
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        int32_t r = row(at.constraint);
        const int64_t now = state.memory[r];
        return penalty(r, now + term(at.slot, to) - term(at.slot, from)) - penalty(r, now);
    }

  private:
    int32_t penalty(int32_t r, int64_t difference) const {
        const int64_t far = distance(arrays_.op[r], difference);
        return far == 0 ? 0 : graded_ ? 1 + static_cast<int32_t>(std::min<int64_t>((far - 1) / step_[r], steps_)) : 1;
    }
    // No single move can violate it: every penalty is 0.
    bool slack(int32_t constraint, int64_t difference) const {
        int32_t r = row(constraint);
        switch (arrays_.op[r]) {
            case LE: return difference + reach_[r] <= 0;
            case GE: return difference - reach_[r] >= 0;
            case LT: return difference + reach_[r] < 0;
            case GT: return difference - reach_[r] > 0;
            case NE: return std::abs(difference) > reach_[r];
            default: return false;
        }
    }

    const Term term;
    const int32_t steps_;
    std::vector<int64_t> reach_;  // the most one variable can change the sum
    std::vector<int64_t> step_;   // what one graded penalty stands for
};

template <class Term>
std::unique_ptr<Penalties> sum_penalties(const Problem& p, const Family& f, const PenaltyOptions& options) {
    return std::make_unique<SumPenalties<Term>>(p, f, options);
}

}  // namespace anycsp
