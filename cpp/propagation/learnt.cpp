#include "propagation/learnt.h"

#include <algorithm>

namespace anycsp::propagation {
namespace {

constexpr double kBumpGrowth = 1 / 0.999;  // a clause of a thousand conflicts ago counts a third of a fresh one
constexpr double kLargestBump = 1e100;
constexpr int32_t kAlwaysKept = 2;  // levels: such clauses pass on one decision to another, and are never forgotten

}  // namespace

int32_t Learnt::add(const std::vector<Literal>& literals, int32_t levels) {
    const auto clause = static_cast<int32_t>(clauses_.size());
    clauses_.push_back({literals, levels, bump_});
    watching(literals[0]).push_back({clause, literals[1]});
    watching(literals[1]).push_back({clause, literals[0]});
    return clause;
}

bool Learnt::make_true(Store& store, Literal literal) {
    const int32_t q = vertex_of(literal), x = store.variable_of(q), v = q - store.vertex(x, 0);
    return literal < 0 ? store.fix(x, v) : store.remove(x, v);
}

bool Learnt::propagate(Store& store, int32_t& failed) {
    while (store.passed_on < store.trail().size()) {
        const auto index = static_cast<int32_t>(store.passed_on++);
        const int32_t q = store.trail()[index].vertex, x = store.variable_of(q);
        if (!became_false(store, at(q), failed)) return false;
        const bool last = store.fixed(x) && (store.fixed_at(x) == Store::kAtRoot || store.fixed_at(x) == index);
        if (last && !became_false(store, not_at(store.vertex(x, store.first(x))), failed)) return false;
    }
    return true;
}

bool Learnt::became_false(Store& store, Literal literal, int32_t& failed) {
    std::vector<Watch>& watchers = watching(literal);
    size_t kept = 0;
    for (size_t i = 0; i < watchers.size(); ++i) {
        const Watch watch = watchers[i];
        if (is_true(store, watch.other)) {
            watchers[kept++] = watch;
            continue;
        }
        std::vector<Literal>& of = clauses_[watch.clause].literals;
        if (of[0] == literal) std::swap(of[0], of[1]);
        if (is_true(store, of[0])) {
            watchers[kept++] = {watch.clause, of[0]};
            continue;
        }
        size_t k = 2;
        while (k < of.size() && is_false(store, of[k])) ++k;
        if (k < of.size()) {
            std::swap(of[1], of[k]);
            watching(of[1]).push_back({watch.clause, of[0]});
            continue;
        }
        watchers[kept++] = {watch.clause, of[0]};
        store.reason = {Cause::learnt, watch.clause};
        if (is_false(store, of[0]) || !make_true(store, of[0])) {
            while (++i < watchers.size()) watchers[kept++] = watchers[i];
            watchers.resize(kept);
            failed = watch.clause;
            return false;
        }
    }
    watchers.resize(kept);
    return true;
}

void Learnt::explain(int32_t clause, int32_t x, Explanation& why) {
    for (Literal literal : clauses_[clause].literals) {
        const int32_t q = vertex_of(literal), y = why.store.variable_of(q);
        if (y == x) continue;
        if (literal < 0)
            why.gone(y, q - why.store.vertex(y, 0));
        else
            why.fixed(y);
    }
    clauses_[clause].activity += bump_;
    bump_ *= kBumpGrowth;
    if (bump_ < kLargestBump) return;
    for (Clause& each : clauses_) each.activity /= kLargestBump;
    bump_ /= kLargestBump;
}

bool Learnt::says(int32_t clause, Literal literal) const {
    const auto& of = clauses_[clause].literals;
    return of[0] == literal || std::find(of.begin(), of.end(), literal) != of.end();
}

bool Learnt::renew(Store& store, size_t most) {
    std::vector<Clause> kept;
    kept.swap(clauses_);
    for (auto& watchers : watching_) watchers.clear();
    store.passed_on = store.trail().size();
    if (kept.size() > most) {
        std::sort(kept.begin(), kept.end(), [](const Clause& a, const Clause& b) {
            const bool a_stays = a.levels <= kAlwaysKept, b_stays = b.levels <= kAlwaysKept;
            return a_stays != b_stays ? a_stays : a.activity > b.activity;
        });
        size_t half = most / 2;
        while (half < kept.size() && kept[half].levels <= kAlwaysKept) ++half;
        kept.resize(half);
    }
    bool possible = true;
    store.reason = {Cause::learnt, -1};  // at the root no reason is asked for
    for (Clause& clause : kept) {
        auto& of = clause.literals;
        if (std::any_of(of.begin(), of.end(), [&](Literal l) { return is_true(store, l); })) continue;
        of.erase(std::remove_if(of.begin(), of.end(), [&](Literal l) { return is_false(store, l); }), of.end());
        if (of.size() < 2) {
            possible &= !of.empty() && make_true(store, of[0]);
            if (!possible) return false;
            continue;
        }
        const int32_t index = add(of, clause.levels);
        clauses_[index].activity = clause.activity;
    }
    return true;
}

}  // namespace anycsp::propagation
