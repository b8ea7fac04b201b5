// Families whose constraints are evaluated one at a time: rules, extrema, numbers of distinct values, short tables.
// Policy step and local search need nothing else of them, so a new such family is one file and a line in evaluator.cpp.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "core/problem.h"

namespace anycsp {

class Evaluator {
  public:
    Evaluator(const Problem& problem, const Family& family)
        : problem_(problem), first_constraint_(family.first_constraint), last_constraint_(family.last_constraint),
          first_slot_(problem.scope_start[family.first_constraint]), first_edge_(problem.edge_start[first_slot_]) {}
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

std::shared_ptr<const Evaluator> make_rule(const Problem&, const Family&, const nanobind::dict&);
std::shared_ptr<const Evaluator> make_extremum(const Problem&, const Family&, const nanobind::dict&);
std::shared_ptr<const Evaluator> make_distinct(const Problem&, const Family&, const nanobind::dict&);
std::shared_ptr<const Evaluator> make_short_tuples(const Problem&, const Family&, const nanobind::dict&);

// The evaluator of a family by its name in Python; null where the name is none.
std::shared_ptr<const Evaluator> make_evaluator(const std::string& name, const Problem&, const Family&,
                                                const nanobind::dict&);

}  // namespace anycsp
