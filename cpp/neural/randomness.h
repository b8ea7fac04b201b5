// The counter-based generator of randomness.py: a draw depends on seed, run, step and variable, on nothing else.
#pragma once

#include <cstdint>

#include "core/splitmix.h"

namespace {

inline uint64_t step_key(uint64_t seed, uint64_t run, uint64_t step) { return mix(mix(mix(seed) + run) + step); }

// Uniform in [0, 1): 24 bits, so that the float is exact.
inline float uniform(uint64_t key, uint64_t counter) {
    return static_cast<float>(mix(key + counter) >> 40) * (1.f / 16777216.f);
}

}  // namespace
