// Row-wise networks for Python.
#include "bindings/training.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "training/padding.h"

namespace anycsp {
namespace {

// What the layers are; their weights come with every call, end to end in the order of nn.Module.parameters().
struct RowNetwork {
    struct Shape {
        bool norm, relu, bias;
        int32_t inputs, outputs;
    };
    std::vector<Shape> shapes;

    RowNetwork(const std::vector<std::tuple<std::string, int32_t, int32_t, bool>>& layers);

    int32_t inputs() const { return shapes.front().inputs; }
    int32_t outputs() const { return shapes.back().outputs; }
    int64_t parameters() const {
        int64_t count = 0;
        for (const Shape& s : shapes)
            count += int64_t(s.norm ? 1 : s.inputs) * s.outputs + (s.bias ? s.outputs : 0);
        return count;
    }
};

RowNetwork::RowNetwork(const std::vector<std::tuple<std::string, int32_t, int32_t, bool>>& layers) {
    for (const auto& [kind, in, out, bias] : layers) {
        if (kind == "relu") {
            require(!shapes.empty() && !shapes.back().norm && !shapes.back().relu, "ReLU follows no linear layer");
            shapes.back().relu = true;
            continue;
        }
        require(kind == "linear" || kind == "norm", "a layer is neither linear, relu nor norm");
        require(in > 0 && out > 0 && in <= (1 << 20) && out <= (1 << 20), "a layer has no features");
        require(kind == "linear" || (in == out && bias), "a norm changes the number of features");
        require(shapes.empty() || shapes.back().outputs == in, "layers do not fit each other");
        shapes.push_back({kind == "norm", false, bias, in, out});
    }
    require(!shapes.empty() && shapes.size() <= 16, "a network has 1 to 16 layers");
}

// The layers with padded weights, and room for gradients where `backward`.
template <class T>
struct PaddedLayers {
    std::vector<Layer<T>> layers;
    Arena<T> arena;

    static size_t size(const RowNetwork& network, bool backward) {
        size_t total = 0;
        for (const auto& s : network.shapes) {
            const size_t in = padded<T>(s.inputs), out = padded<T>(s.outputs);
            const size_t weights = s.norm ? out : s.inputs * out;
            total += weights + out + 64;
            if (backward) total += (s.norm ? out : 2 * s.outputs * in) + out + 64;
        }
        return total;
    }

    PaddedLayers(const RowNetwork& network, const In<T>& parameters, bool backward) : arena(size(network, backward)) {
        require_shape(parameters, {network.parameters()}, "the vector of parameters");
        const T* at = parameters.data();
        for (const auto& s : network.shapes) {
            Layer<T> layer{};
            layer.norm = s.norm;
            layer.relu = s.relu;
            layer.inputs = s.inputs;
            layer.outputs = s.outputs;
            layer.input_width = padded<T>(s.inputs);
            layer.width = padded<T>(s.outputs);
            const size_t weights = size_t(s.norm ? 1 : s.inputs) * layer.width;
            T *transposed = arena.take(weights), *bias = arena.take(layer.width);
            copy_transposed(at, s.outputs, s.norm ? 1 : s.inputs, layer.width, transposed);
            layer.transposed = transposed;
            layer.bias = bias;
            if (backward) {
                if (!s.norm) {
                    T* rows = arena.take(size_t(s.outputs) * layer.input_width);
                    copy_padded(at, s.outputs, s.inputs, layer.input_width, rows);
                    layer.weight = rows;
                }
                layer.weight_gradient = arena.take(s.norm ? layer.width : size_t(s.outputs) * layer.input_width);
                layer.bias_gradient = arena.take(layer.width);
            }
            at += size_t(s.norm ? 1 : s.inputs) * s.outputs;
            if (s.bias) {
                std::copy_n(at, s.outputs, bias);
                at += s.outputs;
            }
            layers.push_back(layer);
        }
    }

    // In the order of the parameters.
    void write_gradients(const RowNetwork& network, T* to) const {
        for (size_t i = 0; i < layers.size(); ++i) {
            const Layer<T>& layer = layers[i];
            if (layer.norm)
                std::copy_n(layer.weight_gradient, layer.outputs, to);
            else
                copy_unpadded(layer.weight_gradient, layer.outputs, layer.inputs, layer.input_width, to);
            to += size_t(layer.norm ? 1 : layer.inputs) * layer.outputs;
            if (!network.shapes[i].bias) continue;
            std::copy_n(layer.bias_gradient, layer.outputs, to);
            to += layer.outputs;
        }
    }
};

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
    const PaddedLayers<T> layers(network, parameters, false);
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
    const PaddedLayers<T> layers(network, parameters, true);
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
