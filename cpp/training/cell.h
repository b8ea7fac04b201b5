// The GRU cell, forward and backward: h' = (1 − u)·n + u·h, u = σ(·), n = tanh(i_n + r·h_n), r = σ(·).
#pragma once

#include "training/ops.h"
#include "training/product.h"

namespace {

using anycsp::Cell;

template <class T>
struct CellBuffers {
    T *input, *state;              // [rows][width]
    T* gates;                      // [rows][2·width] r and u, before and after σ
    T *new_input, *new_state;      // [rows][width] i_n (then n) and h_n
    T *input_gates, *state_gates;  // [rows][3·width] gradients of what the two products gave
    T *gradient, *state_gradient;  // [rows][width]

    explicit CellBuffers(const Cell<T>& c) {
        T* at = c.scratch;
        auto take = [&](int64_t widths) {
            T* taken = at;
            at += anycsp::kOpRows * widths * c.width;
            return taken;
        };
        input = take(1);
        state = take(1);
        gates = take(2);
        new_input = take(1);
        new_state = take(1);
        input_gates = take(3);
        state_gates = take(3);
        gradient = take(1);
        state_gradient = take(1);
    }
};

// Gates of a block: r, u and n after their nonlinearities, h_n as it is.
template <class T>
inline void compute_gates(const Cell<T>& c, const CellBuffers<T>& b, int64_t begin, int rows) {
    constexpr int lanes = kLanesOf<T>;
    using V = VectorOf<T>;
    const int d = c.hidden, width = c.width;
    pad_rows<T>(c.input + begin * d, nullptr, rows, d, width, b.input);
    pad_rows<T>(c.state + begin * d, nullptr, rows, d, width, b.state);
    if (c.shared)
        for (int i = 0; i < rows; ++i) {
            const int64_t run = (begin + i) / c.values;
            const T* shared = c.shared + (run * c.owners + c.owner[begin + i - run * c.values]) * d;
            for (int j = 0; j < d; ++j) b.input[i * width + j] += shared[j];
        }
    const int64_t three = 3 * width;
    product<Begin::bias>(
        Product<T>{b.input, width, 1, c.input_transposed, three, b.gates, 2 * width, d, c.input_bias, false}, rows,
        2 * width);
    product<Begin::accumulate>(
        Product<T>{b.state, width, 1, c.state_transposed, three, b.gates, 2 * width, d, nullptr, false}, rows,
        2 * width);
    product<Begin::bias>(Product<T>{b.input, width, 1, c.input_transposed + 2 * width, three, b.new_input, width, d,
                                    c.input_bias + 2 * width, false},
                         rows, width);
    product<Begin::bias>(Product<T>{b.state, width, 1, c.state_transposed + 2 * width, three, b.new_state, width, d,
                                    c.state_bias + 2 * width, false},
                         rows, width);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < width; j += lanes) {
            T* gate = b.gates + i * 2 * width + j;
            const V reset = sigmoid(V(load(gate) + load(c.state_bias + j)));
            store(gate, reset);
            store(gate + width, sigmoid(V(load(gate + width) + load(c.state_bias + width + j))));
            T* fresh = b.new_input + i * width + j;
            store(fresh, hyperbolic_tangent(V(load(fresh) + reset * load(b.new_state + i * width + j))));
        }
}

template <class T>
void cell_forward(const Cell<T>& c) {
    const CellBuffers<T> b(c);
    const int d = c.hidden, width = c.width;
    for (int64_t begin = 0; begin < c.rows; begin += anycsp::kOpRows) {
        const int rows = static_cast<int>(c.rows - begin < anycsp::kOpRows ? c.rows - begin : anycsp::kOpRows);
        compute_gates(c, b, begin, rows);
        for (int i = 0; i < rows; ++i) {
            const T *update = b.gates + i * 2 * width + width, *fresh = b.new_input + i * width,
                    *h = b.state + i * width;
            T* out = c.out + (begin + i) * d;
            for (int j = 0; j < d; ++j) out[j] = fresh[j] + update[j] * (h[j] - fresh[j]);
        }
    }
}

template <class T>
void cell_backward(const Cell<T>& c) {
    constexpr int lanes = kLanesOf<T>;
    using V = VectorOf<T>;
    const CellBuffers<T> b(c);
    const int d = c.hidden, width = c.width, three = 3 * width;
    for (int64_t begin = 0; begin < c.rows; begin += anycsp::kOpRows) {
        const int rows = static_cast<int>(c.rows - begin < anycsp::kOpRows ? c.rows - begin : anycsp::kOpRows);
        compute_gates(c, b, begin, rows);
        pad_rows<T>(c.out_gradient + begin * d, nullptr, rows, d, width, b.gradient);
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < width; j += lanes) {
                const V reset = load(b.gates + i * 2 * width + j), update = load(b.gates + i * 2 * width + width + j);
                const V fresh = load(b.new_input + i * width + j), h = load(b.state + i * width + j);
                const V given = load(b.gradient + i * width + j), hidden = load(b.new_state + i * width + j);
                const V through = given * (1 - update) * (1 - fresh * fresh);
                const V of_reset = through * hidden * reset * (1 - reset);
                const V of_update = given * (h - fresh) * update * (1 - update);
                T *of_input = b.input_gates + i * three + j, *of_state = b.state_gates + i * three + j;
                store(of_input, of_reset);
                store(of_input + width, of_update);
                store(of_input + 2 * width, through);
                store(of_state, of_reset);
                store(of_state + width, of_update);
                store(of_state + 2 * width, through * reset);
                store(b.state_gradient + i * width + j, given * update);
            }
        add_columns(b.input_gates, three, rows, three, c.input_bias_gradient);
        add_columns(b.state_gates, three, rows, three, c.state_bias_gradient);
        product<Begin::accumulate>(
            Product<T>{b.input_gates, 1, three, b.input, width, c.input_weight_gradient, width, rows, nullptr, false},
            three, width);
        product<Begin::accumulate>(
            Product<T>{b.state_gates, 1, three, b.state, width, c.state_weight_gradient, width, rows, nullptr, false},
            three, width);
        product<Begin::zero>(
            Product<T>{b.input_gates, three, 1, c.input_weight, width, b.gradient, width, three, nullptr, false}, rows,
            width);
        product<Begin::accumulate>(
            Product<T>{b.state_gates, three, 1, c.state_weight, width, b.state_gradient, width, three, nullptr, false},
            rows, width);
        for (int i = 0; i < rows; ++i) {
            const int64_t row = begin + i, run = row / c.values;
            for (int j = 0; j < d; ++j) {
                c.input_gradient[row * d + j] = b.gradient[i * width + j];
                c.state_gradient[row * d + j] = b.state_gradient[i * width + j];
            }
            if (!c.shared) continue;
            T* shared = c.shared_gradient + (run * c.owners + c.owner[row - run * c.values]) * d;
            for (int j = 0; j < d; ++j) shared[j] += b.gradient[i * width + j];
        }
    }
}

}  // namespace
