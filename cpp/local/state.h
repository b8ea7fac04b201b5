// One run's assignment with everything a local search asks about it, kept up to date move by move.
//
// cost[v], for every value vertex v of a variable X, is Σ weight · penalty over the constraints of X, as if X alone
// were moved to v (Galinier and Hao's γ table, for any constraint). So moving X from a to b changes the weighted
// violation by cost[b] − cost[a]; for a clause over two-valued variables the one is "break", the other "make".
// The weights are the search's own: the score's, or dynamic ones.
//
// Clauses and binary tables have their penalties here and not in families/: their moves take nanoseconds, a million of
// them a second depend on being inlined into the strategy and compiled for just the features it wants. A call through
// Penalties, which cannot know the features, costs more than the whole update.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "local/move_index.h"

namespace anycsp::local {

// What a strategy wants kept, fixed at compile time so that nobody pays for more.
enum Features : unsigned {
    kNothing = 0,     // costs and score only; needs Score::uniform, weights 1 and MoveIndex::simple
    kCounts = 1,      // score and counts through the constraints that change
    kViolated = 2,    // the list of violated constraints
    kConflicted = 4,  // the list of variables of violated constraints
    kTouched = 8,     // the list of variables whose costs changed
};

// A set of small integers with O(1) insert, erase and draw.
class IndexSet {
  public:
    explicit IndexSet(int32_t universe = 0) : place_(universe, -1) { members_.reserve(universe); }

    bool contains(int32_t i) const { return place_[i] >= 0; }
    int32_t size() const { return static_cast<int32_t>(members_.size()); }
    int32_t operator[](int32_t k) const { return members_[k]; }
    void insert(int32_t i) {
        if (place_[i] >= 0) return;
        place_[i] = size();
        members_.push_back(i);
    }
    void erase(int32_t i) {
        const int32_t hole = place_[i];
        if (hole < 0) return;
        const int32_t last = members_.back();
        members_[hole] = last;
        place_[last] = hole;
        members_.pop_back();
        place_[i] = -1;
    }
    void clear() {
        for (int32_t i : members_) place_[i] = -1;
        members_.clear();
    }

  private:
    std::vector<int32_t> members_, place_;
};

class State {
  public:
    // With `on_demand`, costs leave out the constraints of MoveIndex::others; ask difference().
    State(const MoveIndex& index, bool on_demand);
    State(const State&) = delete;

    // Compute everything from positions and weights.
    void place(const int32_t* positions, const std::vector<Weight>& weights);

    template <unsigned features>
    void move(int32_t x, int32_t to);

    // Change in weighted violation if x moved.
    Weight difference(int32_t x, int32_t to) const {
        const Weight* cost = cost_.data() + problem_.value_start[x];
        Weight result = cost[to] - cost[positions_[x]];
        if (on_demand_)
            for (const Occurrence* at = index_.others.begin(x); at != index_.others.end(x); ++at)
                result += weight_[at->constraint] *
                          penalties(at->constraint).difference(*at, positions_[x], to, penalty_state(at->constraint));
        return result;
    }

    // Give the constraint more (or less) weight; features as in move().
    template <unsigned features>
    void reweigh(int32_t constraint, Weight amount);

    const MoveIndex& index() const { return index_; }
    const std::vector<int32_t>& positions() const { return positions_; }
    int32_t position(int32_t x) const { return positions_[x]; }
    const Weight* cost_of(int32_t x) const { return cost_.data() + problem_.value_start[x]; }
    const std::vector<Weight>& cost() const { return cost_; }
    Weight weight(int32_t c) const { return weight_[c]; }
    const std::vector<Weight>& weights() const { return weight_; }
    Weight score() const { return score_; }
    int32_t violated_count() const { return index_.score.uniform ? static_cast<int32_t>(score_) : violated_count_; }
    int32_t hard_count() const { return hard_count_; }
    bool is_violated(int32_t c) const { return is_violated_[c]; }
    const IndexSet& violated() const { return violated_; }
    const IndexSet& violated_hard() const { return violated_hard_; }
    const IndexSet& conflicted() const { return conflicted_; }
    IndexSet& touched() { return touched_; }

  private:
    // A clause's satisfying slots: how many, and the exclusive or of their forbidden values, which is the one
    // critical value when there is one.
    struct Clause {
        int32_t count, critical;
    };

    const Penalties& penalties(int32_t c) const { return *index_.penalties[problem_.family_of[c]]; }
    PenaltyState penalty_state(int32_t c) const { return penalty_state_[problem_.family_of[c]]; }

