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

// result[i] = horizontal_sum(row(i)), the same additions. With AVX-512 the halves of 16 rows at a time are added side by
// side, which takes two shuffles and one addition per row in place of four of each, one after the other.
template <class Row>
inline void horizontal_sums(int rows, float* result, Row row) {
    int first = 0;
#if defined(__AVX512F__)
    for (; first + kLanes <= rows; first += kLanes) {
        __m512 halves[8], quarters[4], pairs[2];
#define TWO(shuffle, a, b, low, high) (shuffle(a, b, low) + shuffle(a, b, high))
#define EACH(count) _Pragma("GCC unroll 8") for (int i = 0; i < count; ++i)
        EACH(8) {  // rows 0 and 4, 8 and 12, 1 and 5, …: so they come out in order
            const __m512 a = row(first + i / 2 + i % 2 * 8), b = row(first + i / 2 + i % 2 * 8 + 4);
            halves[i] = TWO(_mm512_shuffle_f32x4, a, b, 0x44, 0xEE);
        }
        EACH(4) quarters[i] = TWO(_mm512_shuffle_f32x4, halves[2 * i], halves[2 * i + 1], 0x88, 0xDD);
        EACH(2) pairs[i] = TWO(_mm512_shuffle_ps, quarters[2 * i], quarters[2 * i + 1], 0x44, 0xEE);
        store(result + first, TWO(_mm512_shuffle_ps, pairs[0], pairs[1], 0x88, 0xDD));
#undef EACH
#undef TWO
    }
#endif
    for (; first < rows; ++first) result[first] = horizontal_sum(row(first));
}

// e^x to 2 ulp for |x| ≤ 87: x = n·ln 2 + r, e^r by its minimax polynomial, 2^n by exponent bits. Several at a time, step
// by step: each is one long chain, of which a processor must have eight under way to be busy.
template <int N>
inline void exp_in_range(Vec (&x)[N]) {
    const float round = 12582912.f;  // 1.5·2^23: adding it rounds to an integer, kept in the low mantissa bits
    Vec shifted[N], r[N], p[N];
#define EACH _Pragma("GCC unroll 8") for (int i = 0; i < N; ++i)
    EACH shifted[i] = x[i] * 1.44269504088896341f + round;
    EACH p[i] = shifted[i] - round;
    EACH r[i] = x[i] - p[i] * 0.693359375f;
    EACH r[i] = r[i] + p[i] * 2.12194440e-4f;
    EACH p[i] = r[i] * 1.9875691500e-4f + 1.3981999507e-3f;
    EACH p[i] = p[i] * r[i] + 8.3334519073e-3f;
    EACH p[i] = p[i] * r[i] + 4.1665795894e-2f;
    EACH p[i] = p[i] * r[i] + 1.6666665459e-1f;
    EACH p[i] = p[i] * r[i] + 5.0000001201e-1f;
    EACH p[i] = p[i] * r[i];
    EACH p[i] = p[i] * r[i] + r[i];
    EACH p[i] = p[i] + 1.f;
    EACH x[i] = p[i] * as_float((as_int(shifted[i]) << 23) + (127 << 23));
#undef EACH
}

inline Vec clamped(Vec x, float limit) { return min(max(x, splat(-limit)), splat(limit)); }

inline Vec exp(Vec x) {  // saturates beyond
    Vec one[1] = {clamped(x, 87.f)};
    exp_in_range(one);
    return one[0];
}

}  // namespace
