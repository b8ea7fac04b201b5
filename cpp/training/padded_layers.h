// Row-wise networks with their weights as the kernels want them.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "core/arrays.h"
#include "training/padding.h"

namespace anycsp {

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
        for (const Shape& s : shapes) count += int64_t(s.norm ? 1 : s.inputs) * s.outputs + (s.bias ? s.outputs : 0);
        return count;
    }
};

inline RowNetwork::RowNetwork(const std::vector<std::tuple<std::string, int32_t, int32_t, bool>>& layers) {
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

    // `at`: the parameters, as many as the network has.
    PaddedLayers(const RowNetwork& network, const T* at, bool backward) : arena(size(network, backward)) {
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

}  // namespace anycsp
