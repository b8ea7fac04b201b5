// L_E of one assignment: exceptions of ≠ and clauses, stored labels of every other family, and what is violated.
#pragma once

#include <cstdint>

#include "layout.h"
#include "problem.h"

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

// One run's labels for `positions`. `exceptions` holds rows as Topology describes them.
struct Labels {
    const int32_t* positions;  // [variables]
    int32_t* exceptions;       // [slots]
    uint8_t* labels;           // [layout.labels]
};

// Relabels the constraints of a chunk and sums what they violate: a constraint holds iff the label of its first
// variable's current value says so. Labels of external families are there already.
Violation relabel(const Problem& problem, const Layout& layout, const Chunk& chunk, const Labels& run);

}  // namespace anycsp
