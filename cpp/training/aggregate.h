// ⊕: gather messages and reduce them per receiver; backward, every sender collects from its receivers, so that no two
// sums meet in one place and the order of every sum is fixed.
#pragma once

#include "training/ops.h"
#include "training/simd.h"

namespace {

using anycsp::Aggregate;
using anycsp::Aggregation;
using anycsp::Edges;

// One scalar as a vector of one lane, for the features that fill no vector.
template <class T>
struct Single {
    using Vector = T;
    using Integers = typename Simd<T>::Integer;
    static constexpr int lanes = 1;
    static Vector get(const T* p) { return *p; }
    static void put(T* p, Vector v) { *p = v; }
    static Integers get_integers(const Integers* p) { return *p; }
    static void put_integers(Integers* p, Integers v) { *p = v; }
};
template <class T>
struct Whole {
    using Vector = VectorOf<T>;
    using Integers = typename Simd<T>::Integers;
    using Integer = typename Simd<T>::Integer;
    static constexpr int lanes = kLanesOf<T>;
    static Vector get(const T* p) { return load(p); }
    static void put(T* p, Vector v) { store(p, v); }
    static Integers get_integers(const Integer* p) { return load_integers(p); }
    static void put_integers(Integer* p, Integers v) { store_integers(p, v); }
};

// Calls body(feature, Whole or Single, vectors) until all features are done, several vectors at a time.
template <class T, class Body>
inline void over_features(int features, Body body) {
    constexpr int lanes = kLanesOf<T>;
    int j = 0;
    for (; j + 4 * lanes <= features; j += 4 * lanes) body(j, Whole<T>{}, Constant<4>{});
    for (; j + 2 * lanes <= features; j += 2 * lanes) body(j, Whole<T>{}, Constant<2>{});
    for (; j + lanes <= features; j += lanes) body(j, Whole<T>{}, Constant<1>{});
    for (; j < features; ++j) body(j, Single<T>{}, Constant<1>{});
}

template <class T, bool LABELLED>
inline void aggregate_run(const Aggregate<T>& a, int64_t run) {
    using Integer = typename Simd<T>::Integer;
    const Edges& e = *a.edges;
    const int d = a.features;
    const uint8_t* labels = LABELLED ? a.labels + run * e.edges : nullptr;
    const T* messages = a.messages + run * e.senders * (LABELLED ? 2 : 1) * d;
    auto row = [&](int32_t k) {
        return messages + (LABELLED ? 2 * int64_t(e.sender[k]) + (labels[e.edge[k]] != 0) : int64_t(e.sender[k])) * d;
    };
    over_features<T>(d, [&](int first, auto kind, auto count) {
        using K = decltype(kind);
        using V = typename K::Vector;
        constexpr int VECTORS = decltype(count)::value;
        for (int32_t r = 0; r < e.receivers; ++r) {
            const int32_t begin = e.start[r], end = e.start[r + 1];
            T* out = a.out + (run * e.receivers + r) * d + first;
            V acc[VECTORS];
            if (a.how == Aggregation::max) {
                typename K::Integers argument[VECTORS];
                for (int j = 0; j < VECTORS; ++j) {
                    acc[j] = V{};
                    argument[j] = typename K::Integers{} - 1;
                }
                if (begin < end) {
                    const T* m = row(begin) + first;
                    for (int j = 0; j < VECTORS; ++j) {
                        acc[j] = K::get(m + j * K::lanes);
                        argument[j] = typename K::Integers{} + Integer(e.edge[begin]);
                    }
                }
                for (int32_t k = begin + 1; k < end; ++k) {
                    const T* m = row(k) + first;
                    const typename K::Integers here = typename K::Integers{} + Integer(e.edge[k]);
                    for (int j = 0; j < VECTORS; ++j) {
                        const V v = K::get(m + j * K::lanes);
                        argument[j] = v > acc[j] ? here : argument[j];
                        acc[j] = v > acc[j] ? v : acc[j];
                    }
                }
                Integer* to = a.argument + (run * e.receivers + r) * d + first;
                for (int j = 0; j < VECTORS; ++j) K::put_integers(to + j * K::lanes, argument[j]);
            } else {
                for (int j = 0; j < VECTORS; ++j) acc[j] = V{};
                for (int32_t k = begin; k < end; ++k) {
                    const T* m = row(k) + first;
                    for (int j = 0; j < VECTORS; ++j) acc[j] += K::get(m + j * K::lanes);
                }
                if (a.how == Aggregation::mean && begin < end) {
                    const T share = T(1) / (end - begin);
                    for (int j = 0; j < VECTORS; ++j) acc[j] *= share;
                }
            }
            for (int j = 0; j < VECTORS; ++j) K::put(out + j * K::lanes, acc[j]);
        }
    });
}

template <class T, bool LABELLED>
inline void aggregate_back_run(const Aggregate<T>& a, int64_t run) {
    using Integer = typename Simd<T>::Integer;
    const Edges& e = *a.edges;
    const int d = a.features;
    const uint8_t* labels = LABELLED ? a.labels + run * e.edges : nullptr;
    const T* given = a.out_gradient + run * e.receivers * d;
    const Integer* argument = a.how == Aggregation::max ? a.argument + run * e.receivers * d : nullptr;
    over_features<T>(d, [&](int first, auto kind, auto count) {
        using K = decltype(kind);
        using V = typename K::Vector;
        constexpr int VECTORS = decltype(count)::value;
        for (int32_t s = 0; s < e.senders; ++s) {
            V acc[LABELLED ? 2 : 1][VECTORS];
            for (auto& of_label : acc)
                for (int j = 0; j < VECTORS; ++j) of_label[j] = V{};
            for (int32_t k = e.back_start[s]; k < e.back_start[s + 1]; ++k) {
                const int32_t r = e.receiver[k], edge = e.back_edge[k];
                const T* from = given + int64_t(r) * d + first;
                const T one = LABELLED ? T(labels[edge] != 0) : T(0);
                const T share = a.how == Aggregation::mean ? T(1) / (e.start[r + 1] - e.start[r]) : T(1);
                for (int j = 0; j < VECTORS; ++j) {
                    V v = K::get(from + j * K::lanes);
                    if (a.how == Aggregation::max) {
                        const auto source = K::get_integers(argument + int64_t(r) * d + first + j * K::lanes);
                        v = source == typename K::Integers{} + Integer(edge) ? v : V{};
                    } else if (a.how == Aggregation::mean) {
                        v *= share;
                    }
                    if constexpr (LABELLED) {
                        acc[1][j] += v * one;
                        acc[0][j] += v * (1 - one);
                    } else {
                        acc[0][j] += v;
                    }
                }
            }
            T* to = a.gradient + (run * e.senders + s) * (LABELLED ? 2 : 1) * d + first;
            for (int l = 0; l < (LABELLED ? 2 : 1); ++l)
                for (int j = 0; j < VECTORS; ++j) K::put(to + l * d + j * K::lanes, acc[l][j]);
        }
    });
}

template <class T>
void aggregate_forward(const Aggregate<T>& a) {
    for (int64_t run = 0; run < a.runs; ++run)
        a.edges->labelled ? aggregate_run<T, true>(a, run) : aggregate_run<T, false>(a, run);
}

template <class T>
void aggregate_backward(const Aggregate<T>& a) {
    for (int64_t run = 0; run < a.runs; ++run)
        a.edges->labelled ? aggregate_back_run<T, true>(a, run) : aggregate_back_run<T, false>(a, run);
}

}  // namespace
