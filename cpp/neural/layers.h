// Row-wise pieces between the matrix products: LayerNorm, pooling, the GRU's gates, softmax sampling.
#pragma once

#include "core/simd.h"
#include "neural/gemm.h"
#include "neural/kernels.h"
#include "neural/randomness.h"

namespace {

using anycsp::Norm;

constexpr float kEpsilon = 1e-5f;  // of nn.LayerNorm

// result[i] = Σ_j row_i[j]², rows of `width` floats (a multiple of the vector).
inline void squares(const float* in, int stride, int rows, int width, float* result) {
    horizontal_sums(rows, result, [&](int i) {
        Vec sum{};
        for (int j = 0; j < width; j += kLanes) sum += load(in + i * stride + j) * load(in + i * stride + j);
        return sum;
    });
}

// Sums of squares of rows with mean 0 over `count` features → 1/√(variance + ε).
inline void inverse_deviation(float* result, int rows, int count) {
    const float scale = 1.f / static_cast<float>(count);
    for (int i = 0; i < rows; ++i) result[i] = 1.f / __builtin_sqrtf(result[i] * scale + kEpsilon);
}

// LayerNorm of rows that are centred already (their matrix was), over `count` features; out may be in.
inline void normalise(const Norm& norm, const float* in, int in_stride, int rows, int width, int count, float* scalar,
                      float* out, int out_stride) {
    squares(in, in_stride, rows, width, scalar);
    inverse_deviation(scalar, rows, count);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < width; j += kLanes)
            store(out + i * out_stride + j,
                  load(in + i * in_stride + j) * scalar[i] * load(norm.scale + j) + load(norm.shift + j));
}

// (row − mean)/deviation without scale and shift, which the next matrix has absorbed. Padding stays zero.
inline void standardise(const float* in, int rows, int width, int count, float* scalar, float* out) {
    const float scale = 1.f / static_cast<float>(count);
    horizontal_sums(rows, scalar, [&](int i) {
        Vec sum{};
        for (int j = 0; j < width; j += kLanes) sum += load(in + i * width + j);
        return sum;
    });
    for (int i = 0; i < rows; ++i) {
        const float mean = scalar[i] * scale;
        for (int j = 0; j < width; j += kLanes) store(out + i * width + j, load(in + i * width + j) - mean);
        for (int j = count; j < width; ++j) out[i * width + j] = 0;
    }
    squares(out, width, rows, width, scalar);
    inverse_deviation(scalar, rows, count);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < width; j += kLanes) store(out + i * width + j, load(out + i * width + j) * scalar[i]);
}

// h' = (1 − z)·n + z·h with z = σ(g_z), n = tanh(s) and s = i_n + σ(g_r)·h_n; gates rows are [g_r, g_z].
// With A = 1 + e^(−g_z) and B = e^(2·s) + 1, n = 1 − 2/B and z = 1/A, so one division serves both.
template <int ROWS>
inline void gru(const float* gates, const float* new_input, const float* new_hidden, int width, float* state) {
    constexpr float limit = 25.f;  // σ and tanh are 0 or 1 to float precision well before
    Vec reset[ROWS], a[ROWS], b[ROWS];
#define EACH _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < width; j += kLanes) {
        EACH reset[i] = clamped(-load(gates + i * 2 * width + j), 87.f);
        exp_in_range(reset);
        EACH reset[i] = 1.f / (1.f + reset[i]);
        EACH b[i] = load(new_input + i * width + j) + reset[i] * load(new_hidden + i * width + j);
        EACH b[i] = clamped(2.f * b[i], limit);
        exp_in_range(b);
        EACH b[i] = 1.f + b[i];
        EACH a[i] = clamped(-load(gates + i * 2 * width + width + j), limit);
        exp_in_range(a);
        EACH a[i] = 1.f + a[i];
        EACH {
            float* h = state + i * width + j;
            store(h, ((a[i] - 1.f) * (b[i] - 2.f) + load(h) * b[i]) / (a[i] * b[i]));
        }
    }
#undef EACH
}

inline void gru(const float* gates, const float* new_input, const float* new_hidden, int rows, int width,
                float* state) {
    constexpr int kRows = 6;  // the fastest of 2, 3, 4, 6 with AVX2, of 4, 6, 8 with AVX-512 (research/speed.md)
    int i = 0;
    for (; i + kRows <= rows; i += kRows)
        gru<kRows>(gates + i * 2 * width, new_input + i * width, new_hidden + i * width, width, state + i * width);
    for (; i < rows; ++i)
        gru<1>(gates + i * 2 * width, new_input + i * width, new_hidden + i * width, width, state + i * width);
}

// logits[i] = ⟨row_i, weights⟩ + bias
inline void dots(const float* in, int rows, int width, const float* weights, float bias, float* logits) {
    horizontal_sums(rows, logits, [&](int i) {
        Vec sum{};
        for (int j = 0; j < width; j += kLanes) sum += load(in + i * width + j) * load(weights + j);
        return sum;
    });
    for (int i = 0; i < rows; ++i) logits[i] += bias;
}

// The first position whose cumulative weight exceeds u·total; `fallback` where no weight is a number.
inline int32_t draw(const float* weight, int32_t count, float u, int32_t fallback) {
    float total = 0, cumulative = 0;
    for (int32_t i = 0; i < count; ++i) total += weight[i];
    const float threshold = u * total;
    for (int32_t i = 0; i < count; ++i) {
        cumulative += weight[i];
        if (cumulative > threshold) return i;
    }
    return fallback;
}

}  // namespace
