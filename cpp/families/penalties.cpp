// The general way to keep costs up to date: relabel a constraint's other slots after a move, carry the differences.
#include "families/penalties.h"

namespace anycsp {

void Penalties::enter(int32_t constraint, Weight weight, const PenaltyState& state) const {
    for (int32_t s = problem_.scope_start[constraint]; s < problem_.scope_start[constraint + 1]; ++s) {
        int32_t x = problem_.scope[s];
        int32_t* penalty = cached(s, state);
        penalties({constraint, s}, state, penalty);
        Weight* cost = state.cost + problem_.value_start[x];
        for (int32_t v = 0; v < problem_.domain_size(x); ++v) cost[v] += weight * penalty[v];
    }
}

void Penalties::move(Occurrence at, int32_t from, int32_t to, Weight weight, const PenaltyState& state) const {
    if (!shift(at, from, to, state) || state.cost == nullptr) return;
    thread_local std::vector<int32_t> fresh;
    for (int32_t s = problem_.scope_start[at.constraint]; s < problem_.scope_start[at.constraint + 1]; ++s) {
        if (s == at.slot) continue;  // a slot's own penalties depend on the others only
        int32_t x = problem_.scope[s], size = problem_.domain_size(x);
        fresh.resize(size);
        penalties({at.constraint, s}, state, fresh.data());
        int32_t* penalty = cached(s, state);
        Weight* cost = state.cost + problem_.value_start[x];
        for (int32_t v = 0; v < size; ++v) {
            cost[v] += weight * (fresh[v] - penalty[v]);
            penalty[v] = fresh[v];
        }
    }
}

void Penalties::reweigh(int32_t constraint, Weight amount, const PenaltyState& state) const {
    for (int32_t s = problem_.scope_start[constraint]; s < problem_.scope_start[constraint + 1]; ++s) {
        int32_t x = problem_.scope[s];
        const int32_t* penalty = cached(s, state);
        Weight* cost = state.cost + problem_.value_start[x];
        for (int32_t v = 0; v < problem_.domain_size(x); ++v) cost[v] += amount * penalty[v];
    }
}

}  // namespace anycsp
