// splitmix64's finaliser (Steele, Lea and Flood): every bit of the result depends on every bit of x.
//
// In an anonymous namespace, as all that the vector kernels include: they are compiled several times with different
// flags, and the linker must not pick a copy made for a newer processor.
#pragma once

#include <cstdint>

namespace {

inline uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

}  // namespace
