// max of terms ∘ bound, or ∘ bound + the term of the last slot, by the least and the greatest each side can be.
#include <algorithm>

#include "core/comparison.h"
#include "propagation/propagator.h"

namespace anycsp::propagation {
namespace {

class Extremum : public Propagator {
  public:
    Extremum(const Problem& problem, int32_t constraint, std::vector<int32_t> variables,
             std::vector<const int64_t*> terms, std::shared_ptr<const void> owner, int32_t op, int64_t bound,
             bool has_result)
        : Propagator(constraint, kCheap, kDomain, false),
          term_(std::move(terms)),
          owner_(std::move(owner)),
          op_(op),
          bound_(bound),
          listed_(variables.size() - has_result),
          has_result_(has_result) {
        scope = std::move(variables);
        least_.resize(scope.size());
        most_.resize(scope.size());
        least_then_.resize(scope.size());
        most_then_.resize(scope.size());
        for (size_t i = 0; i < scope.size(); ++i)
            ascending_.push_back(std::is_sorted(term_[i], term_[i] + problem.domain_size(scope[i])));
    }

    bool demand_better(const Problem&, const int32_t* positions) override {
        int64_t most = term_[0][positions[scope[0]]];
        for (size_t i = 1; i < listed_; ++i) most = std::max(most, term_[i][positions[scope[i]]]);
        return !has_result_ && better_bound(op_, most, bound_);
    }

    int32_t favourite(const Store& store, size_t slot) const override {
        const bool greatest = op_ == GE || op_ == GT;
        int32_t best = store.first(scope[slot]);
        for_each(store, scope[slot], [&](int32_t v) {
            if (greatest ? term_[slot][v] > term_[slot][best] : term_[slot][v] < term_[slot][best]) best = v;
        });
        return best;
    }

    bool propagate(Store& store) override {
        for (size_t i = 0; i < scope.size(); ++i) range(store, i);
        if (op_ == NE) return differ(store);
        const int64_t bound = bound_ + (op_ == GT) - (op_ == LT);
        if (op_ != GE && op_ != GT && !at_most(store, bound)) return false;
        return op_ == LE || op_ == LT || at_least(store, bound);
    }

    // Some term was larger than the right side could be, or all were smaller than it had to be.
    void explain(int32_t x, int32_t position, Explanation& why) const override {
        if (op_ != NE)
            for (size_t i = 0; i < scope.size(); ++i) {
                least_then_[i] = INT64_MAX, most_then_[i] = INT64_MIN;
                for (int32_t v = 0; v < why.store.problem().domain_size(scope[i]); ++v) {
                    if (scope[i] == x ? v != position : !why.had(scope[i], v)) continue;
                    least_then_[i] = std::min(least_then_[i], term_[i][v]);
                    most_then_[i] = std::max(most_then_[i], term_[i][v]);
                }
            }
        if (op_ == LE || op_ == LT || op_ == EQ) {
            const int64_t bound = bound_ - (op_ == LT);
            const int64_t right = bound + (has_result_ ? most_then_.back() : 0);
            for (size_t i = 0; i < listed_; ++i) {
                const int64_t left = least_then_[i];
                if (left <= right) continue;
                blame(i, x, why, [&](int64_t term) { return term < left; });
                if (has_result_) blame(listed_, x, why, [&](int64_t term) { return bound + term >= left; });
                return;
            }
        }
        if (op_ == GE || op_ == GT || op_ == EQ) {
            const int64_t bound = bound_ + (op_ == GT);
            const int64_t right = bound + (has_result_ ? least_then_.back() : 0);
            if (largest(most_then_) < right) {
                for (size_t i = 0; i < listed_; ++i) blame(i, x, why, [&](int64_t term) { return term >= right; });
                if (has_result_) blame(listed_, x, why, [&](int64_t term) { return bound + term < right; });
                return;
            }
        }
        Propagator::explain(x, position, why);
    }

