// C = A·B (+ bias, or + C) for matrices that lie in cache: A by two strides, so that it may be a transpose; B and C rows
// of whole vectors. As in gemm.h every output is one chain of multiply-adds, whatever tile it falls into.
#pragma once

#include "training/simd.h"

namespace {

enum class Begin { zero, bias, accumulate };

template <class T>
struct Product {
    const T* a;
    int64_t a_row, a_inner;
    const T* b;
    int64_t b_row;
    T* c;
    int64_t c_row;
    int inner;
    const T* bias;
    bool relu;
};

template <Begin BEGIN, int ROWS, int VECTORS, class T>
inline void product_tile(const Product<T>& p, int row, int column) {
    using V = VectorOf<T>;
    constexpr int lanes = kLanesOf<T>;
    V acc[ROWS][VECTORS];
    T* c = p.c + row * p.c_row + column;
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j)
            acc[i][j] = BEGIN == Begin::zero
                            ? V{}
                            : load((BEGIN == Begin::bias ? p.bias + column : c + i * p.c_row) + j * lanes);
    const T* a = p.a + row * p.a_row;
    const T* b = p.b + column;
    const int64_t a_row = p.a_row, a_inner = p.a_inner, b_row = p.b_row;
    for (int k = 0; k < p.inner; ++k, a += a_inner, b += b_row) {
        V w[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) w[j] = load(b + j * lanes);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) acc[i][j] += a[i * a_row] * w[j];
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) store(c + i * p.c_row + j * lanes, p.relu ? positive(acc[i][j]) : acc[i][j]);
}

template <Begin BEGIN, int VECTORS, class T>
inline void product_panel(const Product<T>& p, int rows, int column) {
    int i = 0;
    auto tiles = [&](auto size) {
        constexpr int ROWS = decltype(size)::value;
        for (; i + ROWS <= rows; i += ROWS) product_tile<BEGIN, ROWS, VECTORS>(p, i, column);
    };
    tiles(Constant<kTileRows>{});
    if constexpr (kTileRows > 8) tiles(Constant<8>{});
    tiles(Constant<4>{});
    tiles(Constant<2>{});
    tiles(Constant<1>{});
}

template <Begin BEGIN, class T>
inline void product(const Product<T>& p, int rows, int columns) {
    constexpr int lanes = kLanesOf<T>;
    int column = 0;
    for (; column + kTileVectors * lanes <= columns; column += kTileVectors * lanes)
        product_panel<BEGIN, kTileVectors>(p, rows, column);
    for (; column < columns; column += lanes) product_panel<BEGIN, 1>(p, rows, column);
}

// sums[j] += Σ_rows a[i][j]
template <class T>
inline void add_columns(const T* a, int64_t stride, int rows, int width, T* sums) {
    constexpr int lanes = kLanesOf<T>;
    for (int j = 0; j < width; j += lanes) {
        VectorOf<T> sum = load(sums + j);
        for (int i = 0; i < rows; ++i) sum += load(a + i * stride + j);
        store(sums + j, sum);
    }
}

// Rows of `features` into rows of `width`, the rest zero; `plus` is added where it is not null.
template <class T>
inline void pad_rows(const T* from, const T* plus, int rows, int features, int width, T* to) {
    for (int i = 0; i < rows; ++i, from += features, to += width) {
        for (int j = 0; j < features; ++j) to[j] = from[j];
        if (plus) {
            for (int j = 0; j < features; ++j) to[j] += plus[j];
            plus += features;
        }
        for (int j = features; j < width; ++j) to[j] = 0;
    }
}

}  // namespace
