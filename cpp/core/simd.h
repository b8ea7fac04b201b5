// Vectors through compiler vector types: the width follows from the flags this file is compiled with, so one
// source serves SSE, AVX2, AVX-512 and NEON. Everything is in an anonymous namespace: the same file is compiled
// several times with different flags, and no instantiation may leak from one level to another.
#pragma once

#include <cstdint>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16, kTileRows = 12, kTileVectors = 2;  // 24 of 32 registers accumulate
#elif defined(__AVX__)
constexpr int kLanes = 8, kTileRows = 6, kTileVectors = 2;  // 12 of 16
#elif defined(__aarch64__)
constexpr int kLanes = 4, kTileRows = 6, kTileVectors = 4;  // 24 of 32
#else
constexpr int kLanes = 4, kTileRows = 6, kTileVectors = 2;  // 12 of 16
#endif

// A number as a type: lets a lambda have it as a compile-time constant.
template <int N>
struct Constant {
    static constexpr int value = N;
};

// aligned(4): rows are aligned in practice, but nothing here relies on it. may_alias: they view plain floats.
typedef float Vec __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

inline Vec load(const float* p) { return *reinterpret_cast<const Vec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
inline IntVec load_int(const float* p) { return *reinterpret_cast<const IntVec*>(p); }
inline void store_int(float* p, IntVec v) { *reinterpret_cast<IntVec*>(p) = v; }
inline Vec as_float(IntVec v) { return reinterpret_cast<Vec&>(v); }
inline IntVec as_int(Vec v) { return reinterpret_cast<IntVec&>(v); }
inline Vec splat(float x) { return Vec{} + x; }
inline IntVec splat(int32_t x) { return IntVec{} + x; }
#if defined(__AVX512F__)  // gcc does not turn the ternary into the one instruction at this width
inline Vec max(Vec a, Vec b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
inline Vec min(Vec a, Vec b) { return _mm512_maskz_min_ps(0xFFFF, a, b); }
#else
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
#endif
inline Vec positive(Vec a) { return max(a, Vec{}); }

// Adds the halves of a vector until one number is left; a fixed order, so sums do not depend on alignment.
template <int LANES>
struct Halves {
    typedef float Whole __attribute__((vector_size(LANES * 4)));
    typedef float Half __attribute__((vector_size(LANES * 2)));
    static float sum(Whole v) {
        Half half[2];
        __builtin_memcpy(half, &v, sizeof v);
        return Halves<LANES / 2>::sum(half[0] + half[1]);
    }
};
template <>
struct Halves<2> {
    typedef float Whole __attribute__((vector_size(8)));
    static float sum(Whole v) { return v[0] + v[1]; }
};
inline float horizontal_sum(Vec v) { return Halves<kLanes>::sum(v); }

// e^x to 2 ulp for |x| ≤ 87, saturating beyond: x = n·ln 2 + r, e^r by its minimax polynomial, 2^n by exponent bits.
inline Vec exp(Vec x) {
    const float round = 12582912.f;  // 1.5·2^23: adding it rounds to an integer, kept in the low mantissa bits
    x = min(max(x, splat(-87.f)), splat(87.f));
    Vec shifted = x * 1.44269504088896341f + round;
    Vec n = shifted - round;
    Vec r = x - n * 0.693359375f + n * 2.12194440e-4f;
    Vec p = splat(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.f;
    return p * as_float((as_int(shifted) << 23) + (127 << 23));
}

}  // namespace
