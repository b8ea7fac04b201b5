// Focused search: the candidate moves of one violated constraint, as WalkSAT, probSAT and weighting walk them.
#pragma once

#include "local/state.h"

namespace anycsp::local {

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
