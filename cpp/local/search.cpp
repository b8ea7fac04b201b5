#include "local/search.h"

#include <algorithm>

namespace anycsp::local {
namespace {

constexpr int64_t kForever = int64_t(1) << 62;

Clock::time_point after(double seconds) {
    if (seconds >= 1e8) return Clock::time_point::max();
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

constexpr auto kGlance = std::chrono::microseconds(500);  // between looks at the clock

}  // namespace

Search::Search(std::shared_ptr<const Problem> problem, const std::string& strategy,
               const std::map<std::string, double>& parameters, int32_t runs, uint64_t seed, int32_t threads,
               const PenaltyOptions& penalties)
    : index_(std::move(problem), penalties), team_(std::min(runs, threads)), slice_(strategy_named(strategy).slice) {
    if (runs < 1 || threads < 1) throw std::invalid_argument("local search needs at least one run and one thread");
    for (int32_t i = 0; i < runs; ++i)
        runs_.push_back(std::make_unique<Run>(index_, strategy_named(strategy), Parameters(parameters), seed, i));
    busy_.assign(runs, 0);
    chunk_.assign(runs, 1);  // a move may take long: it grows as the clock allows
}

void Search::start(const int32_t* positions, int64_t moves, double seconds) {
    const int32_t variables = index_.problem->variables;
    const Horizon horizon{std::clamp<int64_t>(moves, 0, kForever), after(seconds)};
    for (size_t i = 0; i < runs_.size(); ++i) runs_[i]->start(positions ? positions + i * variables : nullptr, horizon);
    stopped_ = false;
}

int64_t Search::advance(int64_t max_moves, double seconds) {
    const Clock::time_point deadline = after(seconds);
    std::vector<int64_t> before;
    solved_slice_ = INT64_MAX;
    for (size_t i = 0; i < runs_.size(); ++i) {
        before.push_back(runs_[i]->moves);
        if (runs_[i]->solved()) solved_slice_ = -1;
    }
    // The clock may have ended the last call before all runs had their turn: they get as far as the others.
    target_ = *std::min_element(before.begin(), before.end()) + std::clamp<int64_t>(max_moves, 0, kForever);
    failure_ = nullptr;
    team_.each(team_.size(), [&](int64_t, int) { work(deadline); });
    if (failure_) std::rethrow_exception(failure_);
    int64_t most = 0;
    for (size_t i = 0; i < runs_.size(); ++i) most = std::max(most, runs_[i]->moves - before[i]);
    return most;
}

// The run furthest behind that is free and has work. Once a run is solved in slice k the others finish their slice
// k and no more: which runs are solved then does not depend on which thread was faster.
int32_t Search::next_run() {
    int32_t chosen = -1;
    for (size_t i = 0; i < runs_.size(); ++i) {
        const Run& run = *runs_[i];
        if (busy_[i] || run.finished() || run.moves >= target_ || run.moves / slice_ > solved_slice_) continue;
        if (chosen < 0 || run.moves < runs_[chosen]->moves) chosen = static_cast<int32_t>(i);
    }
    return chosen;
}

void Search::work(Clock::time_point deadline) {
    for (;;) {
        int32_t number;
        {
            std::lock_guard lock(mutex_);
            number = failure_ ? -1 : next_run();
            if (number < 0) return;
            busy_[number] = 1;
        }
        try {
            advance_slice(number, deadline);
        } catch (...) {
            std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
        }
        std::lock_guard lock(mutex_);
        busy_[number] = 0;
        if (runs_[number]->solved()) solved_slice_ = std::min(solved_slice_, (runs_[number]->moves - 1) / slice_);
        if (stopped_ || Clock::now() >= deadline) return;
    }
}

void Search::advance_slice(int32_t number, Clock::time_point deadline) {
    Run& run = *runs_[number];
    const int64_t end = std::min(target_, (run.moves / slice_ + 1) * slice_);
    int64_t& chunk = chunk_[number];
    Clock::time_point now = Clock::now();
    while (run.moves < end && !run.solved() && !stopped_ && now < deadline) {
        const int64_t moves = std::min(chunk, end - run.moves);
        run.advance(moves);
        const Clock::time_point later = Clock::now();
        if (later - now > kGlance)
            chunk = std::max<int64_t>(1, chunk / 2);
        else if (moves == chunk && later - now < kGlance / 2)
            chunk *= 2;
        now = later;
    }
}

}  // namespace anycsp::local