  private:
    // That a slot had lost all such terms.
    template <class Such>
    void blame(size_t i, int32_t x, Explanation& why, Such such) const {
        if (scope[i] == x) return;
        int32_t lost = 0;
        for (int32_t v = 0; v < why.store.problem().domain_size(scope[i]); ++v) lost += such(term_[i][v]);
        if (lost > 1 && why.was_fixed(scope[i])) return why.fixed(scope[i]);
        for (int32_t v = 0; v < why.store.problem().domain_size(scope[i]); ++v)
            if (such(term_[i][v])) why.gone(scope[i], v);
    }
    void range(const Store& store, size_t i) {
        const int64_t* own = term_[i];
        least_[i] = most_[i] = own[store.first(scope[i])];
        if (ascending_[i]) {  // as the ends of tasks are, which have a thousand values and more
            most_[i] = own[store.last(scope[i])];
            return;
        }
        for_each(store, scope[i], [&](int32_t v) {
            least_[i] = std::min(least_[i], own[v]);
            most_[i] = std::max(most_[i], own[v]);
        });
    }
    bool within(Store& store, size_t i, int64_t bottom, int64_t top) {
        if (least_[i] >= bottom && most_[i] <= top) return true;
        const int32_t x = scope[i];
        if (ascending_[i]) {
            const int64_t *from = term_[i] + store.first(x), *to = term_[i] + store.last(x) + 1;
            const bool left = store.between(x, static_cast<int32_t>(std::lower_bound(from, to, bottom) - term_[i]),
                                            static_cast<int32_t>(std::upper_bound(from, to, top) - term_[i]));
            if (left) range(store, i);
            return left;
        }
        if (!drop(store, i, [&](int64_t term) { return term < bottom || term > top; })) return false;
        range(store, i);
        return true;
    }
    int64_t largest(const std::vector<int64_t>& of) const {
        return *std::max_element(of.begin(), of.begin() + listed_);
    }

    bool at_most(Store& store, int64_t bound) {
        const int64_t top = bound + (has_result_ ? most_.back() : 0);
        for (size_t i = 0; i < listed_; ++i)
            if (!within(store, i, INT64_MIN, top)) return false;
        return !has_result_ || within(store, listed_, largest(least_) - bound, INT64_MAX);
    }
    bool at_least(Store& store, int64_t bound) {
        if (has_result_ && !within(store, listed_, INT64_MIN, largest(most_) - bound)) return false;
        const int64_t bottom = bound + (has_result_ ? least_.back() : 0);
        int64_t only = -1;
        for (size_t i = 0; i < listed_; ++i) {
            if (most_[i] < bottom) continue;
            if (only >= 0) return true;
            only = static_cast<int64_t>(i);
        }
        return only >= 0 && within(store, only, bottom, INT64_MAX);
    }
    // Both sides are known, or one would be with a value: then they must not be equal.
    bool differ(Store& store) {
        const int64_t low = largest(least_), high = largest(most_);
        if (low == high && has_result_) return drop(store, listed_, [&](int64_t term) { return bound_ + term == low; });
        if (has_result_ && least_.back() != most_.back()) return true;
        const int64_t target = bound_ + (has_result_ ? least_.back() : 0);
        if (low == high) return low != target;
        if (target < low || target > high) return true;
        for (size_t i = 0; i < listed_; ++i) {
            int64_t others_low = INT64_MIN, others_high = INT64_MIN;
            for (size_t j = 0; j < listed_; ++j) {
                if (j == i) continue;
                others_low = std::max(others_low, least_[j]);
                others_high = std::max(others_high, most_[j]);
            }
            const auto decided = [&](int64_t term) {
                return std::max(term, others_low) == target && std::max(term, others_high) == target;
            };
            if (!drop(store, i, decided)) return false;
            range(store, i);
        }
        return true;
    }
    template <class Gone>
    bool drop(Store& store, size_t i, Gone gone) {
        const int32_t x = scope[i];
        for (int32_t v = store.first(x); v >= 0;) {
            const int32_t next = store.next(x, v);
            if (gone(term_[i][v]) && !store.remove(x, v)) return false;
            v = next;
        }
        return true;
    }

    std::vector<const int64_t*> term_;
    std::shared_ptr<const void> owner_;
    const int32_t op_;
    int64_t bound_;
    const size_t listed_;
    const bool has_result_;
    std::vector<int64_t> least_, most_;
    mutable std::vector<int64_t> least_then_, most_then_;
    std::vector<uint8_t> ascending_;  // by slot: terms grow with the positions
};

}  // namespace

void add_extremum(Store& store, const Family& f, const FamilyArrays& arrays, int32_t c, Propagators& out) {
    const Problem& problem = store.problem();
    const int32_t begin = problem.scope_start[c], end = problem.scope_start[c + 1], row = c - f.first_constraint;
    const int64_t first_edge = problem.edge_start[problem.scope_start[f.first_constraint]];
    auto term = std::make_shared<SharedArray<int64_t>>(arrays.int64("term"));
    std::vector<const int64_t*> terms;
    for (int32_t s = begin; s < end; ++s) terms.push_back(term->data() + (problem.edge_start[s] - first_edge));
    out.push_back(std::make_unique<Extremum>(
        problem, c, std::vector<int32_t>(problem.scope.begin() + begin, problem.scope.begin() + end), std::move(terms),
        term, arrays.int32("operator")[row], arrays.int64("bound")[row], arrays.bytes("has_result")[row] != 0));
}

}  // namespace anycsp::propagation
