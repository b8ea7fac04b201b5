// The policy's search on one graph: R runs step in lockstep, the best assignment of each is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "buffer.h"
#include "kernels.h"
#include "labels.h"
#include "layout.h"
#include "network.h"
#include "problem.h"
#include "threads.h"

namespace anycsp {

struct Best {
    double score = 0, weight = 0, seconds = 0;
    int64_t count = 0, hard = 0, step = 0;
};

struct Improvement {
    int64_t step, count, hard;
    double seconds, weight;
    int32_t run, instance;
};

struct SearchOptions {
    int32_t first_run = 0, runs = 1, threads = 1;
    uint64_t seed = 0;
    float temperature = 1;
    bool local = false;  // Appendix C: one variable of an instance moves in a step
};

class Search {
public:
    Search(std::shared_ptr<Problem> problem, std::shared_ptr<Layout> layout, std::unique_ptr<PackedNetwork> network,
           std::vector<double> constant, SearchOptions options);

    // Writes the labels of external families, for all runs, from `positions`.
    using External = std::function<void(Search&)>;

    void start(const int32_t* positions);  // [runs][variables], or null to draw them
    int64_t advance(int64_t steps, double seconds);
    void set_positions(const int32_t* positions);  // for tests that prescribe the assignments
    void set_profile(bool on);

    std::shared_ptr<Problem> problem;
    std::shared_ptr<Layout> layout;
    std::unique_ptr<PackedNetwork> network;
    SearchOptions options;
    External external;
    int64_t step = 0;
    double elapsed = 0;

    // run-major
    Buffer<float> state, logits;
    Buffer<int32_t> positions, best_positions, exceptions;
    Buffer<uint8_t> labels;
    std::vector<Violation> current;  // [runs][instances]
    std::vector<Best> best;
    std::vector<Improvement> trace;
    double step_seconds = 0;

    std::vector<double> phase_seconds() const;  // [kPhases], summed over threads
    size_t bytes() const;
    double multiply_adds() const;  // of the matrix products of one step of all runs

private:
    struct Workspace {
        Buffer<float> x, rows, messages, constraints;
        Work view;
    };

    Run run_view(int32_t run, uint64_t key);
    template <class Each>
    void step_run(int32_t run, Workspace& workspace, Each&& each);
    template <class Each>
    void relabel_run(int32_t run, Each&& each);
    void relabel_all();
    void sample_local(int32_t run);
    void note_improvements(double seconds);
    bool solved() const;
    double score(int32_t instance, const Violation& violation) const;

    Team team_;
    bool over_runs_;  // threads take whole runs, or blocks of one run after another
    std::vector<Workspace> workspaces_;
    Buffer<float> scratch_memory_;
    Buffer<int32_t> scratch_exceptions_;
    std::vector<Scratch> scratch_;
    std::vector<Violation> partial_;  // [runs][chunks]
    std::vector<double> constant_;    // [instances][3] count, weight, hard of constraints with empty scope
    std::vector<double> hard_factor_;  // [instances] 1 + total soft weight
    std::vector<int32_t> instance_start_;
};

}  // namespace anycsp
