#include "families/evaluator.h"

#include <algorithm>
#include <vector>

namespace anycsp {
namespace {

// Nothing is kept, a constraint is evaluated when asked about.
//
// A graded penalty is 1 + log2 of the distance, whatever the scale of the constraint.
class EvaluatedPenalties : public Penalties {
  public:
    EvaluatedPenalties(const Problem& problem, const Family& arrays, const PenaltyOptions& options)
        : Penalties(problem, arrays, options.graded), evaluator_(*arrays.evaluator), steps_(options.steps) {}

    bool satisfied(int32_t constraint, const PenaltyState& state) const override {
        const int32_t slot = problem_.scope_start[constraint];
        return distances({constraint, slot}, state)[state.positions[problem_.scope[slot]]] == 0;
    }

    void penalties(Occurrence at, const PenaltyState& state, int32_t* out) const override {
        const int64_t* far = distances(at, state);
        for (int32_t v = 0; v < problem_.domain_size(problem_.scope[at.slot]); ++v) out[v] = penalty(far[v]);
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        const int64_t* far = distances(at, state);
        return penalty(far[to]) - penalty(far[from]);
    }

  private:
    const int64_t* distances(Occurrence at, const PenaltyState& state) const {
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
        return std::min(steps, 1 + steps_);
    }

    const Evaluator& evaluator_;
    const int32_t steps_;
};

// Calls `each(slot, distances)` for every slot of the constraints.
template <class Each>
void for_distances(const Problem& p, const Family& f, Range constraints, const int32_t* positions, const Each& each) {
    thread_local std::vector<int64_t> distances;
    for (int32_t c = constraints.first; c < constraints.last; ++c) {
        f.evaluator->prepare(c, positions);
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            distances.resize(p.domain_size(p.scope[s]));
            f.evaluator->slot(s, positions, distances.data());
            each(s, distances);
        }
    }
}

}  // namespace

void label_evaluated(const Problem& p, const Family& f, Range constraints, const EdgeLabels& to) {
    for_distances(p, f, constraints, to.positions, [&](int32_t slot, const std::vector<int64_t>& distances) {
        std::transform(distances.begin(), distances.end(), to.of(slot), [](int64_t far) { return far == 0; });
    });
}

void grade_evaluated(const Problem& p, const Family& f, Range constraints, const EdgeGrades& to) {
    for_distances(p, f, constraints, to.positions, [&](int32_t slot, const std::vector<int64_t>& distances) {
        std::transform(distances.begin(), distances.end(), to.of(slot), grade_of_distance);
    });
}

std::unique_ptr<Penalties> evaluated_penalties(const Problem& p, const Family& f, const PenaltyOptions& options) {
    return std::make_unique<EvaluatedPenalties>(p, f, options);
}

}  // namespace anycsp
