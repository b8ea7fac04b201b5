// Tuples whose cells are intervals of positions; see constraints/short_table.py.
#include <algorithm>

#include "families/evaluator.h"

namespace anycsp {
namespace {

struct Scratch {
    int32_t constraint = -1;
    std::vector<int32_t> misses, where;  // by row: cells that do not hold (2: two or more), and the last of them
};
thread_local Scratch scratch;

class ShortTuples : public Evaluator {
  public:
    ShortTuples(const Problem& problem, const Family& family, const Arrays& arrays) : Evaluator(problem, family) {
        relation_ = arrays.copy<int32_t>("relation", rows());
        allowed_ = arrays.flags("allowed");
        start_ = arrays.copy<int64_t>("tuple_start");
        low_ = arrays.copy<int32_t>("low");
        high_ = arrays.copy<int32_t>("high", low_.size());
        require(start_.size() == allowed_.size() + 1, "short_tuples: starts and flags differ in length");
        require_start(start_, low_.size(), "short_tuples: starts not increasing");
        for (int32_t c = first_constraint_; c < last_constraint_; ++c) {
            const int32_t r = relation_[row(c)], arity = problem.scope_start[c + 1] - problem.scope_start[c];
            require(r >= 0 && size_t(r) < allowed_.size(), "short_tuples: unknown relation");
            require((start_[r + 1] - start_[r]) % arity == 0, "short_tuples: cells are not rows of the arity");
            for (int64_t i = start_[r]; i < start_[r + 1]; ++i) {
                const int32_t x = problem.scope[problem.scope_start[c] + (i - start_[r]) % arity];
                require(low_[i] >= 0 && high_[i] < problem.domain_size(x), "short_tuples: outside the domain");
            }
        }
    }

    void prepare(int32_t c, const int32_t* positions) const override {
        const int32_t r = relation_[row(c)], begin = problem_.scope_start[c],
                      arity = problem_.scope_start[c + 1] - begin;
        const int64_t tuples = (start_[r + 1] - start_[r]) / arity;
        scratch.constraint = c;
        scratch.misses.assign(tuples, 0);
        scratch.where.assign(tuples, -1);
        for (int64_t t = 0; t < tuples; ++t) {
            const int64_t cell = start_[r] + t * arity;
            for (int32_t i = 0; i < arity && scratch.misses[t] < 2; ++i) {
                const int32_t now = positions[problem_.scope[begin + i]];
                if (now >= low_[cell + i] && now <= high_[cell + i]) continue;
                ++scratch.misses[t];
                scratch.where[t] = begin + i;
            }
        }
    }

    void slot(int32_t s, const int32_t*, int64_t* out) const override {
        const int32_t c = scratch.constraint, r = relation_[row(c)];
        const int32_t begin = problem_.scope_start[c], arity = problem_.scope_start[c + 1] - begin;
        std::fill(out, out + problem_.domain_size(problem_.scope[s]), allowed_[r]);
        for (size_t t = 0; t < scratch.misses.size(); ++t) {
            if (scratch.misses[t] > 1 || (scratch.misses[t] == 1 && scratch.where[t] != s)) continue;
            const int64_t cell = start_[r] + int64_t(t) * arity + (s - begin);
            for (int32_t v = low_[cell]; v <= high_[cell]; ++v) out[v] = !allowed_[r];
        }
    }

  private:
    std::vector<int32_t> relation_, low_, high_;
    SharedArray<uint8_t> allowed_;
    std::vector<int64_t> start_;
};

}  // namespace

extern const FamilyDefinition short_tuples_family = evaluated<ShortTuples>("short_tuples");

}  // namespace anycsp
