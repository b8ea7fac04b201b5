// What local search needs of a Problem beyond its arrays: for every variable (or value) the constraints a move
// touches, in the form each family updates fastest. Immutable, shared by all runs.
#pragma once

#include <memory>
#include <vector>

#include "core/problem.h"
#include "families/penalties.h"

namespace anycsp::local {

// Rows of varying length end to end.
template <class T>
struct Ragged {
    std::vector<int64_t> start;
    std::vector<T> items;

    const T* begin(int32_t row) const { return items.data() + start[row]; }
    const T* end(int32_t row) const { return items.data() + start[row + 1]; }
    bool empty() const { return items.empty(); }
};

// A binary constraint seen from one of its two variables.
struct Partner {
    int32_t constraint;
    int32_t variable;     // the other one
    int32_t first_value;  // its first value vertex
    int32_t size;         // its domain size
    int64_t line;         // where its line begins: in `conflict`, + own position → the position in conflict or -1;
                          // in `violation`, + own position · size → a row of bits
};

// The score, as model/score.py defines it.
struct Score {
    std::vector<Weight> of;  // [constraints] what a violated one adds
    Weight priority = 1;     // 1 + total soft weight
    Weight hard_unit = 1;    // the weight that hard constraints are counted in
    Weight total = 0;        // of all constraints
    bool uniform = true;     // every constraint soft with weight 1: the score counts the violated ones

    // The weight of what an assignment of this score violates.
    Weight weight(Weight score) const { return score / priority * hard_unit + score % priority; }
};

struct MoveIndex {
    MoveIndex(std::shared_ptr<const Problem> problem, const PenaltyOptions& options);
    MoveIndex(const MoveIndex&) = delete;

    std::shared_ptr<const Problem> problem;
    Score score;
    std::vector<int32_t> value_variable;  // [values]
    std::vector<int32_t> movable;         // the variables with more than one value

    // Clauses, by value vertex: those in which this value is the one that does not satisfy.
    Ragged<int32_t> clauses_at;
    std::vector<int32_t> forbidden_value;  // [slots] that value vertex; -1 in tautologies and other families

    // Binary constraints, by variable.
    Ragged<Partner> matchings, tables;
    std::vector<int32_t> conflict;
    std::vector<uint8_t> violation;

    // Every other constraint, by variable.
    Ragged<Occurrence> others;
    std::vector<std::unique_ptr<Penalties>> penalties;  // [families of the problem]; null where all is above

    bool only_clauses = true;  // over two-valued domains
    bool simple = true;        // nothing among `others`

    int32_t arity(int32_t c) const { return problem->scope_start[c + 1] - problem->scope_start[c]; }
    bool is_clause(int32_t c) const { return problem->families[problem->family_of[c]].kind == Kind::clause; }

  private:
    void index_clauses();
    void index_matchings();
    void index_tables();
    void index_others();
    void weigh();
};

}  // namespace anycsp::local
