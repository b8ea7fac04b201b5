// Σ terms ∘ bound by the least and the greatest the sum can still be. A linear constraint's term is coefficient · value,
// so its extremes lie at a domain's ends; a sum has a term for every position, and loses positions one by one.
#include <algorithm>

#include "propagation/propagator.h"

namespace anycsp::propagation {
namespace {

// What is left of `terms` within [low, high] of the whole sum; the two faces share everything but their terms.
template <class Terms>
class Sum : public Propagator {
  public:
    Sum(int32_t constraint, std::vector<int32_t> variables, Terms terms, int32_t op, int64_t bound)
        : Propagator(constraint, variables.size() <= 3 ? kCheap : kTable,
                     op == NE ? Terms::kWakesToDiffer : Terms::kWakes, false),
          terms_(std::move(terms)),
          op_(op) {
        scope = std::move(variables);
        set_bound(bound);
        least_.resize(scope.size());
        most_.resize(scope.size());
        extreme_.resize(scope.size());
    }

    void set_bound(int64_t bound) {
        constexpr int64_t kFar = int64_t(1) << 62;
        low_ = -kFar, high_ = kFar, other_ = bound;
        if (op_ == LE || op_ == EQ) high_ = bound;
        if (op_ == GE || op_ == EQ) low_ = bound;
        if (op_ == LT) high_ = bound - 1;
        if (op_ == GT) low_ = bound + 1;
    }

    bool demand_better(const Problem& problem, const int32_t* positions) override {
        int64_t sum = 0, bound = 0;
        for (size_t i = 0; i < scope.size(); ++i) sum += terms_.at(problem, i, scope[i], positions[scope[i]]);
        if (!better_bound(op_, sum, bound)) return false;
        set_bound(bound);
        return true;
    }

    int32_t favourite(const Store& store, size_t slot) const override {
        return terms_.extreme(store, slot, scope[slot], op_ == GE || op_ == GT);
    }

    bool propagate(Store& store) override {
        if (op_ == NE) return differ(store);
        for (;;) {
            int64_t least = 0, most = 0;
            for (size_t i = 0; i < scope.size(); ++i) {
                terms_.range(store, i, scope[i], least_[i], most_[i]);
                least += least_[i], most += most_[i];
            }
            if (least > high_ || most < low_) return false;
            if (least >= low_ && most <= high_) return true;
            bool again = false;
            const bool cuts_high = most > high_, cuts_low = least < low_;
            for (size_t i = 0; i < scope.size(); ++i) {
                const int64_t top = high_ - least + least_[i], bottom = low_ - most + most_[i];
                if ((!cuts_high || most_[i] <= top) && (!cuts_low || least_[i] >= bottom)) continue;
                const int32_t before = store.size(scope[i]);
                if (!terms_.within(store, i, scope[i], bottom, top)) return false;
                again |= store.size(scope[i]) != before;
            }
            if (!again) return true;
            // Both sides of an equation feed each other; an inequality is done after one pass.
            if (low_ == -(int64_t(1) << 62) || high_ == int64_t(1) << 62) return true;
        }
    }

    // The others were too large together, or too small; what they have to spare is forgotten.
    void explain(int32_t x, int32_t position, Explanation& why) const override {
        if (op_ == NE) return Propagator::explain(x, position, why);
        const Problem& problem = why.store.problem();
        for (const int64_t sign : {int64_t(1), int64_t(-1)}) {  // the least that the sum could be, then the greatest
            const int64_t bound = sign > 0 ? high_ : low_;
            if (bound == (int64_t(1) << 62) * sign) continue;
            int64_t least = 0;
            for (size_t i = 0; i < scope.size(); ++i) {
                extreme_[i] = INT64_MAX;
                if (scope[i] == x) {
                    least += sign * terms_.at(problem, i, x, position);
                    continue;
                }
                for (int32_t v = 0; v < problem.domain_size(scope[i]); ++v)
                    if (why.had(scope[i], v))
                        extreme_[i] = std::min(extreme_[i], sign * terms_.at(problem, i, scope[i], v));
                least += extreme_[i];
            }
            int64_t spare = least - sign * bound - 1;
            if (spare < 0) continue;
            for (size_t i = 0; i < scope.size(); ++i)
                if (scope[i] != x) explain_extreme(i, sign, spare, why);
            return;
        }
        Propagator::explain(x, position, why);
    }

