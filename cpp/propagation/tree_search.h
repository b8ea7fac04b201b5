// Depth-first search with propagation: constructs assignments that satisfy everything enforced, and knows when there
// are none.
//
// Variables by dom/wdeg (Boussemart et al., ECAI 2004) after the last conflict (Lecoutre et al. 2009), restarts with
// growing cutoffs, and the nogoods of each restart (Lecoutre et al., JSAT 2007). Up to half of the
// effort is spent learning: a failure is analysed, becomes a clause and undoes the decisions that had no part in it.
// With an objective, every solution demands a better one; from the first on, most of the time goes into large
// neighbourhoods (Shaw, CP 1998): part of the best solution is kept, the rest searched anew.
#pragma once

#include <memory>
#include <vector>

#include "local/random.h"
#include "propagation/conflict.h"
#include "propagation/network.h"

namespace anycsp::propagation {

class TreeSearch {
  public:
    // `decisions`: variables to branch on first; the others follow from them or are branched on last.
    // `objective`: the constraint that bounds it, or −1.
    TreeSearch(std::unique_ptr<Network> network, std::vector<uint8_t> decisions, int32_t objective, uint64_t seed);

    // Up to `max_nodes` decisions within `seconds`; returns early with every solution. How many were taken.
    int64_t advance(int64_t max_nodes, double seconds);

    // Values to try first, and with `solution` the best assignment so far, found by whomever.
    void suggest(const int32_t* positions, bool solution);

    // From now on, before any step: one solution after another, each other than those before in one of the flagged
    // variables, until there are no more. Only these are branched on before the others.
    void enumerate(std::vector<uint8_t> flagged);

    // Nothing is left: no assignment at all, or none better than the last solution, or none that is another one.
    bool exhausted() const { return exhausted_; }
    // The constraint that failed at the root, where one did; else −1.
    int32_t root_failure() const { return root_failure_; }
    bool has_solution() const { return solutions_ > 0; }
    int64_t solutions() const { return solutions_; }
    const std::vector<int32_t>& solution() const { return best_; }
    int64_t nodes() const { return nodes_; }
    int64_t failures() const { return failures_; }
    // For comparisons: learn always, never, or (the default) for half of the effort at most.
    enum class Learning { half, never, always };
    void set_mode(Learning mode) { mode_ = mode; }
    // The mean share of decisions that a failure depends on, lately: where it is all of them, learning tells nothing new.
    double blamed() const { return blamed_; }
    // The clauses learnt and still there, for tests.
    std::vector<std::vector<int32_t>> learnt();
    Network& network() { return *network_; }

  private:
    struct Branch {
        int32_t variable, position;
    };
    struct Refuted {
        int32_t level, literal;
    };

    bool begin();
    void step();
    void learning_step();
    bool learn_from_failure();
    void choose_mode();
    double learning_share() const;
    bool set_learning(bool wanted);
    void go_back_to(int32_t level);
    void refute();
    void solved();
    void go_on();
    void restart();
    void learn_nogoods();
    void back_to(int32_t level);
    void give_more_weight(int32_t constraint);
    void open_neighbourhood();
    bool keep_near(int32_t x);
    void close_neighbourhood(bool complete);
    void free_around(int32_t target, std::vector<uint8_t>& free);
    void free_tasks(int32_t target, std::vector<uint8_t>& free);
    double movable() const;
    double urgency(int32_t x) const;
    int32_t roomier(const Disjunction& d) const;
    int32_t pick_variable();
    int32_t pick_position(int32_t x);
    int32_t literal(Branch b) const { return network_->problem().value_start[b.variable] + b.position; }

    std::unique_ptr<Network> network_;
    Store& store_;
    std::vector<uint8_t> decision_;
    Propagator* objective_ = nullptr;
    std::vector<int32_t> slot_in_objective_;  // by variable, −1 where it has none
    local::Random random_;

    int32_t first_order_;         // variables from here on are orders of two tasks
    std::vector<int32_t> tasks_;  // whose orders there are

    std::vector<double> weight_;  // by variable: failures of its constraints
    std::vector<Branch> branches_;
    std::vector<Refuted> refuted_;
    int32_t last_conflict_ = -1;
    bool begun_ = false, exhausted_ = false, found_ = false, own_solution_ = false, enumerates_ = false;
    int32_t root_failure_ = -1;

    int64_t nodes_ = 0, failures_ = 0, solutions_ = 0;
    int64_t restarts_ = 0, failures_left_ = 0;
    double cutoff_;
    bool random_positions_ = false;

    Learning mode_ = Learning::half;
    bool learning_ = false, can_learn_ = false;
    std::unique_ptr<Conflict> conflict_;
    std::vector<double> activity_;  // by variable: part in recent conflicts
    double activity_step_ = 1;
    std::vector<int32_t> phase_;  // by variable: where it was last
    int64_t lessons_ = 0;         // restarts while learning
    double blamed_ = 0.5;
    size_t most_clauses_;
    int64_t effort_[2] = {0, 0}, effort_before_ = 0;  // without and with learning

    std::vector<int32_t> best_, preferred_;
    int64_t neighbourhoods_ = 0;
    double freed_;  // variables a neighbourhood frees
    bool in_neighbourhood_ = false, windows_ = false;
    int64_t rest_until_ = 0;  // failures at which the next neighbourhood opens
};

}  // namespace anycsp::propagation
