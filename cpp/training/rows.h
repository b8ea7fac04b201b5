// Row-wise networks: Linear, ReLU and LayerNorm over blocks of rows, forward and backward.
#pragma once

#include "training/ops.h"
#include "training/product.h"

namespace {

using anycsp::kOpRows;
using anycsp::Layer;
using anycsp::Rows;

// out = (in − mean)/deviation · scale + shift, unless it is null; keeps mean and 1/deviation of each row.
template <class T>
inline void norm_forward(const Layer<T>& layer, const T* in, int rows, T* out, T* mean, T* inverse) {
    constexpr int lanes = kLanesOf<T>;
    using V = VectorOf<T>;
    const int width = layer.width;
    const T share = T(1) / layer.inputs, padding = T(width - layer.inputs);
    for (int i = 0; i < rows; ++i, in += width) {
        V sum{};
        for (int j = 0; j < width; j += lanes) sum += load(in + j);
        const T m = horizontal_sum(sum) * share;
        V square{};
        for (int j = 0; j < width; j += lanes) {
            const V centred = load(in + j) - m;
            square += centred * centred;
        }
        const T variance = (horizontal_sum(square) - m * m * padding) * share;  // padding added mean² each
        const T scale = 1 / square_root(variance + T(1e-5));
        mean[i] = m;
        inverse[i] = scale;
        if (!out) continue;
        for (int j = 0; j < width; j += lanes)
            store(out + j, (load(in + j) - m) * scale * load(layer.transposed + j) + load(layer.bias + j));
        out += width;
    }
}

// Replaces the gradient of the output, in `gradient`, by that of the input; adds those of scale and shift.
template <class T>
inline void norm_backward(const Layer<T>& layer, const T* in, int rows, const T* mean, const T* inverse, T* gradient) {
    constexpr int lanes = kLanesOf<T>;
    using V = VectorOf<T>;
    const int width = layer.width;
    const T share = T(1) / layer.inputs;
    for (int i = 0; i < rows; ++i, in += width, gradient += width) {
        V sum{}, along{};
        for (int j = 0; j < width; j += lanes) {
            const V standard = (load(in + j) - mean[i]) * inverse[i];
            const V outer = load(gradient + j);
            store(layer.weight_gradient + j, load(layer.weight_gradient + j) + outer * standard);
            store(layer.bias_gradient + j, load(layer.bias_gradient + j) + outer);
            const V inner = outer * load(layer.transposed + j);
            sum += inner;
            along += inner * standard;
        }
        const T mean_gradient = horizontal_sum(sum) * share, mean_along = horizontal_sum(along) * share;
        for (int j = 0; j < width; j += lanes) {
            const V standard = (load(in + j) - mean[i]) * inverse[i];
            const V inner = load(gradient + j) * load(layer.transposed + j);
            store(gradient + j, (inner - mean_gradient - standard * mean_along) * inverse[i]);
        }
    }
}

// The buffers of a block: activations one after the other (0 is the input), row statistics of norms, gradients.
template <class T>
struct RowBuffers {
    static constexpr int kMostLayers = 16;
    T *activation[kMostLayers + 1], *mean[kMostLayers], *inverse[kMostLayers], *gradient, *other;

    explicit RowBuffers(const Rows<T>& r) {
        T* at = r.scratch;
        auto take = [&](int64_t width) {
            T* taken = at;
            at += kOpRows * width;
            return taken;
        };
        activation[0] = take(r.layers[0].input_width);
        int64_t widest = r.layers[0].input_width;
        for (int i = 0; i < r.count; ++i) {
            activation[i + 1] = take(r.layers[i].width);
            widest = widest > r.layers[i].width ? widest : r.layers[i].width;
        }
        gradient = take(widest);
        other = take(widest);
        for (int i = 0; i < r.count; ++i) {
            mean[i] = r.layers[i].norm ? take(1) : nullptr;
            inverse[i] = r.layers[i].norm ? take(1) : nullptr;
        }
    }
};

// The input of a block: rows of whole vectors are read where they are, others are copied together.
template <class T>
inline void take_input(const Rows<T>& r, RowBuffers<T>& b, int64_t begin, int rows) {
    const int features = r.layers[0].inputs - r.constants, width = r.layers[0].input_width;
    const T* first = r.first + begin * features;
    if (features == width && !r.second) {
        b.activation[0] = const_cast<T*>(first);  // never written
        return;
    }
    pad_rows(first, r.second ? r.second + begin * features : nullptr, rows, features, width, b.activation[0]);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < r.constants; ++j)
            b.activation[0][i * width + features + j] = r.constant[(begin + i) * r.constants + j];
}