  private:
    // That a term was not smaller, or not by more than there is to spare.
    void explain_extreme(size_t i, int64_t sign, int64_t& spare, Explanation& why) const {
        const int32_t y = scope[i];
        const Problem& problem = why.store.problem();
        int64_t smallest = extreme_[i], lost = 0;
        const auto term = [&](int32_t v) { return sign * terms_.at(problem, i, y, v); };
        const auto lost_then = [&](int32_t v) {
            return !why.had(y, v) && why.store.removed_at(why.store.vertex(y, v)) != Store::kAtRoot;
        };
        for (int32_t v = 0; v < problem.domain_size(y); ++v)
            if (lost_then(v) && term(v) < extreme_[i]) smallest = std::min(smallest, term(v)), ++lost;
        if (extreme_[i] - smallest <= spare) {
            spare -= extreme_[i] - smallest;
            return;
        }
        if (lost > 1 && why.was_fixed(y)) return why.fixed(y);
        int64_t given = 0;  // terms just below the extreme need no reason
        for (int32_t v = 0; v < problem.domain_size(y); ++v) {
            if (!lost_then(v) || term(v) >= extreme_[i]) continue;
            if (extreme_[i] - term(v) <= spare)
                given = std::max(given, extreme_[i] - term(v));
            else
                why.gone(y, v);
        }
        spare -= given;
    }

    bool differ(Store& store) {
        int64_t rest = other_;
        int64_t open = -1;
        for (size_t i = 0; i < scope.size(); ++i) {
            terms_.range(store, i, scope[i], least_[i], most_[i]);
            if (least_[i] == most_[i]) {
                rest -= least_[i];
            } else if (open >= 0) {
                return true;
            } else {
                open = static_cast<int64_t>(i);
            }
        }
        if (open < 0) return rest != 0;
        return terms_.without(store, open, scope[open], rest);
    }

    Terms terms_;
    const int32_t op_;
    int64_t low_, high_, other_;
    std::vector<int64_t> least_, most_;
    mutable std::vector<int64_t> extreme_;
};

struct LinearTerms {
    static constexpr uint8_t kWakes = kBound, kWakesToDiffer = kFixed;
    std::vector<int64_t> coefficient;

    int64_t at(const Problem& problem, size_t i, int32_t x, int32_t position) const {
        return coefficient[i] * problem.value[problem.value_start[x] + position];
    }
    void range(const Store& store, size_t i, int32_t x, int64_t& least, int64_t& most) const {
        least = coefficient[i] * (coefficient[i] > 0 ? store.low(x) : store.high(x));
        most = coefficient[i] * (coefficient[i] > 0 ? store.high(x) : store.low(x));
    }
    int32_t extreme(const Store& store, size_t i, int32_t x, bool greatest) const {
        return (coefficient[i] > 0) == greatest ? store.last(x) : store.first(x);
    }
    static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
    static int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
    bool within(Store& store, size_t i, int32_t x, int64_t bottom, int64_t top) const {
        const int64_t c = coefficient[i];
        if (c == 0) return bottom <= 0 && top >= 0;
        if (c < 0) std::swap(bottom, top);
        return store.at_least(x, ceil_div(bottom, c)) && store.at_most(x, floor_div(top, c));
    }
    bool without(Store& store, size_t i, int32_t x, int64_t term) const {
        const int64_t c = coefficient[i];
        if (c == 0) return term != 0;
        return term % c != 0 || store.remove_value(x, term / c);
    }
};

struct TableTerms {
    static constexpr uint8_t kWakes = kDomain, kWakesToDiffer = kDomain;  // open variables may have equal terms
    std::vector<const int64_t*> term;                                     // by slot: a term for every position

