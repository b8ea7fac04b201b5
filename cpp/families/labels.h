// L_E of one assignment: where families write it.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/problem.h"
#include "core/range.h"
#include "core/violation.h"

namespace anycsp {

// One byte for every edge, those of a slot one after another.
struct EdgeLabels {
    const int32_t* positions;  // [variables]
    const int64_t* start;      // [slots] a slot's first label
    uint8_t* labels;

    uint8_t* of(int32_t slot) const { return labels + start[slot]; }
};

// How far each constraint is from holding if the edge's variable alone took the edge's value: 0 where the label is 1,
// else at least 1. Laid out as labels are.
struct EdgeGrades {
    const int32_t* positions;  // [variables]
    const int64_t* start;      // [slots] a slot's first grade
    float* grades;

    float* of(int32_t slot) const { return grades + start[slot]; }
};

// Of sums, extrema, rules: the size of an error counts by its logarithm, whatever the scale of the constraint.
inline float grade_of_distance(int64_t distance) {
    return distance == 0 ? 0.f : 1.f + std::log2(static_cast<float>(distance));
}

// The exceptions of families that label at most one value of a slot 0. They are kept twice, for the constraints and for
// the values to read (neural/kernels.h, RunView). Clauses write them only where they change, which soon is at few slots
// in a step; ≠ writes both of its slots always.
struct Exceptions {
    const int32_t* positions;  // [variables]
    const int32_t* place;      // [slots] where the slot's exception is kept
    int32_t* exceptions;       // by place: the position labelled 0, or −1
    int32_t* rows;             // [slots] the row of Work::rows (neural/kernels.h) it reads; may be null
    int32_t* critical;         // [constraints] a clause's own: which of its slots are exceptions, 0 for none

    int32_t of(int32_t slot) const { return exceptions[place[slot]]; }
    void set(const Problem& p, int32_t slot, int32_t position) const {
        const int32_t x = p.scope[slot];
        if (rows) rows[slot] = p.value_start[x] + x + 1 + position;
        exceptions[place[slot]] = position;
    }
};

// The same as one byte for every edge.
inline void write_exception(const Problem& p, const EdgeLabels& to, int32_t slot, int32_t position) {
    uint8_t* label = to.of(slot);
    for (int32_t v = 0; v < p.domain_size(p.scope[slot]); ++v) label[v] = 1;
    if (position >= 0) label[position] = 0;
}

// Sums the violated ones of the constraints; `violated(c)` says which.
template <class Violated>
Violation sum_violated(const Problem& p, Range constraints, Violated violated) {
    Violation sum;
    for (int32_t c = constraints.first; c < constraints.last; ++c) {
        if (!violated(c)) continue;
        ++sum.violated;
        sum.hard += p.hard[c];
        sum.weight += p.weight[c];
        sum.score += p.score[c];
    }
    return sum;
}

}  // namespace anycsp
