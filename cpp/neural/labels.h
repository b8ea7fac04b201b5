// L_E of one assignment: exceptions of ≠ and clauses, stored labels of every other family, and what is violated.
#pragma once

#include <cstdint>

#include "neural/layout.h"
#include "core/problem.h"

namespace anycsp {

struct Violation {
    int64_t violated = 0, hard = 0;
    double weight = 0;
    double score = 0;  // what a search minimises: weight, any hard constraint before all the soft ones together

    void add(const Violation& other) {
        violated += other.violated;
        hard += other.hard;
        weight += other.weight;
        score += other.score;
    }
};

// One run's labels for `positions`. Exceptions are kept twice, for the constraints and for the values to read
// (kernels.h, Run), and written only where they change, which soon is at few slots in a step.
struct Labels {
    const int32_t* positions;  // [variables]
    int32_t* rows;             // [slots], or null
    int32_t* exceptions;       // by layout.place
    int32_t* critical;         // [constraints] of a clause: which of its slots are exceptions
    uint8_t* labels;           // [layout.labels]
};

// The labels of an assignment where nothing is an exception, consistent for relabel to start from.
void clear(const Problem& problem, const Layout& layout, const Labels& run);

// Relabels the constraints of a chunk and sums what they violate: a constraint holds iff the label of its first
// variable's current value says so. Labels of external families are there already.
Violation relabel(const Problem& problem, const Layout& layout, const Chunk& chunk, const Labels& run);

}  // namespace anycsp