    int64_t at(const Problem&, size_t i, int32_t, int32_t position) const { return term[i][position]; }
    void range(const Store& store, size_t i, int32_t x, int64_t& least, int64_t& most) const {
        const int64_t* own = term[i];
        least = most = own[store.first(x)];
        for_each(store, x, [&](int32_t v) {
            least = std::min(least, own[v]);
            most = std::max(most, own[v]);
        });
    }
    int32_t extreme(const Store& store, size_t i, int32_t x, bool greatest) const {
        int32_t best = store.first(x);
        for_each(store, x, [&](int32_t v) {
            if (greatest ? term[i][v] > term[i][best] : term[i][v] < term[i][best]) best = v;
        });
        return best;
    }
    template <class Drop>
    static bool drop(Store& store, int32_t x, Drop gone) {
        for (int32_t v = store.first(x); v >= 0;) {
            const int32_t next = store.next(x, v);
            if (gone(v) && !store.remove(x, v)) return false;
            v = next;
        }
        return true;
    }
    bool within(Store& store, size_t i, int32_t x, int64_t bottom, int64_t top) const {
        return drop(store, x, [&](int32_t v) { return term[i][v] < bottom || term[i][v] > top; });
    }
    bool without(Store& store, size_t i, int32_t x, int64_t gone) const {
        return drop(store, x, [&](int32_t v) { return term[i][v] == gone; });
    }
};

// a·x + b·y = bound value by value, where bounds alone would leave holes unseen.
class Pair : public Propagator {
  public:
    Pair(int32_t constraint, int32_t x, int32_t y, int64_t a, int64_t b, int64_t bound)
        : Propagator(constraint, kBinary, kDomain, true), a_(a), b_(b), bound_(bound) {
        scope = {x, y};
    }
    bool propagate(Store& store) override {
        const int32_t x = scope[0], y = scope[1];
        if (std::abs(a_) == 1 && std::abs(b_) == 1 && solid(store, x) && solid(store, y))
            return shift(store, x, y, a_, b_) && shift(store, y, x, b_, a_);
        return revise(store, x, y, a_, b_) && revise(store, y, x, b_, a_);
    }
    void explain(int32_t x, int32_t position, Explanation& why) const override {
        if (x < 0) return Propagator::explain(x, position, why);
        const bool first = x == scope[0];
        const int32_t y = scope[first];
        const int64_t rest = bound_ - (first ? a_ : b_) * why.store.value(x, position), b = first ? b_ : a_;
        const int32_t partner = rest % b == 0 ? why.store.position_of(y, rest / b) : -1;
        if (partner >= 0) why.gone(y, partner);
    }

  private:
    // Consecutive integers without a hole: bounds say it all.
    static bool solid(const Store& store, int32_t x) {
        const int32_t range = store.last(x) - store.first(x);
        return store.size(x) == range + 1 && store.value(x, store.last(x)) - store.value(x, store.first(x)) == range;
    }
    // x = (bound − b·y) / a lies between the ends of y's range.
    bool shift(Store& store, int32_t x, int32_t y, int64_t a, int64_t b) const {
        const int64_t one = a * (bound_ - b * store.low(y)), other = a * (bound_ - b * store.high(y));
        return store.at_least(x, std::min(one, other)) && store.at_most(x, std::max(one, other));
    }
    bool revise(Store& store, int32_t x, int32_t y, int64_t a, int64_t b) const {
        return TableTerms::drop(store, x, [&](int32_t v) {
            const int64_t rest = bound_ - a * store.value(x, v);
            if (rest % b != 0) return true;
            const int32_t partner = store.position_of(y, rest / b);
            return partner < 0 || !store.has(y, partner);
        });
    }
    const int64_t a_, b_, bound_;
};

}  // namespace

void add_linear(Store& store, const Family& f, int32_t c, Propagators& out) {
    const Problem& problem = store.problem();
    const int32_t begin = problem.scope_start[c], end = problem.scope_start[c + 1];
    const int32_t first_slot = problem.scope_start[f.first_constraint], row = c - f.first_constraint;
    std::vector<int32_t> scope(problem.scope.begin() + begin, problem.scope.begin() + end);
    LinearTerms terms;
    for (int32_t s = begin; s < end; ++s) terms.coefficient.push_back(f.coefficient[s - first_slot]);
    const auto& k = terms.coefficient;
    if (scope.size() == 2 && scope[0] != scope[1] && f.op[row] == EQ && k[0] && k[1]) {
        out.push_back(std::make_unique<Pair>(c, scope[0], scope[1], k[0], k[1], f.bound[row]));
        return;
    }
    out.push_back(std::make_unique<Sum<LinearTerms>>(c, std::move(scope), std::move(terms), f.op[row], f.bound[row]));
}

void add_sum(Store& store, const Family& f, int32_t c, Propagators& out) {
    const Problem& problem = store.problem();
    const int32_t begin = problem.scope_start[c], end = problem.scope_start[c + 1], row = c - f.first_constraint;
    const int64_t first_edge = problem.edge_start[problem.scope_start[f.first_constraint]];
    std::vector<int32_t> scope(problem.scope.begin() + begin, problem.scope.begin() + end);
    TableTerms terms;
    for (int32_t s = begin; s < end; ++s) terms.term.push_back(f.term.data() + (problem.edge_start[s] - first_edge));
    out.push_back(std::make_unique<Sum<TableTerms>>(c, std::move(scope), std::move(terms), f.op[row], f.bound[row]));
}

}  // namespace anycsp::propagation
