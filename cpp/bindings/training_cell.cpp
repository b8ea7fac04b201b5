// The GRU cell for Python.
#include "training/edge_index.h"
#include "training/padding.h"

namespace anycsp {
namespace {

// Weights [3d][d] with each gate padded: [width][3·width] transposed, and [3·width][width].
template <class T>
struct PaddedCell {
    Arena<T> arena;
    Cell<T> cell{};

    PaddedCell(const EdgeIndex& index, const In<T>& input, const In<T>& shared, const In<T>& state,
               const In<T>& parameters, bool backward)
        : arena(size(state, backward)) {
        require(input.ndim() == 2, "input has the wrong shape");
        const int64_t rows = input.shape(0);
        const int32_t d = static_cast<int32_t>(state.shape(1)), width = padded<T>(d);
        require_shape(input, {rows, d}, "input");
        require_shape(state, {rows, d}, "state");
        require(index.values > 0 ? rows % index.values == 0 : rows == 0, "rows are not values of whole runs");
        const int64_t runs = index.values ? rows / index.values : 0;
        require_shape(shared, {runs * index.variables, d}, "shared input");
        require_shape(parameters, {6 * int64_t(d) * (d + 1)}, "the vector of parameters");
        // weight_ih, weight_hh, bias_ih, bias_hh
        const T *input_weight = parameters.data(), *state_weight = input_weight + size_t(3) * d * d;
        const T *input_bias = state_weight + size_t(3) * d * d, *state_bias = input_bias + size_t(3) * d;
        cell.hidden = d;
        cell.width = width;
        cell.rows = rows;
        cell.values = index.values;
        cell.owners = index.variables;
        cell.owner = index.value_variable.data();
        cell.input = input.data();
        cell.shared = shared.data();
        cell.state = state.data();
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

    static size_t size(const In<T>& state, bool backward) {
        require(state.ndim() == 2 && state.shape(1) > 0 && state.shape(1) < (1 << 14), "state has the wrong shape");
        const size_t width = padded<T>(static_cast<int32_t>(state.shape(1)));
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

template <class T>
void cell_forward(const EdgeIndex& index, const In<T>& input, const In<T>& shared, const In<T>& state,
                  const In<T>& parameters, const Out<T>& out) {
    PaddedCell<T> p(index, input, shared, state, parameters, false);
    require_shape(out, {p.cell.rows, p.cell.hidden}, "output");
    p.cell.out = out.data();
    nb::gil_scoped_release release;
    ops<T>().cell_forward(p.cell);
}

template <class T>
void cell_backward(const EdgeIndex& index, const In<T>& input, const In<T>& shared, const In<T>& state,
                   const In<T>& parameters, const In<T>& out_gradient, const Out<T>& input_gradient,
                   const Out<T>& shared_gradient, const Out<T>& state_gradient, const Out<T>& parameter_gradient) {
    PaddedCell<T> p(index, input, shared, state, parameters, true);
    Cell<T>& c = p.cell;
    require_shape(out_gradient, {c.rows, c.hidden}, "gradient");
    require_shape(input_gradient, {c.rows, c.hidden}, "gradient of the input");
    require_shape(state_gradient, {c.rows, c.hidden}, "gradient of the state");
    require(shared_gradient.size() == shared.size(), "the gradient of the shared input has the wrong shape");
    require(parameter_gradient.size() == parameters.size(), "the gradient of the parameters has the wrong shape");
    c.out_gradient = out_gradient.data();
    c.input_gradient = input_gradient.data();
    c.shared_gradient = shared_gradient.data();
    c.state_gradient = state_gradient.data();
    nb::gil_scoped_release release;
    std::fill_n(c.shared_gradient, shared_gradient.size(), T(0));
    ops<T>().cell_backward(c);
    T* to = parameter_gradient.data();
    to = p.write(c.input_weight_gradient, c.hidden, c.width, to);
    to = p.write(c.state_weight_gradient, c.hidden, c.width, to);
    to = p.write(c.input_bias_gradient, 1, 1, to);
    p.write(c.state_bias_gradient, 1, 1, to);
}

template <class T>
void bind_scalar(nb::module_& m) {
    m.def("cell_forward", &cell_forward<T>, nb::arg("index"), array("input"), array("shared"), array("state"),
          array("parameters"), array("out"));
    m.def("cell_backward", &cell_backward<T>, nb::arg("index"), array("input"), array("shared"), array("state"),
          array("parameters"), array("out_gradient"), array("input_gradient"), array("shared_gradient"),
          array("state_gradient"), array("parameter_gradient"));
}

}  // namespace
}  // namespace anycsp

void bind_cell_ops(nb::module_& m) {
    anycsp::bind_scalar<float>(m);
    anycsp::bind_scalar<double>(m);
}
