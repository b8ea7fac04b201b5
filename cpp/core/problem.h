// A compiled problem as the native code sees it: the arrays of graph.py and of its labellings, nothing computed.
// Shared by the policy step (labels of all constraints, every step) and by local search (labels around one move).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/shared_array.h"

namespace anycsp {

class Arrays;
class Evaluator;
struct FamilyDefinition;

// What code outside families/ tells families apart by. Kind::sum is linear with a term for every edge; Kind::evaluated
// has an evaluator of its own and needs no other code, so a new family is of this kind.
enum class Kind { clause, matching, dense, tuples, linear, sum, all_different, evaluated, external };

enum Operator : int32_t { LE, GE, EQ, NE, LT, GT };  // the order of OPERATORS in constraints/comparison.py

// A contiguous range of constraints of one kind, and their arrays. Slot and edge indices below are global.
struct Family {
    const FamilyDefinition* definition;  // what it can do; families/definition.h
    Kind kind;
    int32_t first_constraint, last_constraint;  // [first, last)
    // clause, slot-wise: the position that does not satisfy the clause (-1: tautology)
    SharedArray<int32_t> forbidden;
    // matching, slot-wise offset into `conflict`, indexed by the partner's position; -1 where nothing conflicts
    SharedArray<int64_t> offset;
    SharedArray<int32_t> conflict;
    // dense: constraint-wise base into `truth`, slot-wise stride
    SharedArray<int64_t> base, stride;
    SharedArray<uint8_t> truth;
    // tuples: constraint-wise relation; per relation its cells (rows of the constraint's arity) and allowed flag
    SharedArray<int32_t> relation, tuple_cells;
    SharedArray<int64_t> tuple_start;
    SharedArray<uint8_t> allowed;
    // linear: slot-wise coefficient; constraint-wise operator and bound
    SharedArray<int64_t> coefficient, bound;
    SharedArray<int32_t> op;
    // sum: edge-wise term instead of coefficient · value
    SharedArray<int64_t> term;
    // all_different: edge-wise histogram bin (bins are numbered within the family); excepted bins do not count
    SharedArray<int32_t> edge_bin, bin_constraint;
    SharedArray<uint8_t> bin_counts;
    // evaluated
    std::shared_ptr<const Evaluator> evaluator;

    bool exceptional() const { return kind == Kind::clause || kind == Kind::matching; }
};

struct Problem {
    // Without families: families/registry.h adds them, one after another.
    explicit Problem(const Arrays& arrays);

    int32_t variables = 0, constraints = 0, instances = 1;
    SharedArray<int32_t> value_start;                         // [variables + 1]
    SharedArray<int64_t> value;                               // [values] the integers
    SharedArray<int32_t> scope_start, scope;                  // slots by constraint; variable of a slot
    std::vector<int64_t> edge_start;                          // [slots + 1]
    std::vector<int32_t> slot_constraint;                     // [slots]
    std::vector<int32_t> variable_slot_start, variable_slot;  // slots by variable, in slot order
    SharedArray<int64_t> weight;                              // [constraints] in units; model/score.py
    SharedArray<int64_t> score;                               // [constraints] what a violated one adds to the score
    SharedArray<int64_t> priority, hard_unit;  // [instances] score = weight / hard_unit · priority, if hard
    SharedArray<uint8_t> hard;                 // [constraints]
    SharedArray<int32_t> variable_instance, constraint_instance;
    std::vector<Family> families;
    std::vector<int32_t> family_of;  // [constraints]

    int32_t values() const { return value_start.back(); }
    int32_t slots() const { return static_cast<int32_t>(scope.size()); }
    int64_t edges() const { return edge_start.back(); }
    int32_t domain_size(int32_t x) const { return value_start[x + 1] - value_start[x]; }
};

}  // namespace anycsp
