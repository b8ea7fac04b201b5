#include "local/state.h"

#include <algorithm>

namespace anycsp::local {

State::State(const MoveIndex& index, bool on_demand)
    : index_(index),
      problem_(*index.problem),
      on_demand_(on_demand && !index.simple),
      positions_(problem_.variables),
      cost_(problem_.values()),
      weight_(problem_.constraints),
      clause_(problem_.constraints),
      is_violated_(problem_.constraints),
      violated_(problem_.constraints),
      violated_hard_(problem_.constraints),
      conflicted_(problem_.variables),
      touched_(problem_.variables),
      conflicts_(problem_.variables) {
    for (const auto& family : index.penalties) {
        memory_.emplace_back(family ? family->memory() : 0);
        penalty_.emplace_back(family && !on_demand_ ? family->edges() : 0);
    }
    for (size_t i = 0; i < memory_.size(); ++i)
        penalty_state_.push_back({positions_.data(), memory_[i].data(), on_demand_ ? nullptr : penalty_[i].data(),
                                  on_demand_ ? nullptr : cost_.data()});
}

void State::place(const int32_t* positions, const std::vector<Weight>& weights) {
    std::copy(positions, positions + problem_.variables, positions_.begin());
    weight_ = weights;
    std::fill(cost_.begin(), cost_.end(), 0);
    std::fill(is_violated_.begin(), is_violated_.end(), 0);
    std::fill(conflicts_.begin(), conflicts_.end(), 0);
    violated_.clear();
    violated_hard_.clear();
    conflicted_.clear();
    touched_.clear();
    score_ = 0;
    violated_count_ = hard_count_ = 0;
    place_clauses();
    place_binary();
    place_others();
    for (int32_t x = 0; x < problem_.variables; ++x) touched_.insert(x);
}

void State::place_clauses() {
    for (const Family& arrays : problem_.families) {
        if (arrays.kind != Kind::clause) continue;
        for (int32_t c = arrays.first_constraint; c < arrays.last_constraint; ++c) {
            Clause clause{0, 0};
            for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s) {
                const int32_t x = problem_.scope[s], forbidden = index_.forbidden_value[s];
                if (forbidden < 0) {
                    clause.count += 2;  // a tautology is never near violation
                } else if (problem_.value_start[x] + positions_[x] != forbidden) {
                    ++clause.count;
                    clause.critical ^= forbidden;
                }
            }
            clause_[c] = clause;
            if (clause.count == 1) cost_[clause.critical] += weight_[c];
            if (clause.count == 0) {
                for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
                    cost_[index_.forbidden_value[s]] += weight_[c];
                become_violated<kCounts | kViolated | kConflicted>(c);
            }
        }
    }
}

void State::place_binary() {
    for (int32_t x = 0; x < problem_.variables; ++x) {
        for (const Partner* at = index_.matchings.begin(x); at != index_.matchings.end(x); ++at) {
            const int32_t conflicting = index_.conflict[at->line + positions_[x]];
            if (conflicting >= 0) cost_[at->first_value + conflicting] += weight_[at->constraint];
            if (x < at->variable && conflicting == positions_[at->variable])
                become_violated<kCounts | kViolated | kConflicted>(at->constraint);
        }
        for (const Partner* at = index_.tables.begin(x); at != index_.tables.end(x); ++at) {
            const uint8_t* row = index_.violation.data() + at->line + int64_t(positions_[x]) * at->size;
            for (int32_t v = 0; v < at->size; ++v) cost_[at->first_value + v] += weight_[at->constraint] * row[v];
            if (x < at->variable && row[positions_[at->variable]])
                become_violated<kCounts | kViolated | kConflicted>(at->constraint);
        }
    }
}

void State::place_others() {
    if (index_.simple) return;
    for (size_t i = 0; i < index_.penalties.size(); ++i)
        if (index_.penalties[i]) index_.penalties[i]->place(penalty_state_[i]);
    std::vector<uint8_t> entered(problem_.constraints);
    for (const Occurrence& at : index_.others.items) {
        const int32_t c = at.constraint;
        if (entered[c]) continue;
        entered[c] = 1;
        if (!on_demand_) penalties(c).enter(c, weight_[c], penalty_state(c));
        if (!penalties(c).satisfied(c, penalty_state(c))) become_violated<kCounts | kViolated | kConflicted>(c);
    }
}

}  // namespace anycsp::local