    template <unsigned features>
    void add_cost(int32_t value, Weight amount) {
        cost_[value] += amount;
        if constexpr (features & kTouched) touched_.insert(index_.value_variable[value]);
    }
    template <unsigned features>
    void become_violated(int32_t c);
    template <unsigned features>
    void become_satisfied(int32_t c);
    template <unsigned features>
    void move_clauses(int32_t left, int32_t entered);
    template <unsigned features>
    void move_matchings(int32_t x, int32_t from, int32_t to);
    template <unsigned features>
    void move_tables(int32_t x, int32_t from, int32_t to);
    template <unsigned features>
    void move_others(int32_t x, int32_t from, int32_t to);

    template <unsigned features>
    void reweigh_binary(int32_t c, Weight amount);

    void place_clauses();
    void place_binary();
    void place_others();

    const MoveIndex& index_;
    const Problem& problem_;
    const bool on_demand_;
    std::vector<int32_t> positions_;
    std::vector<Weight> cost_, weight_;
    std::vector<Clause> clause_;                 // [constraints]
    std::vector<std::vector<int64_t>> memory_;   // by family
    std::vector<std::vector<int32_t>> penalty_;  // by family
    std::vector<PenaltyState> penalty_state_;    // views of the two above

    Weight score_ = 0;
    int32_t violated_count_ = 0, hard_count_ = 0;
    std::vector<uint8_t> is_violated_;  // [constraints], with kCounts
    IndexSet violated_, violated_hard_, conflicted_, touched_;
    std::vector<int32_t> conflicts_;  // [variables] violated constraints on it
};

// ── moving ───────────────────────────────────────────────────────────────────────────────────────────────────────

template <unsigned features>
inline void State::become_violated(int32_t c) {
    if constexpr (features & kCounts) {
        is_violated_[c] = 1;
        score_ += index_.score.of[c];
        ++violated_count_;
        hard_count_ += problem_.hard[c];
    }
    if constexpr (features & kViolated) {
        violated_.insert(c);
        if (problem_.hard[c]) violated_hard_.insert(c);
    }
    if constexpr (features & kConflicted)
        for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
            if (conflicts_[problem_.scope[s]]++ == 0) conflicted_.insert(problem_.scope[s]);
}

template <unsigned features>
inline void State::become_satisfied(int32_t c) {
    if constexpr (features & kCounts) {
        is_violated_[c] = 0;
        score_ -= index_.score.of[c];
        --violated_count_;
        hard_count_ -= problem_.hard[c];
    }
    if constexpr (features & kViolated) {
        violated_.erase(c);
        if (problem_.hard[c]) violated_hard_.erase(c);
    }
    if constexpr (features & kConflicted)
        for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
            if (--conflicts_[problem_.scope[s]] == 0) conflicted_.erase(problem_.scope[s]);
}

template <unsigned features>
inline void State::move_clauses(int32_t left, int32_t entered) {
    const int32_t* forbidden = index_.forbidden_value.data();
    // Costs of the clause's other forbidden values; the mover's own stays, as it is the critical one either side.
    auto add_others = [&](int32_t c, int32_t own, Weight amount) {
        for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
            if (forbidden[s] != own) add_cost<features>(forbidden[s], amount);
    };
    for (const int32_t* at = index_.clauses_at.begin(left); at != index_.clauses_at.end(left); ++at) {
        const int32_t c = *at;
        Clause& clause = clause_[c];
        const Weight weight = features == kNothing ? 1 : weight_[c];
        const int32_t before = clause.count++;
        if (before == 0) {
            add_others(c, left, -weight);
            become_satisfied<features>(c);
        } else if (before == 1) {
            add_cost<features>(clause.critical, -weight);
        }
        clause.critical ^= left;
    }
    for (const int32_t* at = index_.clauses_at.begin(entered); at != index_.clauses_at.end(entered); ++at) {
        const int32_t c = *at;
        Clause& clause = clause_[c];
        const Weight weight = features == kNothing ? 1 : weight_[c];
        clause.critical ^= entered;
        const int32_t after = --clause.count;
        if (after == 0) {
            add_others(c, entered, weight);
            become_violated<features>(c);
        } else if (after == 1) {
            add_cost<features>(clause.critical, weight);
        }
    }
}

template <unsigned features>
inline void State::move_matchings(int32_t x, int32_t from, int32_t to) {
    for (const Partner* at = index_.matchings.begin(x); at != index_.matchings.end(x); ++at) {
        const int32_t* line = index_.conflict.data() + at->line;
        const int32_t before = line[from], after = line[to];
        if (before == after) continue;
        const Weight weight = features == kNothing ? 1 : weight_[at->constraint];
        if (before >= 0) add_cost<features>(at->first_value + before, -weight);
        if (after >= 0) add_cost<features>(at->first_value + after, weight);
        if constexpr (features != kNothing) {
            const int32_t now = positions_[at->variable];
            if (now == before) become_satisfied<features>(at->constraint);
            if (now == after) become_violated<features>(at->constraint);
        }
    }
}

template <unsigned features>
inline void State::move_tables(int32_t x, int32_t from, int32_t to) {
    for (const Partner* at = index_.tables.begin(x); at != index_.tables.end(x); ++at) {
        const uint8_t* lines = index_.violation.data() + at->line;
        const uint8_t* before = lines + int64_t(from) * at->size;
        const uint8_t* after = lines + int64_t(to) * at->size;
        const Weight weight = features == kNothing ? 1 : weight_[at->constraint];
        Weight* cost = cost_.data() + at->first_value;
        for (int32_t v = 0; v < at->size; ++v) cost[v] += weight * (int32_t(after[v]) - int32_t(before[v]));
        if constexpr (features & kTouched) touched_.insert(at->variable);
        if constexpr (features != kNothing) {
            const int32_t now = positions_[at->variable];
            if (before[now] && !after[now]) become_satisfied<features>(at->constraint);
            if (!before[now] && after[now]) become_violated<features>(at->constraint);
        }
    }
}

template <unsigned features>
void State::move_others(int32_t x, int32_t from, int32_t to) {
    static_assert(features & kCounts);
    for (const Occurrence* at = index_.others.begin(x); at != index_.others.end(x); ++at) {
        const int32_t c = at->constraint;
        penalties(c).move(*at, from, to, weight_[c], penalty_state(c));
        const bool satisfied = penalties(c).satisfied(c, penalty_state(c));
        if (satisfied && is_violated_[c]) become_satisfied<features>(c);
        if (!satisfied && !is_violated_[c]) become_violated<features>(c);
        if constexpr (features & kTouched)
            for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
                touched_.insert(problem_.scope[s]);
    }
}

template <unsigned features>
inline void State::move(int32_t x, int32_t to) {
    const int32_t from = positions_[x], first = problem_.value_start[x];
    if constexpr (features == kNothing) score_ += cost_[first + to] - cost_[first + from];
    positions_[x] = to;
    if constexpr (features & kTouched) touched_.insert(x);
    if (!index_.clauses_at.empty()) move_clauses<features>(first + from, first + to);
    if (!index_.matchings.empty()) move_matchings<features>(x, from, to);
    if (!index_.tables.empty()) move_tables<features>(x, from, to);
    if constexpr (features != kNothing)
        if (!index_.simple) move_others<features>(x, from, to);
}

// ── changing weights ─────────────────────────────────────────────────────────────────────────────────────────────

template <unsigned features>
void State::reweigh_binary(int32_t c, Weight amount) {
    const Family& arrays = problem_.families[problem_.family_of[c]];
    const int32_t first = problem_.scope_start[c], first_slot = problem_.scope_start[arrays.first_constraint];
    for (int32_t s = first; s < first + 2; ++s) {
        const int32_t other = 2 * first + 1 - s, x = problem_.scope[s], taken = positions_[problem_.scope[other]];
        const int32_t value = problem_.value_start[x];
        if (arrays.kind == Kind::matching) {
            const int32_t conflicting = arrays.conflict[arrays.offset[s - first_slot] + taken];
            if (conflicting >= 0) add_cost<features>(value + conflicting, amount);
        } else {
            const int64_t step = arrays.stride[s - first_slot];
            const uint8_t* line = arrays.truth.data() + arrays.base[c - arrays.first_constraint] +
                                  arrays.stride[other - first_slot] * taken;
            for (int32_t v = 0; v < problem_.domain_size(x); ++v)
                if (!line[step * v]) add_cost<features>(value + v, amount);
        }
    }
}

template <unsigned features>
void State::reweigh(int32_t c, Weight amount) {
    weight_[c] += amount;
    const int32_t first = problem_.scope_start[c], last = problem_.scope_start[c + 1];
    const Family& arrays = problem_.families[problem_.family_of[c]];
    if (arrays.kind == Kind::clause) {
        if (clause_[c].count == 1) add_cost<features>(clause_[c].critical, amount);
        if (clause_[c].count == 0)
            for (int32_t s = first; s < last; ++s) add_cost<features>(index_.forbidden_value[s], amount);
    } else if (arrays.kind == Kind::matching || (arrays.kind == Kind::dense && last - first == 2)) {
        reweigh_binary<features>(c, amount);
    } else if (!on_demand_) {
        penalties(c).reweigh(c, amount, penalty_state(c));
        if constexpr (features & kTouched)
            for (int32_t s = first; s < last; ++s) touched_.insert(problem_.scope[s]);
    }
}

}  // namespace anycsp::local
