// Families with an evaluator: nothing is kept, a constraint is evaluated when asked about.
//
// A graded penalty is 1 + log2 of the distance, whatever the scale of the constraint.
#include <vector>

#include "families/evaluator.h"
#include "local/family.h"

namespace anycsp::local {
namespace {

class Evaluated : public Family {
  public:
    Evaluated(const Problem& problem, const anycsp::Family& arrays, bool graded)
        : Family(problem, arrays, graded), evaluator_(*arrays.evaluator) {}

    bool satisfied(int32_t constraint, const FamilyState& state) const override {
        const int32_t slot = problem_.scope_start[constraint];
        return distances({constraint, slot}, state)[state.positions[problem_.scope[slot]]] == 0;
    }

    void penalties(Occurrence at, const FamilyState& state, int32_t* out) const override {
        const int64_t* far = distances(at, state);
        for (int32_t v = 0; v < problem_.domain_size(problem_.scope[at.slot]); ++v) out[v] = penalty(far[v]);
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const FamilyState& state) const override {
        const int64_t* far = distances(at, state);
        return penalty(far[to]) - penalty(far[from]);
    }

  private:
    const int64_t* distances(Occurrence at, const FamilyState& state) const {
        thread_local std::vector<int64_t> far;
        far.resize(problem_.domain_size(problem_.scope[at.slot]));
        evaluator_.prepare(at.constraint, state.positions);
        evaluator_.slot(at.slot, state.positions, far.data());
        return far.data();
    }

    int32_t penalty(int64_t distance) const {
        if (!graded_ || distance <= 1) return distance != 0;
        int32_t steps = 1;
        while (distance >>= 1) ++steps;
        return steps;
    }

    const Evaluator& evaluator_;
};

}  // namespace

std::unique_ptr<Family> make_evaluated(const Problem& problem, const anycsp::Family& arrays, bool graded) {
    return std::make_unique<Evaluated>(problem, arrays, graded);
}

}  // namespace anycsp::local
