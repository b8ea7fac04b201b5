#include "propagation/tree_search.h"

#include <algorithm>

namespace anycsp::propagation {
namespace {

constexpr double kFirstCutoff = 10, kCutoffGrowth = 1.1;  // those of ACE: quick restarts while weights are young
constexpr size_t kLongestNogood = 20;                     // longer ones hardly ever become unit
constexpr int64_t kNeighbourhoodFailures = 150;
constexpr int64_t kPatience = 5000;  // failures before a solution that others found is good enough to stay near
constexpr int32_t kWideDomain = 32;  // values from which on a variable is kept in a window, of this part of its range
constexpr double kWindow = 0.03;
constexpr double kWholeShare = 0.2;  // of the failures go into the whole problem, so that it can be exhausted

constexpr int64_t kLessonFailures = 64;                     // the unit of Luby's sequence, by which learning restarts
constexpr size_t kFirstClauses = 4000, kMoreClauses = 500;  // kept at first, and more each time that half of them go
constexpr double kActivityGrowth = 1 / 0.95, kLargestActivity = 1e100;  // those of MiniSat
constexpr double kBlameMemory = 1.0 / 256;                              // of a failure in the mean of the last ones
// A failure that depends on nearly all decisions teaches no more than plain branching knows: from this share of them on
// less is learnt, down to a sixteenth of the effort. Learning pays where it is 0.6 to 0.85, and not where it is 0.98
// (research/local-search.md).
constexpr double kBlamedTooMuch = 0.9, kLeastLearning = 1.0 / 16;
constexpr int32_t kMostLearntValues = 1 << 18;  // of a problem: some fifty bytes are kept for each
constexpr int32_t kMostExplained = 1 << 14;  // values of a scope: a conflict asks a thousand times, within milliseconds

bool explains_quickly(const Problem& problem) {
    if (problem.values() > kMostLearntValues) return false;
    for (int32_t c = 0; c < problem.constraints; ++c) {
        int64_t values = 0;
        for (int32_t s = problem.scope_start[c]; s < problem.scope_start[c + 1]; ++s)
            values += problem.domain_size(problem.scope[s]);
        if (values > kMostExplained) return false;
    }
    return true;
}

// 1 1 2 1 1 2 4 …: no other sequence is better by more than a logarithm where nothing is known (Luby et al. 1993).
int64_t luby(int64_t i) {
    int64_t size = 1;
    while (size < i + 1) size = 2 * size + 1;
    while (size - 1 != i) {
        size = (size - 1) / 2;
        i %= size;
    }
    return (size + 1) / 2;
}

}  // namespace

TreeSearch::TreeSearch(std::unique_ptr<Network> network, std::vector<uint8_t> decisions, int32_t objective,
                       uint64_t seed)
    : network_(std::move(network)),
      store_(network_->store()),
      decision_(std::move(decisions)),
      random_(seed, 0),
      cutoff_(kFirstCutoff) {
    const Problem& problem = network_->problem();
    weight_.assign(problem.variables, 0);
    for (int32_t x = 0; x < problem.variables; ++x)
        weight_[x] = 1e-3 + problem.variable_slot_start[x + 1] - problem.variable_slot_start[x];
    preferred_.assign(problem.variables, -1);
    slot_in_objective_.assign(problem.variables, -1);
    if (objective >= 0) {
        objective_ = network_->find(objective);
        for (size_t i = 0; i < objective_->scope.size(); ++i)
            slot_in_objective_[objective_->scope[i]] = static_cast<int32_t>(i);
    }
    // A variable that is the objective follows from the others; tried first, its values would be refuted one by one.
    if (objective_ && objective_->scope.size() == 1) decision_[objective_->scope[0]] = 0;
    // Starting times follow from the order of their tasks, and so do ends and other times: they are branched on last.
    first_order_ = network_->variables();
    decision_.resize(problem.variables, 1);
    for (const Disjunction& d : network_->disjunctions())
        for (int32_t task : d.task) {
            if (decision_[task]) tasks_.push_back(task);
            decision_[task] = 0;
        }
    for (int32_t x = 0; x < first_order_ && !tasks_.empty(); ++x)
        if (problem.domain_size(x) >= kWideDomain) decision_[x] = 0;
    freed_ = std::max(8.0, 0.1 * movable());
    failures_left_ = static_cast<int64_t>(cutoff_);
    can_learn_ = tasks_.empty() && explains_quickly(problem);
    most_clauses_ = kFirstClauses;
}

int64_t TreeSearch::advance(int64_t max_nodes, double seconds) {
    const int64_t from = nodes_;
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(std::min(seconds, 1e7)));
    found_ = false;
    if (!begun_ && !begin()) return 0;
    int64_t glance = 0;
    while (!exhausted_ && !found_ && nodes_ - from < max_nodes) {
        if ((++glance & 7) == 0 && Clock::now() >= deadline) break;
        if (network_->late) break;
        step();
    }
    return nodes_ - from;
}

