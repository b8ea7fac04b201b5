#include "propagation/network.h"

#include <algorithm>

namespace anycsp::propagation {

Network::Network(std::shared_ptr<const Problem> problem, const std::vector<FamilyArrays>& arrays,
                 const std::vector<uint8_t>& enforced, ExternalLabels external, Clock::time_point built_by, bool orders)
    : disjunctions_(find_disjunctions(*problem, arrays, enforced)),
      variables_(problem->variables),
      problem_(with_orders(std::move(problem), orders ? disjunctions_.size() : 0)),
      external_(std::move(external)),
      store_(*problem_),
      clauses_(*problem_),
      tables_(make_tables()),
      watches_(problem_->variables),
      conflicts_(problem_->variables) {
    std::vector<uint8_t> ordered(problem_->constraints, 0);
    if (orders)
        for (size_t i = 0; i < disjunctions_.size(); ++i) {
            ordered[disjunctions_[i].constraint] = 1;
            propagators_.push_back(make_precedence(disjunctions_[i], variables_ + static_cast<int32_t>(i)));
        }
    for (int32_t c = 0; c < problem_->constraints; ++c) {
        if ((c & 15) == 0 && Clock::now() >= built_by) throw OutOfTime();
        if (enforced[c] && !ordered[c]) add(c, arrays);
    }
    add_machines(disjunctions_, propagators_);
    for (size_t p = 0; p < propagators_.size(); ++p) {
        propagators_[p]->id = static_cast<int32_t>(p);
        std::vector<int32_t> scope = propagators_[p]->scope;
        std::sort(scope.begin(), scope.end());
        scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
        for (int32_t x : scope) watches_[x].push_back({static_cast<int32_t>(p), propagators_[p]->wakes_on});
        schedule(*propagators_[p]);
    }
}

void Network::add(int32_t c, const std::vector<FamilyArrays>& arrays) {
    const int32_t family = problem_->family_of[c];
    const Family& f = problem_->families[family];
    const int32_t begin = problem_->scope_start[c], end = problem_->scope_start[c + 1];
    const int32_t first_slot = problem_->scope_start[f.first_constraint];
    switch (f.kind) {
        case Kind::clause: {
            std::vector<int32_t> literals;
            for (int32_t s = begin; s < end; ++s) {
                const int32_t position = f.forbidden[s - first_slot];
                if (position < 0) return;
                literals.push_back(problem_->value_start[problem_->scope[s]] + position);
            }
            if (!clauses_.add(store_, std::move(literals), c)) {
                impossible_ = true;
                failed = c;
            }
            return;
        }
        case Kind::matching: {
            const int32_t x = problem_->scope[begin], y = problem_->scope[begin + 1];
            conflicts_[x].push_back({y, c, f.conflict.data() + f.offset[begin + 1 - first_slot]});
            conflicts_[y].push_back({x, c, f.conflict.data() + f.offset[begin - first_slot]});
            return;
        }
        case Kind::dense: return add_dense(store_, f, c, *tables_, propagators_);
        case Kind::tuples: return add_tuples(store_, f, c, *tables_, propagators_);
        case Kind::linear: return add_linear(store_, f, c, propagators_);
        case Kind::sum: return add_sum(store_, f, c, propagators_);
        case Kind::all_different: return add_all_different(store_, f, c, propagators_);
        case Kind::external: return add_external(store_, c, external_, propagators_);
        case Kind::evaluated: break;
    }
    const FamilyArrays& own = arrays[family];
    if (own.kind == "rule") add_rule(store_, f, own, c, *tables_, propagators_);
    if (own.kind == "extremum") add_extremum(store_, f, own, c, propagators_);
    if (own.kind == "distinct") add_distinct(store_, f, own, c, propagators_);
    if (own.kind == "short_tuples") add_short_tuples(store_, f, own, c, *tables_, propagators_);
}

Propagator* Network::find(int32_t constraint) {
    for (auto& propagator : propagators_)
        if (propagator->constraint == constraint) return propagator.get();
    return nullptr;
}

void Network::schedule(Propagator& propagator) {
    if (propagator.scheduled) return;
    propagator.scheduled = true;
    queue_[propagator.priority].push_back(propagator.id);
}

bool Network::pass_on_fixed(int32_t x) {
    const int32_t position = store_.first(x);
    for (const Conflict& conflict : conflicts_[x]) {
        const int32_t gone = conflict.of[position];
        store_.reason = {Cause::value, store_.vertex(x, position)};
        if (gone >= 0 && !store_.remove(conflict.partner, gone)) {
            failed = conflict.constraint;
            failure_ = store_.reason;
            return false;
        }
    }
    if (clauses_.fixed(store_, x, position, failed)) return true;
    failure_ = {Cause::clause, clauses_.last_failed};
    return false;
}

bool Network::take_changes() {
    if (store_.recording() && !pass_on_to_learnt()) return false;
    while (store_.any_changed()) {
        const Store::Change change = store_.take_change();
        if ((change.events & kFixed) && !pass_on_fixed(change.variable)) return false;
        for (const Watch& watch : watches_[change.variable]) {
            if (!(watch.events & change.events)) continue;
            Propagator& propagator = *propagators_[watch.propagator];
            if (propagator.scheduled || (propagator.idempotent && change.by == watch.propagator)) continue;
            propagator.scheduled = true;
            queue_[propagator.priority].push_back(watch.propagator);
        }
        if (store_.recording() && !pass_on_to_learnt()) return false;
    }
    return true;
}

bool Network::pass_on_to_learnt() {
    int32_t clause = -1;
    if (learnt_->propagate(store_, clause)) return true;
    failure_ = {Cause::learnt, clause};
    return false;
}

bool Network::learn(bool wanted, size_t most_clauses) {
    store_.record(wanted);
    if (!wanted) return true;
    if (!learnt_) learnt_ = std::make_unique<Learnt>(store_);
    return learnt_->renew(store_, most_clauses);
}

void Network::explain_failure(Explanation& why) {
    const int32_t x = store_.emptied();
    if (x < 0) {
        why.begin(static_cast<int32_t>(store_.trail().size()));
        return explain(failure_, -1, -1, why);
    }
    // Why its last value went, and that it had lost the others: that it lost the last one says the same twice.
    int32_t last = 0, latest = Store::kAtRoot, before = Store::kAtRoot;
    for (int32_t v = 0; v < problem_->domain_size(x); ++v) {
        const int32_t index = store_.removed_at(store_.vertex(x, v));
        if (index > latest)
            before = latest, latest = index, last = v;
        else
            before = std::max(before, index);
    }
    if (latest == Store::kAtRoot) return why.begin(0);
    explain(latest, why);
    if (before == store_.fixed_at(x) && store_.first(x) == last) return why.fixed(x);
    for (int32_t v = 0; v < problem_->domain_size(x); ++v)
        if (v != last) why.gone(x, v);
}

void Network::explain(int32_t index, Explanation& why) {
    const Removal& removal = store_.trail()[index];
    const int32_t x = store_.variable_of(removal.vertex);
    why.begin(index);
    explain(removal.reason, x, removal.vertex - store_.vertex(x, 0), why);
}

void Network::explain(Reason reason, int32_t x, int32_t position, Explanation& why) {
    switch (reason.cause) {
        case Cause::decision: return;
        case Cause::propagator: return propagators_[reason.of]->explain(x, position, why);
        case Cause::clause: return clauses_.explain(reason.of, x, why);
        case Cause::learnt: return learnt_->explain(reason.of, x, why);
        case Cause::value: return why.fixed(store_.variable_of(reason.of));
    }
}

bool Network::give_up() {
    store_.forget_changes();
    store_.running = -1;
    for (auto& queue : queue_) {
        for (int32_t p : queue) propagators_[p]->scheduled = false;
        queue.clear();
    }
    return false;
}

bool Network::propagate() {
    if (impossible_) return false;
    failed = -1;
    late = false;
    for (;;) {
        if (!take_changes()) return give_up();
        int32_t next = -1;
        for (auto& queue : queue_)
            if (!queue.empty()) {
                next = queue.back();
                queue.pop_back();
                break;
            }
        if (next < 0) return true;
        Propagator& propagator = *propagators_[next];
        propagator.scheduled = false;
        store_.running = next;
        store_.reason = {Cause::propagator, next};
        const bool possible = propagator.propagate(store_);
        store_.running = -1;
        if (!possible) {
            failed = propagator.constraint;
            failure_ = {Cause::propagator, next};
            return give_up();
        }
        if ((++runs & 63) == 0 && Clock::now() >= deadline) {
            late = true;
            give_up();
            return true;
        }
    }
}

bool Network::probe(int64_t most_barren) {
    int64_t barren = 0;
    for (bool again = true; again;) {
        again = false;
        for (int32_t x = 0; x < problem_->variables; ++x) {
            if (store_.fixed(x)) continue;
            for (int32_t v = store_.first(x); v >= 0;) {
                const int32_t next = store_.next(x, v);
                store_.push();
                const bool possible = store_.fix(x, v) && propagate();
                const bool stopped = late;
                store_.pop();
                if (stopped || Clock::now() >= deadline) return true;
                if (possible && ++barren >= most_barren) return true;
                if (!possible) {
                    barren = 0;
                    if (!store_.remove(x, v) || !propagate()) return false;
                    if (late) return true;
                    again = true;
                    if (store_.fixed(x)) break;
                    if (next >= 0 && !store_.has(x, next)) {
                        v = store_.next(x, v);
                        continue;
                    }
                }
                v = next;
            }
        }
    }
    return true;
}

}  // namespace anycsp::propagation
