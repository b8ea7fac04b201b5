// Everything the native code knows of a family. A new family is one file that defines one of these, and its line in
// registry.cpp; most are an Evaluator, which needs no more than `evaluated` of evaluator.h.
#pragma once

#include <memory>

#include "core/arrays.h"
#include "core/problem.h"
#include "core/range.h"
#include "families/labels.h"
#include "families/penalties.h"

namespace anycsp {

struct FamilyDefinition {
    const char* name;  // as Python calls it
    Kind kind;

    // Takes the arrays of the family, whose range of constraints is known, and checks every index.
    void (*read)(const Problem&, Family&, const Arrays&);

    // Writes the labels of all edges of the constraints. Null where only Python can.
    void (*label)(const Problem&, const Family&, Range constraints, const EdgeLabels&);

    // Writes the grades of all edges of the constraints. Null where a violated one is no nearer than another: 1 − label.
    void (*grade)(const Problem&, const Family&, Range constraints, const EdgeGrades&);

    // Families that label at most one value of a slot 0: brings the exceptions of the constraints up to date and sums
    // what is violated. Null elsewhere.
    Violation (*relabel)(const Problem&, const Family&, Range constraints, const Exceptions&);

    // What local search asks. Null where local/state.h has a faster way for all of the family's constraints.
    std::unique_ptr<Penalties> (*penalties)(const Problem&, const Family&, const PenaltyOptions&);
};

}  // namespace anycsp
