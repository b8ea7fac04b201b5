#include "propagation/clauses.h"

#include <algorithm>

namespace anycsp::propagation {

Clauses::Clauses(const Problem& problem) : problem_(problem), variable_(problem.values()), watching_(problem.values()) {
    for (int32_t x = 0; x < problem.variables; ++x)
        for (int32_t v = problem.value_start[x]; v < problem.value_start[x + 1]; ++v) variable_[v] = x;
}

bool Clauses::add(Store& store, std::vector<int32_t> literals, int32_t constraint) {
    std::sort(literals.begin(), literals.end());
    literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
    std::vector<int32_t> open;
    for (int32_t literal : literals) {
        if (is_true(store, literal)) return true;
        if (!is_false(store, literal)) open.push_back(literal);
        // Two different positions of one variable: it is never at both.
        if (open.size() > 1 && variable_[open[open.size() - 2]] == variable_[literal]) return true;
    }
    if (open.empty()) return false;
    if (open.size() == 1) return make_true(store, open[0]);
    const auto clause = static_cast<int32_t>(start_.size());
    start_.push_back(static_cast<int64_t>(literals_.size()));
    length_.push_back(static_cast<int32_t>(open.size()));
    constraint_.push_back(constraint);
    literals_.insert(literals_.end(), open.begin(), open.end());
    watching_[open[0]].push_back(clause);
    watching_[open[1]].push_back(clause);
    return true;
}

bool Clauses::fixed(Store& store, int32_t x, int32_t position, int32_t& failed) {
    const int32_t literal = problem_.value_start[x] + position;
    std::vector<int32_t>& watching = watching_[literal];
    size_t kept = 0;
    for (size_t i = 0; i < watching.size(); ++i) {
        const int32_t clause = watching[i];
        int32_t* of = literals_.data() + start_[clause];
        if (of[0] == literal) std::swap(of[0], of[1]);
        if (is_true(store, of[0])) {
            watching[kept++] = clause;
            continue;
        }
        int32_t k = 2;
        while (k < length_[clause] && is_false(store, of[k])) ++k;
        if (k < length_[clause]) {
            std::swap(of[1], of[k]);
            watching_[of[1]].push_back(clause);
            continue;
        }
        watching[kept++] = clause;
        store.reason = {Cause::clause, clause};
        if (is_false(store, of[0]) || !make_true(store, of[0])) {
            while (++i < watching.size()) watching[kept++] = watching[i];
            watching.resize(kept);
            failed = constraint_[clause];
            last_failed = clause;
            return false;
        }
    }
    watching.resize(kept);
    return true;
}

}  // namespace anycsp::propagation
