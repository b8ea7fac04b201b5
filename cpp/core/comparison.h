// a ∘ b by the sign of a − b, and how far a false one is from true.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "core/problem.h"

namespace anycsp {

inline bool holds(int32_t op, int64_t difference) {
    switch (op) {
        case LE: return difference <= 0;
        case GE: return difference >= 0;
        case EQ: return difference == 0;
        case NE: return difference != 0;
        case LT: return difference < 0;
        default: return difference > 0;
    }
}

// How far the difference is from one that satisfies.
inline int64_t distance(int32_t op, int64_t difference) {
    switch (op) {
        case LE: return difference > 0 ? difference : 0;
        case GE: return difference < 0 ? -difference : 0;
        case EQ: return std::abs(difference);
        case NE: return difference == 0;
        case LT: return difference >= 0 ? difference + 1 : 0;
        default: return difference <= 0 ? 1 - difference : 0;
    }
}

}  // namespace anycsp