bool TreeSearch::begin() {
    begun_ = true;
    if (network_->propagate()) {
        if (mode_ == Learning::always) choose_mode();
        return !exhausted_;
    }
    root_failure_ = network_->failed;
    exhausted_ = true;
    return false;
}

void TreeSearch::suggest(const int32_t* positions, bool solution) {
    preferred_.assign(positions, positions + first_order_);
    for (const Disjunction& d : network_->disjunctions())
        preferred_.push_back(store_.value(d.task[0], positions[d.task[0]]) + d.length[0] >
                             store_.value(d.task[1], positions[d.task[1]]));
    if (!solution || !objective_) return;
    back_to(0);
    in_neighbourhood_ = false;
    best_ = preferred_;
    ++solutions_;
    if (objective_->demand_better(network_->problem(), positions)) network_->schedule(*objective_);
    if (begun_ && !exhausted_ && !network_->propagate()) exhausted_ = true;
}

void TreeSearch::enumerate(std::vector<uint8_t> flagged) {
    decision_ = std::move(flagged);
    decision_.resize(network_->problem().variables, 0);
    enumerates_ = true;
    can_learn_ = false;  // a clause would have to be kept for good where it forbids a solution that was found
}

void TreeSearch::step() {
    if (store_.unfixed_count() == 0) return solved();
    const bool near = own_solution_ || failures_ >= kPatience;
    const bool at_root = branches_.empty() && store_.level() == 0;
    if (objective_ && solutions_ && near && at_root && !in_neighbourhood_ && failures_ >= rest_until_) {
        set_learning(false);
        open_neighbourhood();
    }
    if (exhausted_ || store_.unfixed_count() == 0) return;
    if (learning_) return learning_step();
    const int32_t x = pick_variable(), position = pick_position(x);
    store_.push();
    branches_.push_back({x, position});
    ++nodes_;
    if (!store_.fix(x, position) || !network_->propagate()) refute();
}

// The last branch has failed: its opposite holds on the level below, and so on while that fails too.
void TreeSearch::refute() {
    for (;;) {
        give_more_weight(network_->failed);
        ++failures_;
        --failures_left_;
        if (branches_.empty()) {
            if (in_neighbourhood_) return close_neighbourhood(true);
            exhausted_ = true;
            return;
        }
        const Branch failed = branches_.back();
        branches_.pop_back();
        store_.pop();
        last_conflict_ = failed.variable;
        const auto level = static_cast<int32_t>(branches_.size());
        while (!refuted_.empty() && refuted_.back().level > level) refuted_.pop_back();
        refuted_.push_back({level, literal(failed)});
        // What was enumerated would be found once more after a restart.
        const bool restarts = failures_left_ <= 0 && level > 0 && !(enumerates_ && solutions_ > 0);
        if (restarts) return in_neighbourhood_ ? close_neighbourhood(false) : restart();
        network_->failed = -1;
        if (store_.remove(failed.variable, failed.position) && network_->propagate()) return;
    }
}

void TreeSearch::solved() {
    const Problem& problem = network_->problem();
    best_.resize(problem.variables);
    for (int32_t x = 0; x < problem.variables; ++x) best_[x] = store_.first(x);
    preferred_ = best_;
    ++solutions_;
    found_ = own_solution_ = true;
    if (enumerates_) return go_on();
    if (!objective_ || !objective_->demand_better(problem, best_.data())) {
        exhausted_ = true;
        return;
    }
    if (in_neighbourhood_) {
        refuted_.clear();
        back_to(0);
        in_neighbourhood_ = false;
    } else {
        learn_nogoods();
        back_to(0);
    }
    network_->schedule(*objective_);
    if (!network_->propagate()) exhausted_ = true;
}

// As if the last branch on a variable that counts had failed: below it there are only solutions that are alike in all
// of these.
void TreeSearch::go_on() {
    while (!branches_.empty() && !decision_[branches_.back().variable]) {
        branches_.pop_back();
        store_.pop();
    }
    network_->failed = -1;
    refute();
}

void TreeSearch::restart() {
    if (learning_) {
        go_back_to(0);
    } else {
        learn_nogoods();
        back_to(0);
        ++restarts_;
        cutoff_ *= kCutoffGrowth;
        random_positions_ = restarts_ % 4 == 3;
    }
    failures_left_ = static_cast<int64_t>(cutoff_);
    if (!network_->propagate()) exhausted_ = true;
    if (!exhausted_) choose_mode();
}

