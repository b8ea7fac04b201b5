// L_E of one assignment of a run: exceptions of ≠ and clauses, stored labels of every other family, and what is violated.
#pragma once

#include "families/labels.h"
#include "neural/layout.h"

namespace anycsp {

struct Labels {
    EdgeLabels edges;
    Exceptions exceptions;

    // The label of the current value of its first variable says so, where labels are up to date.
    bool satisfied(const Problem& p, const Family& f, int32_t constraint) const {
        const int32_t slot = p.scope_start[constraint], now = edges.positions[p.scope[slot]];
        return f.exceptional() ? exceptions.of(slot) != now : edges.of(slot)[now] != 0;
    }
};

// The labels of an assignment where nothing is an exception, consistent for relabel to start from.
void clear(const Problem& problem, const Labels& run);

// Relabels the constraints of a chunk and sums what they violate. Labels of external families are there already.
Violation relabel(const Problem& problem, const Chunk& chunk, const Labels& run);

// Brings the grades of a chunk up to date with its labels.
void regrade(const Problem& problem, const Chunk& chunk, const EdgeLabels& labels, float* grades);

}  // namespace anycsp
