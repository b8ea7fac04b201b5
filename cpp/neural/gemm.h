// Small matrix products out = in · W (+ start), rows of `in` against packed weights.
//
// Weights are packed in panels of kTileVectors vectors of outputs, each panel [inputs][panel width], so that the
// inner loop reads them in order. A tile of kTileRows × one panel accumulates in registers over all inputs;
// every output is the same chain of multiply-adds whatever tile it falls into, so results do not depend on blocks.
#pragma once

#include "core/simd.h"
#include "neural/kernels.h"

namespace {

using anycsp::Ahead;
using anycsp::Matrix;

enum class Start { bias, accumulate };  // begin at the bias, or at what `out` holds
enum class Finish { plain, relu };

constexpr int kPanel = kTileVectors * kLanes;

template <int ROWS, int VECTORS, Start START, Finish FINISH>
inline void tile(const float* in, int in_stride, int first, int inputs, const float* weights, const float* bias,
                 float* out, int out_stride) {
    Vec acc[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j)
            acc[i][j] = load((START == Start::bias ? bias : out + i * out_stride) + j * kLanes);
    // Unrolled: what the loop itself costs would else take turns from the multiply-adds, which two ports share with it.
#pragma GCC unroll 4
    for (int k = first; k < inputs; ++k) {
        Vec w[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) w[j] = load(weights + k * VECTORS * kLanes + j * kLanes);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) acc[i][j] += in[i * in_stride + k] * w[j];
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j)
            store(out + i * out_stride + j * kLanes, FINISH == Finish::relu ? positive(acc[i][j]) : acc[i][j]);
}

// Cache lines asked for at every tile. Far more at once would be dropped: a processor has only so many under way.
constexpr int kLinesPerTile = 64, kLine = 64 / sizeof(float);

inline void fetch(Ahead& ahead) {
    for (int lines = 0; lines < kLinesPerTile && ahead.at < ahead.end; ++ahead.at) {
        const float* row = ahead.base + int64_t(*ahead.at) * ahead.row;
        for (int j = 0; j < ahead.row; j += kLine, ++lines) __builtin_prefetch(row + j, 0, 2);
    }
}

template <int VECTORS, Start START, Finish FINISH>
inline void panel(const float* in, int in_stride, int rows, int first, int inputs, const float* weights,
                  const float* bias, float* out, int out_stride, Ahead& ahead) {
    int i = 0;
    auto tiles = [&](auto size) {
        constexpr int ROWS = decltype(size)::value;
        for (; i + ROWS <= rows; i += ROWS) {
            fetch(ahead);
            tile<ROWS, VECTORS, START, FINISH>(in + i * in_stride, in_stride, first, inputs, weights, bias,
                                               out + i * out_stride, out_stride);
        }
    };
    tiles(Constant<kTileRows>{});
    if constexpr (kTileRows > 8) tiles(Constant<8>{});
    tiles(Constant<4>{});
    tiles(Constant<2>{});
    tiles(Constant<1>{});
}

// Rows of `in` (stride in_stride) times the matrix into rows of `out`.
template <Start START = Start::bias, Finish FINISH = Finish::plain>
void multiply(const Matrix& m, const float* in, int in_stride, int rows, float* out, int out_stride, Ahead& ahead) {
    const float* weights = m.packed;
    int column = 0;
    for (; column + kPanel <= m.outputs; column += kPanel) {
        int first = m.triangular ? column : 0;  // an upper triangular factor needs no input before its diagonal
        panel<kTileVectors, START, FINISH>(in, in_stride, rows, first, m.inputs, weights, m.bias + column, out + column,
                                           out_stride, ahead);
        weights += m.inputs * kPanel;
    }
    for (; column < m.outputs; column += kLanes) {
        int first = m.triangular ? column : 0;
        panel<1, START, FINISH>(in, in_stride, rows, first, m.inputs, weights, m.bias + column, out + column,
                                out_stride, ahead);
        weights += m.inputs * kLanes;
    }
}

}  // namespace
