// Families whose constraints are evaluated one at a time: rules, extrema, numbers of distinct values, short tables.
// Policy step and local search need nothing else of them.
#pragma once

#include <memory>

#include "families/definition.h"

namespace anycsp {

class Evaluator {
  public:
    Evaluator(const Problem& problem, const Family& family)
        : problem_(problem),
          first_constraint_(family.first_constraint),
          last_constraint_(family.last_constraint),
          first_slot_(problem.scope_start[family.first_constraint]),
          first_edge_(problem.edge_start[first_slot_]) {}
    virtual ~Evaluator() = default;

    // Looks at the assignment of one constraint; the calls of `slot` that follow, in the same thread, are about it.
    virtual void prepare(int32_t constraint, const int32_t* positions) const = 0;
    // For every value of the slot's variable, how far the constraint is from holding if the variable moves there
    // alone: 0 where it holds.
    virtual void slot(int32_t slot, const int32_t* positions, int64_t* distances) const = 0;

  protected:
    int32_t row(int32_t constraint) const { return constraint - first_constraint_; }
    int64_t edge(int32_t slot) const { return problem_.edge_start[slot] - first_edge_; }
    int64_t edges() const { return problem_.edge_start[problem_.scope_start[last_constraint_]] - first_edge_; }
    size_t rows() const { return last_constraint_ - first_constraint_; }

    const Problem& problem_;
    const int32_t first_constraint_, last_constraint_, first_slot_;
    const int64_t first_edge_;
};

void label_evaluated(const Problem&, const Family&, Range constraints, const EdgeLabels&);
void grade_evaluated(const Problem&, const Family&, Range constraints, const EdgeGrades&);
std::unique_ptr<Penalties> evaluated_penalties(const Problem&, const Family&, const PenaltyOptions&);

// The definition of a family whose evaluator is `E(problem, family, arrays)`.
template <class E>
constexpr FamilyDefinition evaluated(const char* name) {
    return {name,
            Kind::evaluated,
            [](const Problem& p, Family& f, const Arrays& arrays) { f.evaluator = std::make_shared<E>(p, f, arrays); },
            label_evaluated,
            grade_evaluated,
            nullptr,
            evaluated_penalties};
}

}  // namespace anycsp
