// The generator of local search: xoshiro256++ (Blackman and Vigna), one stream a run, seeded from seed and run
// through splitmix64, so that a run draws the same whatever the other runs and threads do.
#pragma once

#include <cstdint>

#include "core/splitmix.h"

namespace anycsp::local {

class Random {
  public:
    Random(uint64_t seed, uint64_t run) {
        uint64_t x = mix(mix(seed) + run);
        for (uint64_t& word : s_) word = x = mix(x);
    }

    uint64_t next() {
        const uint64_t result = rotate(s_[0] + s_[3], 23) + s_[0];
        const uint64_t t = s_[1] << 17;
        s_[2] ^= s_[0];
        s_[3] ^= s_[1];
        s_[1] ^= s_[2];
        s_[0] ^= s_[3];
        s_[2] ^= t;
        s_[3] = rotate(s_[3], 45);
        return result;
    }

    // Uniform in [0, n); the bias of n / 2^32 is far below what a search can notice.
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(((next() >> 32) * n) >> 32); }

    // Uniform in [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    static uint64_t rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

    uint64_t s_[4];
};

}  // namespace anycsp::local
