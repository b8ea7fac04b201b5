// Consecutive things of one kind: [first, last).
#pragma once

#include <cstdint>

namespace anycsp {

struct Range {
    int32_t first = 0, last = 0;

    int32_t size() const { return last - first; }
};

}  // namespace anycsp
