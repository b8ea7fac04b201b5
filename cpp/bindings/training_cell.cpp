// The GRU cell for Python.
#include "bindings/training.h"
#include "training/padded_cell.h"

namespace anycsp {
namespace {

template <class T>
PaddedCell<T> cell_of(const EdgeIndex& index, const In<T>& input, const In<T>& shared, const In<T>& state,
                      const In<T>& parameters, bool backward) {
    require(input.ndim() == 2, "input has the wrong shape");
    require(state.ndim() == 2 && state.shape(1) > 0 && state.shape(1) < (1 << 14), "state has the wrong shape");
    const int64_t rows = input.shape(0);
    const int32_t d = static_cast<int32_t>(state.shape(1));
    require_shape(input, {rows, d}, "input");
    require_shape(state, {rows, d}, "state");
    require(index.values > 0 ? rows % index.values == 0 : rows == 0, "rows are not values of whole runs");
    const int64_t runs = index.values ? rows / index.values : 0;
    require_shape(shared, {runs * index.variables, d}, "shared input");
    require_shape(parameters, {6 * int64_t(d) * (d + 1)}, "the vector of parameters");
    PaddedCell<T> padded(index, d, parameters.data(), backward);
    padded.cell.rows = rows;
    padded.cell.input = input.data();
    padded.cell.shared = shared.data();
    padded.cell.state = state.data();
    return padded;
}

template <class T>
void cell_forward(const EdgeIndex& index, const In<T>& input, const In<T>& shared, const In<T>& state,
                  const In<T>& parameters, const Out<T>& out) {
    PaddedCell<T> p = cell_of(index, input, shared, state, parameters, false);
    require_shape(out, {p.cell.rows, p.cell.hidden}, "output");
    p.cell.out = out.data();
    nb::gil_scoped_release release;
    ops<T>().cell_forward(p.cell);
}

template <class T>
void cell_backward(const EdgeIndex& index, const In<T>& input, const In<T>& shared, const In<T>& state,
                   const In<T>& parameters, const In<T>& out_gradient, const Out<T>& input_gradient,
                   const Out<T>& shared_gradient, const Out<T>& state_gradient, const Out<T>& parameter_gradient) {
    PaddedCell<T> p = cell_of(index, input, shared, state, parameters, true);
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
