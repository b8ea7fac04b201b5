#include "local/run.h"

#include "local/strategies/registry.h"

namespace anycsp::local {

Run::Run(const MoveIndex& index, const StrategyDefinition& strategy, Parameters parameters, uint64_t seed,
         int32_t number)
    : state(index, strategy.costs_on_demand), random(seed, number), index_(index), number_(number) {
    strategy_ = strategy.make(*this, parameters);
    parameters.require_all_used();
    best_positions_.resize(index.problem->variables);
    changed_.reserve(index.problem->variables);
}

Run::~Run() = default;

void Run::start(const int32_t* positions, const Horizon& end) {
    const Problem& problem = *index_.problem;
    std::vector<int32_t> drawn;
    if (positions == nullptr) {
        for (int32_t x = 0; x < problem.variables; ++x) drawn.push_back(random.below(problem.domain_size(x)));
        positions = drawn.data();
    }
    horizon = end;
    began_ = Clock::now();
    moves = 0;
    improvements.clear();
    state.place(positions, strategy_->weights());
    overflowed_ = true;
    keep_best();
    if (!index_.movable.empty()) strategy_->begin();
}

void Run::advance(int64_t count) {
    if (!finished()) strategy_->advance(count);
}

std::pair<double, double> Run::temperatures() const { return strategy_->temperatures(); }

void Run::keep_best() {
    const std::vector<int32_t>& now = state.positions();
    if (overflowed_)
        best_positions_ = now;
    else
        for (int32_t x : changed_) best_positions_[x] = now[x];
    changed_.clear();
    overflowed_ = false;
    best_score_ = state.score();
    // One entry for a descent of many improvements: entries are at least as many moves apart as there are variables.
    const bool renew = improvements.size() > 1 && moves - improvements[improvements.size() - 2].step <
                                                      static_cast<int64_t>(index_.problem->variables);
    if (renew) improvements.pop_back();
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    const Violation violation{state.violated_count(), state.hard_count(), index_.score.weight(best_score_),
                              best_score_};
    improvements.push_back({moves, seconds, number_, 0, violation, {}});
}

const std::vector<int32_t>& Run::positions() {
    strategy_->settle();
    return state.positions();
}

void Run::verify() {
    strategy_->settle();
    State fresh(index_, false), kept(index_, false);
    const Problem& problem = *index_.problem;
    fresh.place(state.positions().data(), state.weights());
    kept.place(best_positions_.data(), state.weights());
    if (kept.score() != best_score_) throw std::logic_error("the best assignment has another score");
    if (fresh.score() != state.score()) throw std::logic_error("score differs from a recount");
    if (fresh.violated_count() != state.violated_count()) throw std::logic_error("count differs from a recount");
    if (fresh.hard_count() != state.hard_count()) throw std::logic_error("hard count differs from a recount");
    for (int32_t x = 0; x < problem.variables; ++x)
        for (int32_t v = 0; v < problem.domain_size(x); ++v)
            if (fresh.difference(x, v) != state.difference(x, v))
                throw std::logic_error("cost of value " + std::to_string(v) + " of variable " + std::to_string(x) +
                                       " differs from a recount");
}

}  // namespace anycsp::local