// ── learning ─────────────────────────────────────────────────────────────────────────────────────────────────────

void TreeSearch::learning_step() {
    if (failures_left_ <= 0) return restart();
    const int32_t x = pick_variable(), position = pick_position(x);
    store_.push();
    store_.reason = {Cause::decision, -1};
    ++nodes_;
    bool possible = store_.fix(x, position) && network_->propagate();
    while (!possible) {
        give_more_weight(network_->failed);
        ++failures_;
        --failures_left_;
        if (!conflict_->analyse()) {
            exhausted_ = true;
            return;
        }
        possible = learn_from_failure() && network_->propagate();
        if (network_->late) return;
    }
}

// Step back to where the clause tells something new, and let it.
bool TreeSearch::learn_from_failure() {
    for (int32_t x : conflict_->variables) {
        activity_[x] += activity_step_;
        if (activity_[x] > kLargestActivity) {
            for (double& activity : activity_) activity /= kLargestActivity;
            activity_step_ /= kLargestActivity;
        }
    }
    activity_step_ *= kActivityGrowth;
    blamed_ += kBlameMemory * (double(conflict_->levels + 1) / double(store_.level()) - blamed_);
    const std::vector<Literal>& clause = conflict_->clause;
    go_back_to(conflict_->level);
    int32_t reason = -1;
    if (clause.size() > 1) reason = network_->learnt().add(clause, conflict_->levels);
    store_.reason = {Cause::learnt, reason};
    return Learnt::make_true(store_, clause[0]);
}

void TreeSearch::go_back_to(int32_t level) {
    if (store_.level() <= level) return;
    const auto& trail = store_.trail();
    for (size_t i = store_.trail_start(level + 1); i < trail.size(); ++i) {
        const int32_t x = store_.variable_of(trail[i].vertex);
        if (store_.fixed(x)) phase_[x] = store_.first(x);
    }
    while (store_.level() > level) store_.pop();
}

double TreeSearch::learning_share() const {
    const double beyond = std::clamp((blamed_ - kBlamedTooMuch) / (1 - kBlamedTooMuch), 0.0, 1.0);
    return 0.5 + beyond * (kLeastLearning - 0.5);
}

// At the root: the mode that has had less than its share. Solutions are improved in neighbourhoods, which are too short to learn in.
void TreeSearch::choose_mode() {
    const int64_t effort = network_->runs + (conflict_ ? conflict_->effort : 0);
    effort_[learning_] += effort - effort_before_;
    effort_before_ = effort;
    bool wanted = can_learn_ && mode_ != Learning::never && !(objective_ && solutions_ > 0);
    const double spent = double(effort_[1]) / double(std::max<int64_t>(1, effort_[0] + effort_[1]));
    if (mode_ == Learning::half && spent > learning_share()) wanted = false;
    if (!set_learning(wanted)) exhausted_ = true;
}

bool TreeSearch::set_learning(bool wanted) {
    if (!wanted && !learning_) return true;
    learning_ = wanted;
    if (wanted && !conflict_) {
        conflict_ = std::make_unique<Conflict>(*network_);
        activity_ = weight_;
        phase_ = preferred_;
    }
    if (wanted) {
        failures_left_ = kLessonFailures * luby(lessons_++);
    }
    const size_t most = most_clauses_;
    if (wanted && network_->clauses_learnt() > most) most_clauses_ += kMoreClauses;
    return network_->learn(wanted, most) && (!wanted || network_->propagate());
}

std::vector<std::vector<int32_t>> TreeSearch::learnt() {
    std::vector<std::vector<int32_t>> result;
    if (conflict_)
        for (size_t i = 0; i < network_->clauses_learnt(); ++i)
            result.push_back(network_->learnt().literals(static_cast<int32_t>(i)));
    return result;
}

// Every refuted branch is a clause: not all positive branches above it together with it.
void TreeSearch::learn_nogoods() {
    std::vector<std::vector<int32_t>> nogoods;
    for (const Refuted& r : refuted_) {
        if (r.level > static_cast<int32_t>(std::min(branches_.size(), kLongestNogood))) continue;
        std::vector<int32_t> nogood{r.literal};
        for (int32_t i = 0; i < r.level; ++i) nogood.push_back(literal(branches_[i]));
        nogoods.push_back(std::move(nogood));
    }
    refuted_.clear();
    back_to(0);
    for (auto& nogood : nogoods)
        if (!network_->forbid(std::move(nogood))) exhausted_ = true;
}

