// The counter-based generator of randomness.py: a draw depends on seed, run, step and variable, on nothing else.
#pragma once

#include <cstdint>

namespace {

inline uint64_t mix(uint64_t x) {  // splitmix64's finaliser
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

inline uint64_t step_key(uint64_t seed, uint64_t run, uint64_t step) { return mix(mix(mix(seed) + run) + step); }

// Uniform in [0, 1): 24 bits, so that the float is exact.
inline float uniform(uint64_t key, uint64_t counter) {
    return static_cast<float>(mix(key + counter) >> 40) * (1.f / 16777216.f);
}

}  // namespace
