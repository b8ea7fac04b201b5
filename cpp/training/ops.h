// The training ops as their kernels see them: plain pointers, and a table of functions compiled once per instruction
// set and scalar type (float to train, double to check gradients). No standard library type appears here, as in
// kernels.h. Every op goes over blocks of rows; the backward pass computes a block's activations again from the op's
// input, which is in cache by then, instead of keeping them for every step of a window.
#pragma once

#include <cstdint>

#include "neural/kernels.h"

namespace anycsp {

constexpr int32_t kOpRows = 48;  // rows of a block

// One layer of a row-wise network: Linear with or without ReLU, or LayerNorm. Arrays are padded with zeros.
template <class T>
struct Layer {
    bool norm, relu;
    int32_t inputs, outputs;        // features
    int32_t input_width, width;     // the same, padded to whole vectors
    const T* transposed = nullptr;  // Linear: [inputs][width];   LayerNorm: scale [width]
    const T* bias = nullptr;        // [width]
    const T* weight = nullptr;      // Linear: [outputs][input_width], backward pass only
    T* weight_gradient = nullptr;   // as `weight`;               LayerNorm: [width]
    T* bias_gradient = nullptr;     // [width]
};

// Rows through the layers: out = f([first + second, constant]) (+ first), all but `first` optional.
template <class T>
struct Rows {
    const Layer<T>* layers;
    int32_t count;
    bool residual;
    int64_t rows;
    const T *first, *second, *constant;
    int32_t constants;  // features of `constant`, the last of the input
    T* out;
    const T* out_gradient;
    T *first_gradient, *second_gradient;  // null where not wanted
    T* scratch;

    int64_t scratch_size() const {
        int64_t widest = layers[0].input_width, all = layers[0].input_width;
        for (int32_t i = 0; i < count; ++i) {
            all += layers[i].width + (layers[i].norm ? 2 : 0);
            widest = widest > layers[i].width ? widest : layers[i].width;
        }
        return kOpRows * (all + 2 * widest);
    }
};

// The GRU cell on z(v) + z(X): input row i adds row run·owners + owner[i mod values] of `shared`.
template <class T>
struct Cell {
    int32_t hidden, width;
    int64_t rows, values, owners;
    const T *input, *shared, *state;  // `shared` may be null
    const int32_t* owner;
    const T *input_transposed, *state_transposed;  // [width][3·width], gates r, z, n
    const T *input_bias, *state_bias;              // [3·width]
    const T *input_weight, *state_weight;          // [3·width][width], backward pass only
    T* out;
    const T* out_gradient;
    T *input_gradient, *shared_gradient, *state_gradient;
    T *input_weight_gradient, *state_weight_gradient, *input_bias_gradient, *state_bias_gradient;
    T* scratch;

    int64_t scratch_size() const { return int64_t(kOpRows) * width * 16; }
};

// Edges grouped by the vertex that receives a message and by the one that sends it. Labelled: a sender has two messages
// and the edge's label says which one goes.
struct Edges {
    bool labelled;
    int32_t receivers, senders, edges;
    const int32_t *start, *sender, *edge;              // [receivers + 1], [edges], [edges]
    const int32_t *back_start, *receiver, *back_edge;  // [senders + 1], [edges], [edges]
};

template <class T>
struct ArgumentOf;
template <>
struct ArgumentOf<float> {
    using type = int32_t;
};
template <>
struct ArgumentOf<double> {
    using type = int64_t;
};

template <class T>
struct Aggregate {
    const Edges* edges;
    Aggregation how;
    int32_t features;
    int64_t runs;
    const uint8_t* labels;  // [runs][edges], null unless labelled
    const T* messages;
    T* out;
    typename ArgumentOf<T>::type* argument;  // MAX: the edge each feature of `out` came from, −1 for none
    const T* out_gradient;
    T* gradient;
};

template <class T>
struct Ops {
    int32_t lanes;
    void (*rows_forward)(const Rows<T>&);
    void (*rows_backward)(const Rows<T>&);
    void (*cell_forward)(const Cell<T>&);
    void (*cell_backward)(const Cell<T>&);
    void (*aggregate_forward)(const Aggregate<T>&);
    void (*aggregate_backward)(const Aggregate<T>&);
};

struct OpTables {
    Ops<float> of_float;
    Ops<double> of_double;
};

const OpTables& ops_baseline();
#if defined(ANYCSP_X86_LEVELS)
const OpTables& ops_avx2();
const OpTables& ops_avx512();
#endif

// Of the same level as kernels().
const OpTables& op_tables();

template <class T>
const Ops<T>& ops();
template <>
inline const Ops<float>& ops<float>() {
    return op_tables().of_float;
}
template <>
inline const Ops<double>& ops<double>() {
    return op_tables().of_double;
}

}  // namespace anycsp