void TreeSearch::back_to(int32_t level) {
    while (store_.level() > level) store_.pop();
    branches_.clear();
    if (level == 0) refuted_.clear();
}

void TreeSearch::give_more_weight(int32_t constraint) {
    if (constraint < 0) return;
    const Problem& problem = network_->problem();
    for (int32_t s = problem.scope_start[constraint]; s < problem.scope_start[constraint + 1]; ++s)
        weight_[problem.scope[s]] += 1;
}

// ── branching ────────────────────────────────────────────────────────────────────────────────────────────────────

int32_t TreeSearch::pick_variable() {
    const bool may_return = last_conflict_ >= 0 && (!enumerates_ || decision_[last_conflict_]);
    if (!learning_ && may_return && !store_.fixed(last_conflict_)) return last_conflict_;
    int32_t best = -1, ties = 0;
    bool decides = false;
    double best_score = 0;
    for (int32_t i = 0; i < store_.unfixed_count(); ++i) {
        const int32_t x = store_.unfixed(i);
        if (decides && !decision_[x]) continue;
        const double score = urgency(x);
        const bool first = best < 0 || (decision_[x] && !decides);
        if (first || score > best_score) {
            best = x, best_score = score, ties = 1;
            decides = decision_[x];
        } else if (score == best_score && random_.below(static_cast<uint32_t>(++ties)) == 0) {
            best = x;
        }
    }
    return best;
}

// Failures over values left; for the order of two tasks those of their starting times.
double TreeSearch::urgency(int32_t x) const {
    if (learning_) return activity_[x] / store_.size(x);
    if (x < first_order_) return weight_[x] / store_.size(x);
    const Disjunction& d = network_->disjunctions()[x - first_order_];
    return (weight_[d.task[0]] + weight_[d.task[1]]) / (store_.size(d.task[0]) + store_.size(d.task[1]));
}

// The order that leaves more time.
int32_t TreeSearch::roomier(const Disjunction& d) const {
    const int64_t first = store_.high(d.task[1]) - store_.low(d.task[0]) - d.length[0],
                  second = store_.high(d.task[0]) - store_.low(d.task[1]) - d.length[1];
    return first >= second ? 0 : 1;
}

// Near the best solution what it has; elsewhere, in turns of restarts, what is best for the objective, the first
// position, a suggested or a random one: no single order is good for every problem.
int32_t TreeSearch::pick_position(int32_t x) {
    if (learning_) {
        if (phase_[x] >= 0 && store_.has(x, phase_[x])) return phase_[x];
        if (slot_in_objective_[x] >= 0) return objective_->favourite(store_, slot_in_objective_[x]);
        return store_.first(x);
    }
    const bool near = (in_neighbourhood_ ? !windows_ : restarts_ % 2 == 1) && (decision_[x] || tasks_.empty());
    if (near && preferred_[x] >= 0 && store_.has(x, preferred_[x])) return preferred_[x];
    if (random_positions_ && (decision_[x] || tasks_.empty())) {
        int32_t k = static_cast<int32_t>(random_.below(static_cast<uint32_t>(store_.size(x)))),
                position = store_.first(x);
        while (k-- > 0) position = store_.next(x, position);
        return position;
    }
    if (x >= first_order_) return roomier(network_->disjunctions()[x - first_order_]);
    if (slot_in_objective_[x] >= 0) return objective_->favourite(store_, slot_in_objective_[x]);
    return store_.first(x);
}

// ── large neighbourhoods ─────────────────────────────────────────────────────────────────────────────────────────

void TreeSearch::open_neighbourhood() {
    const int32_t n = network_->problem().variables;
    std::vector<uint8_t> free(n, 0);
    free_around(static_cast<int32_t>(freed_), free);
    std::vector<int32_t> kept;
    for (int32_t x = 0; x < n; ++x)
        if (decision_[x] && !free[x] && !store_.fixed(x)) kept.push_back(x);
    for (size_t i = kept.size(); i > 1; --i) std::swap(kept[i - 1], kept[random_.below(static_cast<uint32_t>(i))]);
    store_.push();
    in_neighbourhood_ = true;
    ++neighbourhoods_;
    // What propagation has decided by then is left to it: the demand for a better solution may need it free.
    windows_ = neighbourhoods_ % 3 == 0;
    for (int32_t x : kept) {
        if (store_.fixed(x) || !store_.has(x, best_[x])) continue;
        store_.push();
        if (!keep_near(x) || !network_->propagate()) {
            give_more_weight(network_->failed);
            store_.pop();
            ++failures_;
            break;
        }
    }
    failures_left_ = kNeighbourhoodFailures;
    last_conflict_ = -1;
}

