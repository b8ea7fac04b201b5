// Simulated annealing over an invariant graph. Most moves begin at a variable that a violated constraint follows
// from. The objective, or the weight of soft constraints, is part of the cost of every move; what must hold weighs more
// where a cycle ends without holding, and less where it ends with it.
#pragma once

#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/violation.h"
#include "invariants/model.h"
#include "invariants/moves.h"
#include "invariants/state.h"

namespace anycsp::invariants {

class Search {
  public:
    Search(std::shared_ptr<const Model> model, uint64_t seed, uint64_t run);

    // Begin at the positions, as near as groups and definitions allow, or at random ones where null.
    void start(const int32_t* positions);
    // Up to so many moves (proposals) in about so many seconds; fewer where nothing is left to do. Returns how many.
    int64_t advance(int64_t max_moves, double seconds);

    const Model& model() const { return *model_; }
    int64_t moves() const { return moves_; }
    // Nothing is violated, and there is nothing to optimise.
    bool solved() const { return best_.score == 0 && !model_->has_objective(); }
    // The best so far: hard constraints before soft ones before the objective.
    const Violation& best() const { return best_; }
    int64_t best_objective() const { return best_objective_; }
    const std::vector<int32_t>& best_positions() const { return best_positions_; }
    std::vector<Improvement> take_improvements();
    // Where it is now, and what that violates.
    std::vector<int32_t> positions() const { return positions_of(state_); }
    const Violation& now() const { return now_; }
    int64_t objective() const { return objective_; }
    // An assignment from elsewhere that violates nothing. Only what has a better objective counts from now on.
    void learn(const int32_t* positions);
    // Throws unless all equals a recount, and what the groups keep holds.
    void verify() const;

  private:
    std::vector<int64_t> values_of(const int32_t* positions);
    void place(const int32_t* positions);
    std::vector<int32_t> positions_of(const State& state) const;
    Violation violated_in(const State& state) const;
    std::vector<std::pair<int32_t, int64_t>> node_values(const std::vector<int64_t>& values) const;
    void count_all();
    void calibrate();
    void step();
    // A variable to move, and by how much that would mend what it was drawn for; 0 where that is not known.
    struct Cause {
        int32_t variable;
        int64_t wanted;
    };
    Cause pick_variable();
    Cause cause(int32_t node);
    double change_of(const State::Change& change) const;
    void take(const State::Change& change);
    void keep_if_best();
    void report_best();
    void end_sweep();
    void end_probe();
    void begin_cycle();
    void end_cycle();
    double weigh(int32_t root, int64_t value) const;

    std::shared_ptr<const Model> model_;
    const Problem& problem_;
    local::Random random_;
    const uint64_t run_;
    State state_;
    Moves move_;
    int64_t moves_ = 0;
    Clock::time_point began_;

    // Of the present assignment.
    Violation now_;
    int64_t objective_ = 0;
    std::vector<int32_t> violated_, place_;  // constraints, and by constraint its place among them

    Violation best_;
    int64_t best_objective_ = INT64_MAX;
    std::vector<int32_t> best_positions_;
    std::vector<Improvement> improvements_;
    std::unique_ptr<State> elsewhere_;  // for assignments that are only looked at

    // Cost = required_ · Σ scale · penalty over what must hold + wished_ · (soft weight, objective).
    std::vector<double> scale_;
    double required_ = 1.0, wished_ = 1.0;
    bool wishes_ = false;  // there is anything to wish for
    double temperature_ = 1.0, hot_ = 1.0, cold_ = 1.0, cooling_ = 1.0;
    bool probing_ = true;
    int64_t sweep_ = 1, in_sweep_ = 0, sweeps_left_ = 0, cycle_ = 0, cycle_sweeps_ = 0;
    int64_t uphill_ = 0, proposals_ = 0, probes_ = 0;
};

}  // namespace anycsp::invariants
