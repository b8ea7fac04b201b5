// Runs of one strategy side by side, on one or more threads, in slices of moves.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/threads.h"
#include "local/strategies/registry.h"

namespace anycsp::local {

class Search {
  public:
    Search(std::shared_ptr<const Problem> problem, const std::string& strategy,
           const std::map<std::string, double>& parameters, int32_t runs, uint64_t seed, int32_t threads,
           const PenaltyOptions& penalties);

    // Begin all runs at the positions [runs · variables], or at random ones where null. `moves` and `seconds` say when
    // the search will end, where that is known: strategies with a schedule plan by it.
    void start(const int32_t* positions, int64_t moves, double seconds);
    // Up to `max_moves` moves of every run within `seconds`; returns the most a run made. Ends early when a run has
    // nothing violated, or on stop(). What the runs find does not depend on the number of threads.
    int64_t advance(int64_t max_moves, double seconds);
    void stop() { stopped_ = true; }

    const MoveIndex& index() const { return index_; }
    std::vector<std::unique_ptr<Run>>& runs() { return runs_; }

  private:
    void work(Clock::time_point deadline);
    int32_t next_run();
    void advance_slice(int32_t number, Clock::time_point deadline);

    MoveIndex index_;
    std::vector<std::unique_ptr<Run>> runs_;
    Team team_;
    const int64_t slice_;

    std::mutex mutex_;    // guards what follows but stopped_
    int64_t target_ = 0;  // moves, of every run
    std::vector<uint8_t> busy_;
    std::vector<int64_t> chunk_;  // moves between two looks at the clock; each run's thread adapts its own
    int64_t solved_slice_;
    std::exception_ptr failure_;
    std::atomic<bool> stopped_{false};
};

}  // namespace anycsp::local
