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
    for (int i = 0; i < rows; ++i, in += stride) {
        Vec sum{};
        for (int j = 0; j < width; j += kLanes) sum += load(in + j) * load(in + j);
        result[i] = horizontal_sum(sum);
    }
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
inline void standardise(const float* in, int rows, int width, int count, float* out) {
    const float scale = 1.f / static_cast<float>(count);
    for (int i = 0; i < rows; ++i, in += width, out += width) {
        Vec sum{};
        for (int j = 0; j < width; j += kLanes) sum += load(in + j);
        float mean = horizontal_sum(sum) * scale;
        Vec square{};
        for (int j = 0; j < width; j += kLanes) {
            Vec centred = load(in + j) - mean;
            square += centred * centred;
        }
        // the padding contributed mean² for each of its features
        float variance = (horizontal_sum(square) - mean * mean * static_cast<float>(width - count)) * scale;
        float inverse = 1.f / __builtin_sqrtf(variance + kEpsilon);
        for (int j = 0; j < width; j += kLanes) store(out + j, (load(in + j) - mean) * inverse);
        for (int j = count; j < width; ++j) out[j] = 0;
    }
}

// h' = (1 − z)·n + z·h with z = σ(g_z), n = tanh(i_n + σ(g_r)·h_n); gates rows are [g_r, g_z].
// With A = 1 + e^(−g_z) and B = e^(2·s) + 1, n = 1 − 2/B and z = 1/A, so one division serves both.
inline void gru(const float* gates, const float* new_input, const float* new_hidden, int rows, int width,
                float* state) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < width; j += kLanes) {
            const float* g = gates + i * 2 * width + j;
            Vec reset = 1.f / (1.f + exp(-load(g)));
            Vec s = load(new_input + i * width + j) + reset * load(new_hidden + i * width + j);
            const Vec limit = splat(25.f);  // σ and tanh are 0 or 1 to float precision well before
            Vec a = 1.f + exp(min(max(-load(g + width), -limit), limit));
            Vec b = 1.f + exp(min(max(2.f * s, -limit), limit));
            Vec h = load(state + i * width + j);
            store(state + i * width + j, ((a - 1.f) * (b - 2.f) + h * b) / (a * b));
        }
}

// logits[i] = ⟨row_i, weights⟩ + bias
inline void dots(const float* in, int rows, int width, const float* weights, float bias, float* logits) {
    for (int i = 0; i < rows; ++i, in += width) {
        Vec sum{};
        for (int j = 0; j < width; j += kLanes) sum += load(in + j) * load(weights + j);
        logits[i] = horizontal_sum(sum) + bias;
    }
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
