#include "propagation/conflict.h"

#include <algorithm>

namespace anycsp::propagation {
namespace {

constexpr int64_t kOperations = 8;      // of a rule, evaluated while a literal is looked at
constexpr size_t kLongestClause = 500;  // beyond, that not all decisions go together says as much

}  // namespace

Conflict::Conflict(Network& network) : network_(network), store_(network.store()), why_(store_) {
    for (auto& seen : seen_) seen.assign(network.problem().values(), 0);
    met_.assign(network.problem().variables, 0);
}

// Where a literal became true. What was decided holds from the beginning of its level.
int32_t Conflict::index_of(Literal literal) const {
    const int32_t q = vertex_of(literal);
    const int32_t index = literal < 0 ? store_.fixed_at(store_.variable_of(q)) : store_.removed_at(q);
    const Removal& removal = store_.trail()[index];
    return removal.reason.cause == Cause::decision ? store_.trail_start(removal.level) : index;
}

void Conflict::see(Literal literal) {
    const int32_t q = vertex_of(literal), x = store_.variable_of(q);
    if (literal >= 0 && store_.trail()[store_.removed_at(q)].reason.cause == Cause::decision)
        return see(at(store_.vertex(x, store_.first(x))));
    uint8_t& seen = seen_[literal < 0][q];
    if (seen) return;
    seen = 1;
    marked_.push_back(literal);
    if (!met_[x]) {
        met_[x] = 1;
        variables.push_back(x);
    }
    if (store_.trail()[index_of(literal)].level == store_.level())
        ++open_;
    else
        lower_.push_back(literal);
}

bool Conflict::analyse() {
    network_.explain_failure(why_);
    first_ = why_.literals;
    int32_t last = 0;
    for (Literal literal : first_) last = std::max(last, store_.trail()[index_of(literal)].level);
    if (last == 0) return false;
    while (store_.level() > last) store_.pop();
    marked_.clear();
    lower_.clear();
    variables.clear();
    open_ = 0;
    for (Literal literal : first_) see(literal);
    for (auto index = static_cast<int32_t>(store_.trail().size()) - 1;; --index) {
        const int32_t q = store_.trail()[index].vertex, x = store_.variable_of(q);
        // A variable that lost its last value was there before.
        const int32_t taken = store_.size(x) <= 1 ? store_.vertex(x, store_.first(x)) : -1;
        if (taken >= 0 && seen_[1][taken] && index_of(at(taken)) == index) {
            if (open_ == 1) {
                finish(at(taken));
                return true;
            }
            replace_by_reasons(at(taken));
        }
        if (seen_[0][q]) {
            if (open_ == 1) {
                finish(not_at(q));
                return true;
            }
            replace_by_reasons(not_at(q));
        }
    }
}

void Conflict::replace_by_reasons(Literal literal) {
    --open_;
    const int32_t q = vertex_of(literal);
    if (literal < 0) {
        const int32_t x = store_.variable_of(q), index = store_.fixed_at(x);
        const Reason reason = store_.trail()[index].reason;
        if (reason.cause == Cause::learnt && network_.learnt().says(reason.of, literal)) {
            network_.explain(index, why_);
        } else {  // it is nowhere else
            why_.begin(static_cast<int32_t>(store_.trail().size()));
            const int32_t first = store_.vertex(x, 0);
            for (int32_t v = 0; v < store_.problem().domain_size(x); ++v)
                if (first + v != q) why_.gone(x, v);
        }
    } else {
        network_.explain(store_.removed_at(q), why_);
    }
    count_effort();
    for (Literal each : why_.literals) see(each);
}

void Conflict::count_effort() {
    effort += static_cast<int64_t>(why_.literals.size()) + why_.work / kOperations;
    why_.work = 0;
}

void Conflict::finish(Literal last) {
    clause.assign(1, ~last);
    ++stamp_;
    level = levels = 0;
    level_stamp_.resize(store_.level() + 1, 0);
    for (size_t i = 0; i < lower_.size(); ++i) {  // which may grow
        const Literal literal = lower_[i];
        if (is_redundant(literal)) continue;
        const int32_t q = vertex_of(literal), x = store_.variable_of(q);
        const int32_t own = store_.trail()[index_of(literal)].level;
        // That it is not here follows from where it is.
        const int32_t taken = literal >= 0 && store_.fixed(x) ? store_.vertex(x, store_.first(x)) : -1;
        if (taken >= 0 && seen_[1][taken] && store_.trail()[index_of(at(taken))].level < store_.level()) continue;
        clause.push_back(~literal);
        if (own > level) {
            level = own;
            std::swap(clause[1], clause.back());
        }
        if (level_stamp_[own] != stamp_) {
            level_stamp_[own] = stamp_;
            ++levels;
        }
    }
    if (clause.size() > kLongestClause && clause.size() > size_t(store_.level())) blame_decisions();
    for (Literal literal : marked_) seen_[literal < 0][vertex_of(literal)] = 0;
    for (int32_t x : variables) met_[x] = 0;
}

// Whether a literal below the last level follows from others of the clause. One that follows from a single literal gives
// way to it: where values are taken many follow from the same, and clauses become half as long and less.
bool Conflict::is_redundant(Literal literal) {
    if (literal < 0) return false;
    network_.explain(store_.removed_at(literal), why_);
    count_effort();
    for (Literal& each : why_.literals) {
        const int32_t q = vertex_of(each), x = store_.variable_of(q);
        if (each >= 0 && store_.trail()[store_.removed_at(q)].reason.cause == Cause::decision)
            each = at(store_.vertex(x, store_.first(x)));
    }
    const bool all = std::all_of(why_.literals.begin(), why_.literals.end(),
                                 [&](Literal each) { return seen_[each < 0][vertex_of(each)]; });
    if (!all && why_.literals.size() == 1) {
        see(why_.literals[0]);
        return true;
    }
    return all;
}

void Conflict::blame_decisions() {
    clause.clear();
    for (int32_t l = store_.level(); l > 0; --l) {
        const int32_t x = store_.variable_of(store_.trail()[store_.trail_start(l)].vertex);
        clause.push_back(not_at(store_.vertex(x, store_.first(x))));
    }
    level = store_.level() - 1;
    levels = store_.level();
}

}  // namespace anycsp::propagation