template <class T>
inline void run_layers(const Rows<T>& r, const RowBuffers<T>& b, int rows, int count) {
    for (int i = 0; i < count; ++i) {
        const Layer<T>& layer = r.layers[i];
        if (layer.norm)
            norm_forward(layer, b.activation[i], rows, b.activation[i + 1], b.mean[i], b.inverse[i]);
        else
            product<Begin::bias>(Product<T>{b.activation[i], layer.input_width, 1, layer.transposed, layer.width,
                                            b.activation[i + 1], layer.width, layer.inputs, layer.bias, layer.relu},
                                 rows, layer.width);
    }
}

template <class T>
void rows_forward(const Rows<T>& r) {
    RowBuffers<T> b(r);
    const Layer<T>& last = r.layers[r.count - 1];
    const bool direct = last.outputs == last.width && !r.residual;
    for (int64_t begin = 0; begin < r.rows; begin += kOpRows) {
        const int rows = static_cast<int>(r.rows - begin < kOpRows ? r.rows - begin : kOpRows);
        T* to = r.out + begin * last.outputs;
        if (direct) b.activation[r.count] = to;
        take_input(r, b, begin, rows);
        run_layers(r, b, rows, r.count);
        if (direct) continue;
        const T* from = b.activation[r.count];
        const T* skip = r.first + begin * last.outputs;
        for (int i = 0; i < rows; ++i, from += last.width, to += last.outputs, skip += last.outputs)
            for (int j = 0; j < last.outputs; ++j) to[j] = r.residual ? from[j] + skip[j] : from[j];
    }
}

template <class T>
void rows_backward(const Rows<T>& r) {
    RowBuffers<T> b(r);
    const int last = r.count - 1, outputs = r.layers[last].outputs, features = r.layers[0].inputs - r.constants;
    const bool direct = r.first_gradient && !r.second_gradient && !r.residual && !r.layers[0].norm &&
                        features == r.layers[0].input_width;  // the last product writes to its place
    for (int64_t begin = 0; begin < r.rows; begin += kOpRows) {
        const int rows = static_cast<int>(r.rows - begin < kOpRows ? r.rows - begin : kOpRows);
        take_input(r, b, begin, rows);
        // Of a norm at the end only the statistics are needed, of a plain linear layer nothing.
        run_layers(r, b, rows, r.layers[last].relu ? r.count : last);
        if (r.layers[last].norm)
            norm_forward<T>(r.layers[last], b.activation[last], rows, nullptr, b.mean[last], b.inverse[last]);
        const T* given = r.out_gradient + begin * outputs;
        T *gradient = b.gradient, *other = b.other;
        pad_rows<T>(given, nullptr, rows, outputs, r.layers[last].width, gradient);
        for (int k = last; k >= 0; --k) {
            const Layer<T>& layer = r.layers[k];
            const int width = layer.width, input_width = layer.input_width;
            if (layer.norm) {
                norm_backward(layer, b.activation[k], rows, b.mean[k], b.inverse[k], gradient);
                continue;
            }
            if (layer.relu)
                for (int64_t j = 0; j < int64_t(rows) * width; j += kLanesOf<T>)
                    store(gradient + j,
                          load(b.activation[k + 1] + j) > VectorOf<T>{} ? load(gradient + j) : VectorOf<T>{});
            add_columns(gradient, width, rows, width, layer.bias_gradient);
            product<Begin::accumulate>(Product<T>{gradient, 1, width, b.activation[k], input_width,
                                                  layer.weight_gradient, input_width, rows, nullptr, false},
                                       layer.outputs, input_width);
            if (k == 0 && !r.first_gradient && !r.second_gradient) break;
            if (k == 0 && direct) other = r.first_gradient + begin * features;
            product<Begin::zero>(Product<T>{gradient, width, 1, layer.weight, input_width, other, input_width,
                                            layer.outputs, nullptr, false},
                                 rows, input_width);
            T* swapped = gradient;
            gradient = other;
            other = swapped;
        }
        if (direct) continue;
        const int width = r.layers[0].input_width;
        for (int i = 0; i < rows; ++i) {
            const int64_t row = (begin + i) * features;
            if (r.second_gradient)
                for (int j = 0; j < features; ++j) r.second_gradient[row + j] = gradient[i * width + j];
            if (r.first_gradient)
                for (int j = 0; j < features; ++j)
                    r.first_gradient[row + j] =
                        r.residual ? gradient[i * width + j] + r.out_gradient[row + j] : gradient[i * width + j];
        }
    }
}

}  // namespace
