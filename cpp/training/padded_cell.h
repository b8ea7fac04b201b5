// The GRU cell with its weights as the kernels want them.
#pragma once

#include "training/edge_index.h"
#include "training/padding.h"

namespace anycsp {

// Weights [3d][d] with each gate padded: [width][3·width] transposed, and [3·width][width].
template <class T>
struct PaddedCell {
    Arena<T> arena;
    Cell<T> cell{};

    // `parameters`: weight_ih, weight_hh, bias_ih, bias_hh end to end. The caller sets what rows there are.
    PaddedCell(const EdgeIndex& index, int32_t d, const T* parameters, bool backward) : arena(size(d, backward)) {
        const int32_t width = padded<T>(d);
        const T *input_weight = parameters, *state_weight = input_weight + size_t(3) * d * d;
        const T *input_bias = state_weight + size_t(3) * d * d, *state_bias = input_bias + size_t(3) * d;
        cell.hidden = d;
        cell.width = width;
        cell.values = index.values;
        cell.owners = index.variables;
        cell.owner = index.value_variable.data();
        cell.input_transposed = transposed(input_weight, d, width);
        cell.state_transposed = transposed(state_weight, d, width);
        cell.input_bias = gates(input_bias, d, 1, width, 1);
        cell.state_bias = gates(state_bias, d, 1, width, 1);
        if (backward) {
            cell.input_weight = gates(input_weight, d, d, width, width);
            cell.state_weight = gates(state_weight, d, d, width, width);
            cell.input_weight_gradient = arena.take(size_t(3) * width * width);
            cell.state_weight_gradient = arena.take(size_t(3) * width * width);
            cell.input_bias_gradient = arena.take(size_t(3) * width);
            cell.state_bias_gradient = arena.take(size_t(3) * width);
        }
        cell.scratch = arena.take(cell.scratch_size());
    }

    static size_t size(int32_t d, bool backward) {
        const size_t width = padded<T>(d);
        return (backward ? 18 : 6) * width * width + 12 * width + kOpRows * width * 16 + 256;
    }

    T* transposed(const T* from, int32_t d, int32_t width) {
        T* to = arena.take(size_t(3) * width * width);
        for (int gate = 0; gate < 3; ++gate)
            copy_transposed(from + size_t(gate) * d * d, d, d, 3 * width, to + gate * width);
        return to;
    }

    // d rows of `columns` for each gate → `width` rows of `row`.
    T* gates(const T* from, int32_t d, int32_t columns, int32_t width, int32_t row) {
        T* to = arena.take(size_t(3) * width * row);
        for (int gate = 0; gate < 3; ++gate)
            copy_padded(from + size_t(gate) * d * columns, d, columns, row, to + size_t(gate) * width * row);
        return to;
    }

    // The way back; returns the end of what was written.
    T* write(const T* from, int32_t columns, int32_t row, T* to) const {
        const int32_t d = cell.hidden;
        for (int gate = 0; gate < 3; ++gate)
            copy_unpadded(from + size_t(gate) * cell.width * row, d, columns, row, to + size_t(gate) * d * columns);
        return to + size_t(3) * d * columns;
    }
};

}  // namespace anycsp
