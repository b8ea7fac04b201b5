#include "invariants/search.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "families/operations.h"

namespace anycsp::invariants {
namespace {

constexpr int kSamples = 500;  // proposals that scales are measured by
constexpr double kHotRate = 0.07,
                 kColdRate = 0.001;  // uphill moves accepted, as local/strategies/annealing.cpp has them
constexpr double kProbeStart = 2.0, kProbeCooling = 0.9;
constexpr int kProbeSweeps = 4, kMostProbes = 200;
constexpr int64_t kFirstCycle = 256;  // sweeps
constexpr double kGrowth = 1.5;       // of the next cycle
constexpr int64_t kShortestSweep = 64;
constexpr double kHeavier = 1.6, kLighter = 1.25;  // what must hold, after a cycle that fails or succeeds
constexpr double kLightest = 0.05, kHeaviest = 1e6;
constexpr double kFocus = 0.75;  // of the moves begin at a violated constraint, where there is one
constexpr int64_t kGlance = 32;  // moves between looks at the clock

// The change that takes a difference to one that satisfies.
int64_t way_to(int32_t comparison, int64_t difference) {
    switch (comparison) {
        case LE:
        case GE:
        case EQ: return -difference;
        case LT: return -difference - 1;
        case GT: return 1 - difference;
        default: return 0;
    }
}

// Away from zero, so that the part is enough.
int64_t divided(int64_t change, int64_t by) {
    const int64_t quotient = change / by;
    return quotient * by == change ? quotient : quotient + ((change < 0) == (by < 0) ? 1 : -1);
}

}  // namespace

Search::Search(std::shared_ptr<const Model> model, uint64_t seed, uint64_t run)
    : model_(std::move(model)),
      problem_(model_->problem()),
      random_(seed, run),
      run_(run),
      state_(model_->graph(), model_->roots()),
      move_(*model_, state_, random_),
      place_(problem_.constraints, -1),
      best_positions_(problem_.variables, 0),
      scale_(problem_.constraints + 1, 1.0),
      sweep_(std::max<int64_t>(kShortestSweep, model_->decisions().size())) {}

std::vector<std::pair<int32_t, int64_t>> Search::node_values(const std::vector<int64_t>& values) const {
    std::vector<std::pair<int32_t, int64_t>> result;
    for (int32_t x : model_->decisions()) result.push_back({model_->node(x), values[x]});
    return result;
}

// Of all decisions: as given, elsewhere drawn.
std::vector<int64_t> Search::values_of(const int32_t* positions) {
    std::vector<int64_t> values(problem_.variables, 0);
    for (int32_t x : model_->decisions()) {
        const auto& choices = model_->choices(x);
        const bool known = positions && std::binary_search(choices.begin(), choices.end(), positions[x]);
        values[x] =
            model_->value(x, known ? positions[x] : choices[random_.below(static_cast<uint32_t>(choices.size()))]);
    }
    return values;
}

void Search::place(const int32_t* positions) {
    std::vector<int64_t> values = values_of(positions);
    move_.repair(values);
    state_.place(node_values(values));
    count_all();
}

void Search::start(const int32_t* positions) {
    began_ = Clock::now();
    moves_ = 0;
    improvements_.clear();
    place(positions);
    best_ = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    best_objective_ = INT64_MAX;
    keep_if_best();
    if (model_->decisions().empty()) return;
    calibrate();
    probing_ = true;
    temperature_ = hot_ = cold_ = kProbeStart;
    probes_ = cycle_ = in_sweep_ = uphill_ = proposals_ = 0;
    sweeps_left_ = kProbeSweeps;
}

void Search::count_all() {
    now_ = {};
    violated_.clear();
    std::fill(place_.begin(), place_.end(), -1);
    for (int32_t c = 0; c < problem_.constraints; ++c) {
        const int32_t root = model_->roots()[c];
        if (root >= 0 && state_.value(root) > 0) take({c, 0, state_.value(root)});
    }
    objective_ = model_->has_objective() ? model_->objective_sign() * state_.value(model_->roots().back()) : 0;
}

// A root has changed for good.
void Search::take(const State::Change& change) {
    const int32_t c = change.root;
    if (c == model_->objective_root()) {
        objective_ = model_->objective_sign() * change.after;
        return;
    }
    if ((change.before > 0) == (change.after > 0)) return;
    const int64_t sign = change.after > 0 ? 1 : -1;
    now_.violated += sign;
    now_.hard += sign * problem_.hard[c];
    now_.weight += sign * problem_.weight[c];
    now_.score += sign * problem_.score[c];
    if (sign > 0) {
        place_[c] = static_cast<int32_t>(violated_.size());
        violated_.push_back(c);
    } else {
        place_[violated_.back()] = place_[c];
        violated_[place_[c]] = violated_.back();
        violated_.pop_back();
        place_[c] = -1;
    }
}

double Search::weigh(int32_t root, int64_t value) const {
    if (root == model_->objective_root()) return wished_ * scale_[root] * double(model_->objective_sign() * value);
    if (!model_->enforced(root)) return value > 0 ? wished_ * scale_[root] : 0.0;
    return required_ * scale_[root] * double(value);
}

double Search::change_of(const State::Change& change) const {
    return weigh(change.root, change.after) - weigh(change.root, change.before);
}

// Scales that make a typical change of each penalty, and one of all that is wished for, weigh 1.
void Search::calibrate() {
    std::vector<double> total(scale_.size(), 0.0), count(scale_.size(), 0.0);
    std::vector<double> soft(scale_.size(), 0.0);
    for (int32_t c = 0; c < problem_.constraints; ++c) soft[c] = double(problem_.weight[c]);
    soft.back() = 1.0;
    double wished = 0.0, wishes = 0.0;
    for (int k = 0; k < kSamples; ++k) {
        const auto& decisions = model_->decisions();
        const auto& proposal = move_.propose(decisions[random_.below(static_cast<uint32_t>(decisions.size()))], 0);
        for (const Assign& assign : proposal) state_.set(model_->node(assign.variable), assign.value);
        state_.propagate();
        double difference = 0.0;
        for (const State::Change& change : state_.changes()) {
            const double size = std::abs(double(change.after) - double(change.before));
            total[change.root] += size;
            count[change.root] += 1.0;
            if (change.root == model_->objective_root())
                difference += double(change.after) - double(change.before);
            else if (!model_->enforced(change.root))
                difference += soft[change.root] * ((change.after > 0) - (change.before > 0));
        }
        wished += std::abs(difference);
        wishes += difference != 0.0;
        state_.roll_back();
    }
    const double unit = wishes > 0.0 ? wished / wishes : 1.0;
    for (size_t root = 0; root < scale_.size(); ++root) {
        const bool must = root < size_t(problem_.constraints) && model_->enforced(static_cast<int32_t>(root));
        scale_[root] = !must ? soft[root] / unit : count[root] > 2.0 ? count[root] / total[root] : 1.0;
    }
    required_ = wished_ = 1.0;
    wishes_ = model_->has_objective();
    for (int32_t c = 0; c < problem_.constraints; ++c) wishes_ |= model_->roots()[c] >= 0 && !model_->enforced(c);
}

int64_t Search::advance(int64_t max_moves, double seconds) {
    if (model_->decisions().empty()) return 0;
    const auto deadline =
        seconds >= 1e8
            ? Clock::time_point::max()
            : Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    int64_t made = 0;
    while (made < max_moves && !solved()) {
        if (made % kGlance == 0 && Clock::now() >= deadline) break;
        step();
        ++made;
        ++moves_;
    }
    return made;
}

// A decision that the value of a node follows from, drawn by walking down: an extremum through one that holds it, repeats
// through one that is repeated.
Search::Cause Search::cause(int32_t n) {
    const Graph& graph = model_->graph();
    int64_t wanted = 0;
    for (;;) {
        const Node& node = graph.node(n);
        if (node.op == Op::variable) return {node.code, wanted};
        if (node.count == 0) return {-1, 0};
        const int32_t* operand = graph.operands(n);
        int32_t k = static_cast<int32_t>(random_.below(node.count));
        if (node.op == Op::extremum || node.op == Op::repeats) {
            for (int32_t tries = 0; tries < node.count; ++tries, k = k + 1 == node.count ? 0 : k + 1) {
                const int64_t seen = graph.seen(node.first + k, state_.value(operand[k]));
                if (node.op == Op::extremum ? seen == state_.value(n)
                                            : seen >= 0 && state_.value(graph.histogram_start(n) + int32_t(seen)) > 1)
                    break;
            }
        }
        if (node.op == Op::distance)
            wanted = way_to(node.code, state_.value(operand[0]) - node.a);
        else if ((node.op == Op::sum || node.op == Op::extremum) && graph.is_scaled(node.first + k))
            wanted = divided(wanted, graph.coefficient(node.first + k));
        else if (node.op != Op::nearest)
            wanted = 0;
        n = operand[k];
    }
}

Search::Cause Search::pick_variable() {
    if (!violated_.empty() && random_.uniform() < kFocus) {
        const int32_t c = violated_[random_.below(static_cast<uint32_t>(violated_.size()))];
        const Cause found = cause(model_->roots()[c]);
        if (found.variable >= 0) return found;
    } else if (violated_.empty() && model_->has_objective() && random_.below(2)) {
        const Cause found = cause(model_->roots().back());
        if (found.variable >= 0) return found;
    }
    const auto& decisions = model_->decisions();
    return {decisions[random_.below(static_cast<uint32_t>(decisions.size()))], 0};
}

void Search::step() {
    const Cause drawn = pick_variable();
    const auto& proposal = move_.propose(drawn.variable, random_.below(2) ? drawn.wanted : 0);
    if (!proposal.empty()) {
        for (const Assign& assign : proposal) state_.set(model_->node(assign.variable), assign.value);
        state_.propagate();
        double difference = 0.0;
        for (const State::Change& change : state_.changes()) difference += change_of(change);
        ++proposals_;
        if (difference <= 0.0 || random_.uniform() < std::exp(-difference / temperature_)) {
            uphill_ += difference > 0.0;
            for (const State::Change& change : state_.changes()) take(change);
            state_.commit();
            move_.made();
            keep_if_best();
        } else {
            state_.roll_back();
        }
    }
    if (++in_sweep_ == sweep_) end_sweep();
}

void Search::keep_if_best() {
    if (now_.score > best_.score) return;
    if (now_.score == best_.score && (!model_->has_objective() || now_.score > 0 || objective_ >= best_objective_))
        return;
    best_ = now_;
    best_objective_ = now_.score > 0 ? INT64_MAX : objective_;
    best_positions_ = positions();
    report_best();
}

std::vector<int32_t> Search::positions_of(const State& state) const {
    std::vector<int32_t> result(problem_.variables);
    for (int32_t x = 0; x < problem_.variables; ++x)
        result[x] = model_->graph().nearest_position(x, state.value(model_->node(x)));
    return result;
}

void Search::report_best() {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    if (improvements_.size() > 1 && improvements_.back().step > 0) improvements_.pop_back();
    improvements_.push_back({moves_, seconds, static_cast<int32_t>(run_), 0, best_, {}});
}

std::vector<Improvement> Search::take_improvements() {
    std::vector<Improvement> result;
    result.swap(improvements_);
    return result;
}

// ── the schedule ─────────────────────────────────────────────────────────────────────────────────

void Search::end_sweep() {
    in_sweep_ = 0;
    if (--sweeps_left_ > 0) {
        if (!probing_) temperature_ *= cooling_;
        return;
    }
    if (probing_)
        end_probe();
    else
        end_cycle();
}

void Search::end_probe() {
    const double rate = double(uphill_) / double(std::max<int64_t>(1, proposals_));
    uphill_ = proposals_ = 0;
    cold_ = temperature_;
    if (rate >= kHotRate) hot_ = temperature_;
    if (rate >= kColdRate && ++probes_ < kMostProbes) {
        temperature_ *= kProbeCooling;
        sweeps_left_ = kProbeSweeps;
        return;
    }
    probing_ = false;
    cycle_sweeps_ = kFirstCycle;
    end_cycle();
}

void Search::end_cycle() {
    if (wishes_) {
        bool holds = true;
        for (int32_t c : violated_) holds &= !model_->enforced(c);
        required_ = std::clamp(required_ * (holds ? 1.0 / kLighter : kHeavier), kLightest, kHeaviest);
    }
    begin_cycle();
}

void Search::begin_cycle() {
    // Where something is optimised every second cycle goes on from the best there is, half as hot by logarithms.
    const bool from_best = wishes_ && cycle_ % 2 == 1;
    if (from_best) {
        const std::vector<int32_t> best = best_positions_;
        place(best.data());
    }
    temperature_ = from_best ? std::sqrt(hot_ * cold_) : hot_;
    cooling_ = std::pow(cold_ / temperature_, 1.0 / double(cycle_sweeps_));
    sweeps_left_ = cycle_sweeps_;
    if (!from_best) cycle_sweeps_ = static_cast<int64_t>(double(cycle_sweeps_) * kGrowth);
    uphill_ = proposals_ = 0;
    ++cycle_;
}

// ── what others find, and checks ─────────────────────────────────────────────────────────────────

void Search::learn(const int32_t* positions) {
    if (!model_->has_objective()) return;
    if (!elsewhere_) elsewhere_ = std::make_unique<State>(model_->graph(), model_->roots());
    elsewhere_->place(node_values(values_of(positions)));
    // What is defined takes the value that the others give it, which may leave the assignment: a makespan is then the
    // end of the last task, and not what the others had put there. So the assignment that counts is the one seen here.
    if (violated_in(*elsewhere_).score > 0) return;
    const std::vector<int32_t> seen = positions_of(*elsewhere_);
    const int64_t objective = model_->objective_sign() * elsewhere_->value(model_->roots().back());
    if (best_.score == 0 && objective >= best_objective_) {
        if (objective > best_objective_ && improvements_.empty()) report_best();  // it was not heard of
        return;
    }
    best_ = {};
    best_objective_ = objective;
    best_positions_ = seen;
    if (!std::equal(seen.begin(), seen.end(), positions)) report_best();
}

Violation Search::violated_in(const State& state) const {
    Violation violated;
    for (int32_t c = 0; c < problem_.constraints; ++c) {
        const int32_t root = model_->roots()[c];
        if (root < 0 || state.value(root) <= 0) continue;
        violated.add({1, problem_.hard[c], problem_.weight[c], problem_.score[c]});
    }
    return violated;
}

void Search::verify() const {
    state_.verify();
    const Violation fresh = violated_in(state_);
    if (fresh.score != now_.score || fresh.violated != now_.violated || fresh.hard != now_.hard)
        throw std::logic_error("what is violated differs from a recount");
}

}  // namespace anycsp::invariants
