// Focused search: the violated constraint that is mended next, and the moves of it, as WalkSAT, probSAT and weighting
// walk them.
#pragma once

#include "local/random.h"
#include "local/state.h"

namespace anycsp::local {

// The constraints to mend one of: the hard ones while there are any, but one time in eight all of them. A hard one may
// be beyond mending, and a walk that looked at nothing else would never come to the soft ones.
inline const IndexSet& to_be_mended(const State& state, Random& random) {
    return state.hard_count() > 0 && random.below(8) != 0 ? state.violated_hard() : state.violated();
}

// Calls visit(variable, position, value vertex) for every other value of every variable of the constraint.
template <class Visit>
inline void each_repair(const State& state, int32_t constraint, Visit visit) {
    const Problem& problem = *state.index().problem;
    for (int32_t s = problem.scope_start[constraint]; s < problem.scope_start[constraint + 1]; ++s) {
        const int32_t x = problem.scope[s], first = problem.value_start[x], now = state.position(x);
        const int32_t size = problem.value_start[x + 1] - first;
        if (size == 2)
            visit(x, 1 - now, first + 1 - now);
        else
            for (int32_t v = 0; v < size; ++v)
                if (v != now) visit(x, v, first + v);
    }
}

}  // namespace anycsp::local
