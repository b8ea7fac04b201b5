// The number of distinct values ∘ bound, or ∘ bound + the value of the last slot; see constraints/distinct.py.
#include <algorithm>
#include <vector>

#include "core/comparison.h"
#include "core/magnitude.h"
#include "families/evaluator.h"

namespace anycsp {
namespace {

struct Scratch {
    int32_t constraint = -1;
    int64_t distinct = 0, target = 0;
    std::vector<int32_t> count;  // by bin; only the bins in `used` are not 0
    std::vector<int32_t> used;
};
thread_local Scratch scratch;

class Distinct : public Evaluator {
  public:
    Distinct(const Problem& problem, const Family& family, const Arrays& arrays) : Evaluator(problem, family) {
        bin_ = arrays.copy<int32_t>("edge_bin", edges());
        counts_ = arrays.flags("bin_counts");
        op_ = arrays.copy<int32_t>("operator", rows());
        bound_ = arrays.shared<int64_t>("bound", rows());
        has_result_ = arrays.flags("has_result", rows());
        for (int32_t op : op_) require(op >= LE && op <= GT, "distinct: unknown operator");
        for (int32_t c = first_constraint_; c < last_constraint_; ++c) {
            const int32_t end = listed_end(c),
                          values = has_result_[row(c)] ? problem.domain_size(problem.scope[end]) : 0;
            __int128 largest = 0;  // of the result
            for (int32_t v = 0; v < values; ++v) largest = std::max(largest, magnitude(value(end, v)));
            const __int128 reach = magnitude(bound_[row(c)]) + largest + (end - problem.scope_start[c]);
            require(reach < INT64_MAX, "distinct: a difference beyond 64 bits");
        }
        for (int32_t bin : bin_) require(bin >= 0 && size_t(bin) < counts_.size(), "distinct: unknown bin");
    }

    void prepare(int32_t c, const int32_t* positions) const override {
        for (int32_t bin : scratch.used) scratch.count[bin] = 0;
        scratch.used.clear();
        if (scratch.count.size() < counts_.size()) scratch.count.resize(counts_.size(), 0);
        scratch.constraint = c;
        scratch.distinct = 0;
        scratch.target = bound_[row(c)];
        const int32_t end = listed_end(c);
        for (int32_t s = problem_.scope_start[c]; s < end; ++s) {
            const int32_t bin = bin_[edge(s) + positions[problem_.scope[s]]];
            if (!counts_[bin]) continue;
            if (scratch.count[bin]++ == 0) ++scratch.distinct;
            scratch.used.push_back(bin);
        }
        if (has_result_[row(c)]) scratch.target += value(end, positions[problem_.scope[end]]);
    }

    void slot(int32_t s, const int32_t* positions, int64_t* out) const override {
        const int32_t c = scratch.constraint, op = op_[row(c)], x = problem_.scope[s], size = problem_.domain_size(x);
        if (s == listed_end(c)) {
            const int64_t left = scratch.distinct - bound_[row(c)];
            for (int32_t v = 0; v < size; ++v) out[v] = distance(op, left - value(s, v));
            return;
        }
        const int32_t* bin = bin_.data() + edge(s);
        const int32_t own = bin[positions[x]];
        const int32_t counted = counts_[own];
        scratch.count[own] -= counted;  // the other variables only
        const int64_t others = scratch.distinct - (counted && scratch.count[own] == 0) - scratch.target;
        for (int32_t v = 0; v < size; ++v)
            out[v] = distance(op, others + (counts_[bin[v]] && scratch.count[bin[v]] == 0));
        scratch.count[own] += counted;
    }

  private:
    int32_t listed_end(int32_t c) const { return problem_.scope_start[c + 1] - has_result_[row(c)]; }
    int64_t value(int32_t s, int32_t position) const {
        return problem_.value[problem_.value_start[problem_.scope[s]] + position];
    }

    std::vector<int32_t> bin_, op_;
    SharedArray<int64_t> bound_;
    SharedArray<uint8_t> counts_, has_result_;
};

}  // namespace

extern const FamilyDefinition distinct_family = evaluated<Distinct>("distinct");

}  // namespace anycsp
