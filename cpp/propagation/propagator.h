// A constraint that removes values no assignment satisfying it has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/arrays.h"
#include "families/penalties.h"
#include "propagation/explanation.h"
#include "propagation/store.h"

namespace anycsp::propagation {

// When a propagator runs: those that are cheap and decide much go first.
enum Priority : uint8_t { kBinary, kCheap, kTable, kDear, kPriorities };

class Propagator {
  public:
    Propagator(int32_t constraint, Priority priority, uint8_t wakes_on, bool idempotent)
        : constraint(constraint), priority(priority), wakes_on(wakes_on), idempotent(idempotent) {}
    virtual ~Propagator() = default;

    // False where a domain became empty or the constraint cannot hold.
    virtual bool propagate(Store& store) = 0;
    // Why the variable lost the position, or with x = −1 why the constraint cannot hold; everything that had happened to
    // the other variables will always do, since a position stays where the constraint can hold with it.
    virtual void explain(int32_t x, int32_t position, Explanation& why) const {
        (void)position;
        for (int32_t y : scope)
            if (y != x) why.everything(y);
    }
    // For the constraint that bounds an objective: from now on only left sides better than that of these positions.
    // False where this constraint has no bound to move.
    virtual bool demand_better(const Problem& problem, const int32_t* positions) {
        (void)problem, (void)positions;
        return false;
    }
    // And the position left to the variable of a slot that is best for the left side.
    virtual int32_t favourite(const Store& store, size_t slot) const { return store.first(scope[slot]); }

    const int32_t constraint;
    const Priority priority;
    const uint8_t wakes_on;  // events of its variables
    const bool idempotent;   // running it twice removes no more than once
    int32_t id = -1;         // its place in the network
    bool scheduled = false;
    std::vector<int32_t> scope;  // the variables it looks at
};

// The bound that left sides better than `left` keep: smaller ones under ≤ and <, greater ones under ≥ and >.
inline bool better_bound(int32_t op, int64_t left, int64_t& bound) {
    if (op == EQ || op == NE) return false;
    bound = op == LE ? left - 1 : op == GE ? left + 1 : left;
    return true;
}

// The arrays of a family that has an evaluator of its own, as Python made them.
struct FamilyArrays {
    std::string kind;
    std::shared_ptr<const Arrays> arrays;

    SharedArray<int32_t> int32(const char* name) const { return arrays->shared<int32_t>(name); }
    SharedArray<int64_t> int64(const char* name) const { return arrays->shared<int64_t>(name); }
    SharedArray<uint8_t> bytes(const char* name) const { return arrays->shared<uint8_t>(name); }
};

using Propagators = std::vector<std::unique_ptr<Propagator>>;

// Each adds the propagators of one constraint (several, or none where another part of the network has it).
struct Tables;  // masks that constraints over one relation share
std::shared_ptr<Tables> make_tables();
void add_dense(Store&, const Family&, int32_t constraint, Tables&, Propagators&);
void add_tuples(Store&, const Family&, int32_t constraint, Tables&, Propagators&);
void add_short_tuples(Store&, const Family&, const FamilyArrays&, int32_t constraint, Tables&, Propagators&);
void add_linear(Store&, const Family&, int32_t constraint, Propagators&);
void add_sum(Store&, const Family&, int32_t constraint, Propagators&);
void add_all_different(Store&, const Family&, int32_t constraint, Propagators&);
// And for other constraints that imply it: the bin of every position of every slot.
void add_all_different(Store&, int32_t constraint, std::vector<int32_t> scope, std::vector<std::vector<int32_t>> bin_of,
                       Propagators&);
void add_extremum(Store&, const Family&, const FamilyArrays&, int32_t constraint, Propagators&);
void add_distinct(Store&, const Family&, const FamilyArrays&, int32_t constraint, Propagators&);
void add_rule(Store&, const Family&, const FamilyArrays&, int32_t constraint, Tables&, Propagators&);
// A rule that is a circuit of variables, or of variables plus constants; none where it is of anything else.
void add_circuit(Store&, const FamilyArrays&, int32_t constraint, int32_t row, Propagators&);
// A binary constraint by what `holds` says of every pair of positions; constraints of one key share the answer.
void add_pairs(Store&, int32_t constraint, const std::vector<int64_t>& key, Tables&, Propagators&,
               const std::function<void(int32_t position, uint8_t* holds)>& row);
void add_external(Store&, int32_t constraint, const ExternalLabels&, Propagators&);

}  // namespace anycsp::propagation
