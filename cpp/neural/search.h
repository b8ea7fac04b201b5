// The policy's search on one graph: R runs step in lockstep, the best assignment of each is kept.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/problem.h"
#include "core/threads.h"
#include "neural/kernels.h"
#include "neural/labels.h"
#include "neural/layout.h"
#include "neural/network.h"

namespace anycsp {

// Processor time of this thread where there is such a clock: on a busy machine, waiting is not part of a phase.
double worked_seconds();

struct SearchOptions {
    int32_t first_run = 0, runs = 1, threads = 1;
    uint64_t seed = 0;
    float temperature = 1;        // of every run at first
    std::vector<float> guidance;  // strength for each run; guidance.py
    float memory = 1;             // of its trace
    bool local = false;           // Appendix C: one variable of an instance moves in a step
};

class Search {
  public:
    Search(std::shared_ptr<Problem> problem, std::shared_ptr<Layout> layout, std::shared_ptr<PackedNetwork> network,
           std::vector<int64_t> constant, SearchOptions options);

    // Writes the labels of external families, for all runs, from `positions`.
    using External = std::function<void(Search&)>;

    void start(const int32_t* positions);  // [runs][variables], or null to draw them
    // Steps until one of the limits, at least once; with one instance, until a run violates nothing. Steps done.
    int64_t advance(int64_t max_steps, double seconds);
    // Seconds from now after which a step under way is abandoned. What it has changed is then of no use: only the best
    // assignments are, and no more steps are made until the next start.
    void abandon_after(double seconds);
    void restart(const std::vector<int32_t>& runs);  // from random assignments, with nothing remembered
    void set_profile(bool on);
    std::vector<float> temperature;  // [runs] of the softmax; may change between steps

    std::shared_ptr<Problem> problem;
    std::shared_ptr<Layout> layout;
    std::shared_ptr<PackedNetwork> network;
    SearchOptions options;
    External external;
    int64_t step = 0;

    // run-major
    Buffer<float> state, logits, trace, grades;
    Buffer<int32_t> positions, best_positions, rows, exceptions, critical;
    Buffer<uint8_t> labels;
    std::vector<Violation> current;   // [runs][instances]
    std::vector<int64_t> best_score;  // [runs][instances]
    std::vector<Improvement> improvements;

    std::vector<double> phase_seconds() const;  // [kPhases], summed over threads
    size_t bytes() const;
    double multiply_adds() const;  // of the matrix products of one step of all runs

  private:
    struct Workspace {
        Buffer<float> x, rows, messages, totals, constraints, own, whole, count;
    };

    Work work_of(Workspace& workspace, const Part& part) const;
    RunView run_view(int32_t run, uint64_t key);
    Labels labels_view(int32_t run);
    template <class Each>
    void step_run(int32_t run, Workspace& workspace, Each&& each);
    template <class Each>
    void relabel_run(int32_t run, Each&& each);
    void relabel_all();
    void begin(int32_t run);
    void update_trace(int32_t run);
    void sample_local(int32_t run);
    void note_improvements(const std::string& found_by);
    bool solved() const;
    bool abandoned();  // looks at the clock

    Team team_;
    bool over_runs_;  // threads take whole runs, or blocks of one run after another
    std::vector<Workspace> workspaces_;
    Buffer<float> scratch_memory_;
    std::vector<Scratch> scratch_;
    std::vector<Violation> partial_;  // [runs][chunks]
    std::vector<int64_t> constant_;   // [instances][4] violated, weight, hard, score of constraints with empty scope
    std::vector<int32_t> instance_start_;
    double began_ = 0;
    double abandon_at_ = INFINITY;
    std::atomic<bool> abandoned_{false};
};

}  // namespace anycsp
