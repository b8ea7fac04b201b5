// The number of distinct values ∘ bound, or ∘ bound + the value of the last slot: what is taken already counts, and
// every open variable may add one.
#include <algorithm>

#include "core/comparison.h"
#include "propagation/propagator.h"

namespace anycsp::propagation {
namespace {

class Distinct : public Propagator {
  public:
    Distinct(int32_t constraint, std::vector<int32_t> variables, std::vector<const int32_t*> bins,
             std::shared_ptr<const void> owner, SharedArray<uint8_t> counts, int32_t op, int64_t bound, bool has_result)
        : Propagator(constraint, kTable, kDomain, false),
          bin_(std::move(bins)),
          owner_(std::move(owner)),
          counts_(std::move(counts)),
          op_(op),
          bound_(bound),
          listed_(variables.size() - has_result),
          has_result_(has_result) {
        scope = std::move(variables);
    }
    bool demand_better(const Problem&, const int32_t* positions) override {
        std::vector<int32_t> bins;
        for (size_t i = 0; i < listed_; ++i) {
            const int32_t bin = bin_[i][positions[scope[i]]];
            if (counts_[bin]) bins.push_back(bin);
        }
        std::sort(bins.begin(), bins.end());
        const int64_t distinct = std::unique(bins.begin(), bins.end()) - bins.begin();
        return !has_result_ && better_bound(op_, distinct, bound_);
    }

    bool propagate(Store& store) override {
        taken_.clear();
        for (size_t i = 0; i < listed_; ++i) {
            if (!store.fixed(scope[i])) continue;
            const int32_t bin = bin_[i][store.first(scope[i])];
            if (counts_[bin]) taken_.push_back(bin);
        }
        std::sort(taken_.begin(), taken_.end());
        taken_.erase(std::unique(taken_.begin(), taken_.end()), taken_.end());
        const auto least = static_cast<int64_t>(taken_.size());
        int64_t most = least;
        for (size_t i = 0; i < listed_; ++i) most += adds(store, i);
        const int32_t result = has_result_ ? scope.back() : -1;
        const int64_t low = bound_ + (has_result_ ? store.low(result) : 0),
                      high = bound_ + (has_result_ ? store.high(result) : 0);
        if (op_ == NE) {
            if (least == most) return has_result_ ? store.remove_value(result, least - bound_) : least != bound_;
            return low != high || differ(store, low - least);
        }
        if (op_ == LE || op_ == LT || op_ == EQ) {
            const int64_t strict = op_ == LT;
            if (least > high - strict) return false;
            if (has_result_ && !store.at_least(result, least + strict - bound_)) return false;
            if (least == high - strict && !only(store, false)) return false;
        }
        if (op_ == GE || op_ == GT || op_ == EQ) {
            const int64_t strict = op_ == GT;
            if (most < low + strict) return false;
            if (has_result_ && !store.at_most(result, most - strict - bound_)) return false;
            if (most == low + strict && !only(store, true)) return false;
        }
        return true;
    }

  private:
    bool taken(int32_t bin) const { return std::binary_search(taken_.begin(), taken_.end(), bin); }
    bool fresh(size_t i, int32_t position) const { return counts_[bin_[i][position]] && !taken(bin_[i][position]); }
    bool adds(const Store& store, size_t i) const {
        if (store.fixed(scope[i])) return false;
        bool any = false;
        for_each(store, scope[i], [&](int32_t v) { any |= fresh(i, v); });
        return any;
    }
    // The number of values must not grow by `gone`, which one open variable alone can decide.
    bool differ(Store& store, int64_t gone) {
        int64_t open = -1;
        for (size_t i = 0; i < listed_; ++i) {
            if (store.fixed(scope[i])) continue;
            if (open >= 0) return true;
            open = static_cast<int64_t>(i);
        }
        const int32_t x = scope[open];
        for (int32_t v = store.first(x); v >= 0;) {
            const int32_t next = store.next(x, v);
            if (fresh(open, v) == gone && !store.remove(x, v)) return false;
            v = next;
        }
        return true;
    }
    // Every open variable that could add a value must (or none may).
    bool only(Store& store, bool add) {
        for (size_t i = 0; i < listed_; ++i) {
            const int32_t x = scope[i];
            if (store.fixed(x) || (add && !adds(store, i))) continue;
            for (int32_t v = store.first(x); v >= 0;) {
                const int32_t next = store.next(x, v);
                if (fresh(i, v) != add && !store.remove(x, v)) return false;
                v = next;
            }
        }
        return true;
    }

    std::vector<const int32_t*> bin_;
    std::shared_ptr<const void> owner_;
    SharedArray<uint8_t> counts_;
    const int32_t op_;
    int64_t bound_;
    const size_t listed_;
    const bool has_result_;
    std::vector<int32_t> taken_;
};

}  // namespace

void add_distinct(Store& store, const Family& f, const FamilyArrays& arrays, int32_t c, Propagators& out) {
    const Problem& problem = store.problem();
    const int32_t begin = problem.scope_start[c], end = problem.scope_start[c + 1], row = c - f.first_constraint;
    const int64_t first_edge = problem.edge_start[problem.scope_start[f.first_constraint]];
    auto bin = std::make_shared<SharedArray<int32_t>>(arrays.int32("edge_bin"));
    std::vector<const int32_t*> bins;
    for (int32_t s = begin; s < end; ++s) bins.push_back(bin->data() + (problem.edge_start[s] - first_edge));
    out.push_back(
        std::make_unique<Distinct>(c, std::vector<int32_t>(problem.scope.begin() + begin, problem.scope.begin() + end),
                                   std::move(bins), bin, arrays.bytes("bin_counts"), arrays.int32("operator")[row],
                                   arrays.int64("bound")[row], arrays.bytes("has_result")[row] != 0));
}

}  // namespace anycsp::propagation