// At its position in the best solution; in a third of the neighbourhoods a wide variable, such as a starting time, may
// move within a window around it, since fixed times leave no room for an exchange.
bool TreeSearch::keep_near(int32_t x) {
    const Problem& problem = network_->problem();
    const int32_t size = problem.domain_size(x);
    if (!windows_ || size < kWideDomain) return store_.fix(x, best_[x]);
    const int64_t low = problem.value[problem.value_start[x]], high = problem.value[problem.value_start[x + 1] - 1];
    const int64_t room = std::max<int64_t>(1, static_cast<int64_t>(double(std::abs(high - low)) * kWindow));
    const int64_t now = store_.value(x, best_[x]);
    return store_.at_least(x, now - room) && store_.at_most(x, now + room);
}

void TreeSearch::close_neighbourhood(bool complete) {
    back_to(0);
    in_neighbourhood_ = false;
    freed_ = std::clamp(complete ? freed_ * 1.03 + 0.1 : freed_ * 0.97, 4.0, std::max(8.0, 0.8 * movable()));
    failures_left_ = static_cast<int64_t>(cutoff_);
    last_conflict_ = -1;
    if (neighbourhoods_ % 8 == 0)
        rest_until_ = failures_ + static_cast<int64_t>(kWholeShare * 8 * kNeighbourhoodFailures);
}

double TreeSearch::movable() const {
    if (!tasks_.empty()) return static_cast<double>(tasks_.size());
    double count = 0;
    for (uint8_t d : decision_) count += d;
    return count;
}

// Some tasks, drawn at random or all that begin around the same time in the best solution, and every order that one of
// them is part of.
void TreeSearch::free_tasks(int32_t target, std::vector<uint8_t>& free) {
    const int32_t centre = tasks_[random_.below(static_cast<uint32_t>(tasks_.size()))];
    const int64_t now = store_.value(centre, best_[centre]);
    std::vector<std::pair<int64_t, int32_t>> ranked;
    const bool by_time = random_.below(2) == 0;
    for (int32_t x : tasks_) {
        const int64_t away = std::abs(store_.value(x, best_[x]) - now);
        ranked.push_back({by_time ? away : static_cast<int64_t>(random_.below(1 << 30)), x});
    }
    const auto many = std::min(ranked.size(), static_cast<size_t>(target));
    std::partial_sort(ranked.begin(), ranked.begin() + many, ranked.end());
    for (size_t i = 0; i < many; ++i) free[ranked[i].second] = 1;
    for (size_t i = 0; i < network_->disjunctions().size(); ++i) {
        const Disjunction& d = network_->disjunctions()[i];
        free[first_order_ + i] = free[d.task[0]] || free[d.task[1]];
    }
}

// Half of the neighbourhoods are drawn at random, half grow along the constraints from one variable.
void TreeSearch::free_around(int32_t target, std::vector<uint8_t>& free) {
    if (!tasks_.empty()) free_tasks(target, free);
    const Problem& problem = network_->problem();
    std::vector<int32_t> all;
    for (int32_t x = 0; x < problem.variables; ++x)
        if (decision_[x] && x < first_order_ && !store_.fixed(x)) all.push_back(x);
    if (all.empty()) return;
    int32_t count = 0;
    const auto release = [&](int32_t x) {
        if (free[x] || !decision_[x] || store_.fixed(x)) return false;
        free[x] = 1;
        ++count;
        return true;
    };
    if (random_.below(2) == 0) {
        while (count < std::min<int32_t>(target, static_cast<int32_t>(all.size())))
            release(all[random_.below(static_cast<uint32_t>(all.size()))]);
        return;
    }
    std::vector<int32_t> frontier{all[random_.below(static_cast<uint32_t>(all.size()))]};
    release(frontier[0]);
    for (int32_t tries = 0; count < target && tries < 20 * target; ++tries) {
        const int32_t x = frontier[random_.below(static_cast<uint32_t>(frontier.size()))];
        const int32_t from = problem.variable_slot_start[x], degree = problem.variable_slot_start[x + 1] - from;
        if (degree == 0) continue;
        const int32_t c =
            problem.slot_constraint[problem.variable_slot[from + random_.below(static_cast<uint32_t>(degree))]];
        const int32_t arity = problem.scope_start[c + 1] - problem.scope_start[c];
        const int32_t y = problem.scope[problem.scope_start[c] + random_.below(static_cast<uint32_t>(arity))];
        if (release(y))
            frontier.push_back(y);
        else if (!decision_[y] && y != x)
            frontier.push_back(y);
    }
}

}  // namespace anycsp::propagation
