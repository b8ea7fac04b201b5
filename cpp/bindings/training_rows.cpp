// Row-wise networks for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/training.h"
#include "training/padded_layers.h"

namespace anycsp {
namespace {

template <class T>
PaddedLayers<T> layers_of(const RowNetwork& network, const In<T>& parameters, bool backward) {
    require_shape(parameters, {network.parameters()}, "the vector of parameters");
    return PaddedLayers<T>(network, parameters.data(), backward);
}

template <class T>
Rows<T> rows_of(const RowNetwork& network, const PaddedLayers<T>& layers, const In<T>& first,
                const std::optional<In<T>>& second, const std::optional<In<T>>& constant, bool residual) {
    require(first.ndim() == 2 && (!constant || constant->ndim() == 2), "input has the wrong shape");
    const int64_t rows = first.shape(0), constants = constant ? int64_t(constant->shape(1)) : 0;
    require(constants < network.inputs(), "input has the wrong shape");
    require_shape(first, {rows, network.inputs() - constants}, "input");
    if (second) require_shape(*second, {rows, network.inputs() - constants}, "second input");
    if (constant) require_shape(*constant, {rows, constants}, "constant input");
    require(!residual || !constant, "a residual has no constant input");
    require(!residual || network.inputs() == network.outputs(), "a residual needs as many outputs as inputs");
    Rows<T> r{};
    r.layers = layers.layers.data();
    r.count = static_cast<int32_t>(layers.layers.size());
    r.residual = residual;
    r.rows = rows;
    r.first = first.data();
    r.second = second ? second->data() : nullptr;
    r.constant = constant ? constant->data() : nullptr;
    r.constants = static_cast<int32_t>(constants);
    return r;
}

template <class T>
void rows_forward(const RowNetwork& network, const In<T>& first, const std::optional<In<T>>& second,
                  const std::optional<In<T>>& constant, bool residual, const In<T>& parameters, const Out<T>& out) {
    const PaddedLayers<T> layers = layers_of(network, parameters, false);
    Rows<T> r = rows_of(network, layers, first, second, constant, residual);
    require_shape(out, {r.rows, network.outputs()}, "output");
    Buffer<T> scratch(r.scratch_size());
    r.scratch = scratch.data();
    r.out = out.data();
    nb::gil_scoped_release release;
    ops<T>().rows_forward(r);
}

template <class T>
void rows_backward(const RowNetwork& network, const In<T>& first, const std::optional<In<T>>& second,
                   const std::optional<In<T>>& constant, bool residual, const In<T>& parameters,
                   const In<T>& out_gradient, const std::optional<Out<T>>& first_gradient,
                   const std::optional<Out<T>>& second_gradient, const Out<T>& parameter_gradient) {
    const PaddedLayers<T> layers = layers_of(network, parameters, true);
    Rows<T> r = rows_of(network, layers, first, second, constant, residual);
    require_shape(out_gradient, {r.rows, network.outputs()}, "gradient");
    const int64_t inputs = network.inputs() - r.constants;
    if (first_gradient) require_shape(*first_gradient, {r.rows, inputs}, "gradient of the input");
    if (second_gradient) require_shape(*second_gradient, {r.rows, inputs}, "gradient of the second input");
    require_shape(parameter_gradient, {network.parameters()}, "gradient of the parameters");
    Buffer<T> scratch(r.scratch_size());
    r.scratch = scratch.data();
    r.out_gradient = out_gradient.data();
    r.first_gradient = first_gradient ? first_gradient->data() : nullptr;
    r.second_gradient = second_gradient ? second_gradient->data() : nullptr;
    nb::gil_scoped_release release;
    ops<T>().rows_backward(r);
    layers.write_gradients(network, parameter_gradient.data());
}

template <class T>
void bind_scalar(nb::module_& m) {
    m.def("rows_forward", &rows_forward<T>, nb::arg("network"), array("first"), optional("second"),
          optional("constant"), nb::arg("residual"), array("parameters"), array("out"));
    m.def("rows_backward", &rows_backward<T>, nb::arg("network"), array("first"), optional("second"),
          optional("constant"), nb::arg("residual"), array("parameters"), array("out_gradient"),
          optional("first_gradient"), optional("second_gradient"), array("parameter_gradient"));
}

}  // namespace
}  // namespace anycsp

void bind_rows_ops(nb::module_& m) {
    using namespace anycsp;
    nb::class_<RowNetwork>(m, "RowNetwork")
        .def(nb::init<const std::vector<std::tuple<std::string, int32_t, int32_t, bool>>&>())
        .def_prop_ro("outputs", &RowNetwork::outputs)
        .def_prop_ro("parameters", &RowNetwork::parameters);
    bind_scalar<float>(m);
    bind_scalar<double>(m);
}
