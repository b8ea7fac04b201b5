// All constraints of a problem that must hold, as propagators over one store, run to a fixpoint.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include "core/clock.h"
#include "propagation/clauses.h"
#include "propagation/disjunctive.h"
#include "propagation/learnt.h"
#include "propagation/propagator.h"

namespace anycsp::propagation {

// Thrown where the deadline passes before all propagators are there: with only some of them nothing would be proved.
struct OutOfTime : std::runtime_error {
    OutOfTime() : std::runtime_error("no time to build the propagators") {}
};

class Network {
  public:
    // `enforced`: the constraints that must hold. `arrays`: by family, for those with an evaluator of their own.
    // With `orders`, pairs of tasks get a variable each that says which comes first, after those of the problem.
    Network(std::shared_ptr<const Problem> problem, const std::vector<FamilyArrays>& arrays,
            const std::vector<uint8_t>& enforced, ExternalLabels external,
            Clock::time_point built_by = Clock::time_point::max(), bool orders = false);
    Network(const Network&) = delete;

    Store& store() { return store_; }
    const Problem& problem() const { return *problem_; }

    // Shrink domains until nothing more follows. False: no assignment is left; `failed` is the constraint that found out
    // (−1 where a nogood did). Where the deadline passes first, `late` is set and the domains are sound but wider.
    bool propagate();
    int32_t failed = -1;
    bool late = false;
    Clock::time_point deadline = Clock::time_point::max();

    // A nogood: not all of these positions (value vertices) at once. At the root only.
    bool forbid(std::vector<int32_t> literals) { return clauses_.add(store_, std::move(literals), -1); }

    // ── learning from conflicts ──────────────────────────────────────────────────────────────────────────────────
    // Record why values go, or no longer; at the root only. False where what was learnt before cannot hold.
    bool learn(bool wanted, size_t most_clauses);
    Learnt& learnt() { return *learnt_; }
    size_t clauses_learnt() const { return learnt_ ? learnt_->size() : 0; }
    // Why the last propagation failed.
    void explain_failure(Explanation& why);
    // Why the removal at this place of the trail happened.
    void explain(int32_t index, Explanation& why);

    // Fix each value in turn and remove those that fail, until nothing changes, `most_barren` values in a row have
    // removed nothing, or the deadline passes.
    bool probe(int64_t most_barren);

    // The propagator of the constraint that bounds the objective.
    Propagator* find(int32_t constraint);
    void schedule(Propagator& propagator);

    // Variable variables() + i is the order of the i-th pair.
    const std::vector<Disjunction>& disjunctions() const { return disjunctions_; }
    int32_t variables() const { return variables_; }

    // What has been run, for those who plan by it.
    int64_t runs = 0;

  private:
    struct Watch {
        int32_t propagator;
        uint8_t events;
    };
    struct Conflict {  // a matching seen from one variable
        int32_t partner, constraint;
        const int32_t* of;  // by own position: the partner's position in conflict, or −1
    };

    void add(int32_t constraint, const std::vector<FamilyArrays>& arrays);
    bool take_changes();
    bool pass_on_fixed(int32_t x);
    bool pass_on_to_learnt();
    void explain(Reason reason, int32_t x, int32_t position, Explanation& why);
    bool give_up();

    std::vector<Disjunction> disjunctions_;
    int32_t variables_;  // of the problem, without orders
    std::shared_ptr<const Problem> problem_;
    ExternalLabels external_;
    Store store_;
    Clauses clauses_;
    std::shared_ptr<Tables> tables_;
    Propagators propagators_;
    std::vector<std::vector<Watch>> watches_;       // by variable
    std::vector<std::vector<Conflict>> conflicts_;  // by variable
    std::vector<int32_t> queue_[kPriorities];
    std::unique_ptr<Learnt> learnt_;  // where it is known why values went
    Reason failure_;
    bool impossible_ = false;  // found while the network was built
};

}  // namespace anycsp::propagation
