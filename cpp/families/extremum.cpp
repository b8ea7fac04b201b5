// max of terms ∘ bound, or ∘ bound + the term of the last slot; see constraints/extremum.py.
#include <algorithm>

#include "core/comparison.h"
#include "families/evaluator.h"

namespace anycsp {
namespace {

constexpr int64_t NOTHING = -(int64_t(1) << 61);  // the maximum of no terms
// Terms and bounds lie within, so that differences of their sums, and of NOTHING, fit into 64 bits.
constexpr int64_t LARGEST = int64_t(1) << 60;

struct Scratch {
    int32_t constraint, holder;  // the first slot that holds the largest term
    int64_t largest, second, target;
};
thread_local Scratch scratch;

class Extremum : public Evaluator {
  public:
    Extremum(const Problem& problem, const Family& family, const Arrays& arrays) : Evaluator(problem, family) {
        term_ = arrays.copy<int64_t>("term", edges());
        op_ = arrays.copy<int32_t>("operator", rows());
        bound_ = arrays.shared<int64_t>("bound", rows());
        has_result_ = arrays.flags("has_result", rows());
        for (int32_t op : op_) require(op >= LE && op <= GT, "extremum: unknown operator");
        for (int64_t term : term_) require(term >= -LARGEST && term <= LARGEST, "extremum: a term beyond 60 bits");
        for (int64_t bound : bound_) require(bound >= -LARGEST && bound <= LARGEST, "extremum: a bound beyond 60 bits");
        for (int32_t c = first_constraint_; c < last_constraint_; ++c)
            require(listed_end(c) > problem.scope_start[c], "extremum: no terms");
    }

    void prepare(int32_t c, const int32_t* positions) const override {
        scratch = {c, -1, NOTHING, NOTHING, bound_[row(c)]};
        const int32_t begin = problem_.scope_start[c], end = listed_end(c);
        for (int32_t s = begin; s < end; ++s) {
            const int64_t now = term(s, positions);
            if (scratch.holder < 0 || now > scratch.largest) {
                scratch.second = scratch.largest;
                scratch.largest = now;
                scratch.holder = s;
            } else {
                scratch.second = std::max(scratch.second, now);
            }
        }
        if (has_result_[row(c)]) scratch.target += term(end, positions);
    }

    void slot(int32_t s, const int32_t*, int64_t* out) const override {
        const int32_t c = scratch.constraint, op = op_[row(c)], size = problem_.domain_size(problem_.scope[s]);
        const int64_t* term = term_.data() + edge(s);
        if (s == listed_end(c)) {
            const int64_t left = scratch.largest - bound_[row(c)];
            for (int32_t v = 0; v < size; ++v) out[v] = distance(op, left - term[v]);
            return;
        }
        const int64_t others = s == scratch.holder ? scratch.second : scratch.largest;
        for (int32_t v = 0; v < size; ++v) out[v] = distance(op, std::max(others, term[v]) - scratch.target);
    }

  private:
    int32_t listed_end(int32_t c) const { return problem_.scope_start[c + 1] - has_result_[row(c)]; }
    int64_t term(int32_t s, const int32_t* positions) const { return term_[edge(s) + positions[problem_.scope[s]]]; }

    std::vector<int64_t> term_;
    SharedArray<int64_t> bound_;
    std::vector<int32_t> op_;
    SharedArray<uint8_t> has_result_;
};

}  // namespace

extern const FamilyDefinition extremum_family = evaluated<Extremum>("extremum");

}  // namespace anycsp
