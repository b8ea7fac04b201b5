// Vectors of float and of double behind the same names, for kernels written once for both.
#pragma once

#include "core/simd.h"

namespace {

typedef double DoubleVec __attribute__((vector_size(kLanes * 4), aligned(8), may_alias));
typedef int64_t LongVec __attribute__((vector_size(kLanes * 4), aligned(8), may_alias));

inline DoubleVec load(const double* p) { return *reinterpret_cast<const DoubleVec*>(p); }
inline void store(double* p, DoubleVec v) { *reinterpret_cast<DoubleVec*>(p) = v; }
inline DoubleVec max(DoubleVec a, DoubleVec b) { return a > b ? a : b; }
inline DoubleVec positive(DoubleVec a) { return max(a, DoubleVec{}); }

inline double horizontal_sum(DoubleVec v) {
    double sum = 0;
    for (int i = 0; i < kLanes / 2; ++i) sum += v[i];
    return sum;
}

inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }

inline DoubleVec exp(DoubleVec v) {
    for (int i = 0; i < kLanes / 2; ++i) v[i] = __builtin_exp(v[i]);
    return v;
}

template <class T>
struct Simd;
template <>
struct Simd<float> {
    using Vector = Vec;
    using Integers = IntVec;
    using Integer = int32_t;
    static constexpr int lanes = kLanes;
};
template <>
struct Simd<double> {
    using Vector = DoubleVec;
    using Integers = LongVec;
    using Integer = int64_t;
    static constexpr int lanes = kLanes / 2;
};

template <class T>
using VectorOf = typename Simd<T>::Vector;
template <class T>
constexpr int kLanesOf = Simd<T>::lanes;

inline IntVec load_integers(const int32_t* p) { return *reinterpret_cast<const IntVec*>(p); }
inline LongVec load_integers(const int64_t* p) { return *reinterpret_cast<const LongVec*>(p); }
inline void store_integers(int32_t* p, IntVec v) { *reinterpret_cast<IntVec*>(p) = v; }
inline void store_integers(int64_t* p, LongVec v) { *reinterpret_cast<LongVec*>(p) = v; }

template <class V>
inline V sigmoid(V v) {
    return 1 / (1 + exp(-v));
}
template <class V>
inline V hyperbolic_tangent(V v) {
    return 1 - 2 / (1 + exp(2 * v));
}

}  // namespace
