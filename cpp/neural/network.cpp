#include "neural/network.h"

#include <stdexcept>
#include <string>

namespace anycsp {
namespace {

// The named array, computed and checked to have exactly this shape.
WeightArray array_of(const WeightArrays& arrays, const std::string& name, size_t outputs, size_t inputs) {
    if (!arrays.contains(name)) throw std::invalid_argument("missing weights " + name);
    WeightArray array = arrays.get(name);
    const std::vector<size_t> expected =
        inputs == 0 ? std::vector<size_t>{outputs} : std::vector<size_t>{outputs, inputs};
    if (array.shape != expected) throw std::invalid_argument("weights " + name + " have the wrong shape");
    return array;
}

}  // namespace

float* PackedNetwork::keep(size_t size) {
    owned_.emplace_back(size);
    return owned_.back().data();
}

// A vector of `parts` runs of d features, each padded on its own; rows of a [k, d] array count as parts.
const float* PackedNetwork::row(const WeightArrays& arrays, const char* name, int32_t parts) {
    const int32_t d = network_.hidden, width = network_.width;
    auto source = array_of(arrays, name, size_t(parts) * d, 0);
    float* result = keep(size_t(parts) * width);
    for (int32_t i = 0; i < parts * d; ++i) result[i / d * width + i % d] = source.data[i];
    return result;
}

Matrix PackedNetwork::matrix(const WeightArrays& arrays, const char* name, int32_t output_parts, int32_t input_parts) {
    const int32_t d = network_.hidden, width = network_.width;
    auto source = array_of(arrays, name, size_t(output_parts) * d, size_t(input_parts) * d);
    Matrix m;
    m.outputs = output_parts * width;
    m.inputs = input_parts * width;
    float* packed = keep(size_t(m.outputs) * m.inputs);
    const int32_t full = m.outputs / kernels_.panel * kernels_.panel;  // what remains goes in panels of one vector
    for (int32_t o = 0; o < output_parts * d; ++o) {
        const int32_t column = o / d * width + o % d;
        const int32_t panel = column < full ? kernels_.panel : kernels_.lanes;
        const int32_t start = column < full ? column / panel * panel : full + (column - full) / panel * panel;
        for (int32_t i = 0; i < input_parts * d; ++i) {
            const int32_t k = i / d * width + i % d;
            packed[size_t(start) * m.inputs + size_t(k) * panel + (column - start)] =
                source.data[size_t(o) * input_parts * d + i];
        }
    }
    m.packed = packed;
    const std::string bias = std::string(name) + ".bias";
    m.bias = arrays.contains(bias) ? row(arrays, bias.c_str(), output_parts) : keep(m.outputs);
    return m;
}

Norm PackedNetwork::norm(const WeightArrays& arrays, const char* name, int32_t parts) {
    return {row(arrays, (std::string(name) + ".scale").c_str(), parts),
            row(arrays, (std::string(name) + ".shift").c_str(), parts)};
}

PackedNetwork::PackedNetwork(const WeightArrays& arrays, int32_t hidden, Aggregation aggregation, Form form,
                             Inputs inputs, float inertia, const Kernels& kernels)
    : kernels_(kernels) {
    if (hidden < 1) throw std::invalid_argument("hidden size below 1");
    Network& n = network_;
    n.hidden = hidden;
    n.width = (hidden + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
    n.aggregation = aggregation;
    n.form = form;
    n.gain = inputs.gain;
    n.graded = inputs.graded;
    n.constraint_features = inputs.constraint_features;
    n.inertia = inertia;
    n.initial_state = row(arrays, "initial_state", 1);
    n.encoder1 = matrix(arrays, "encoder1", 1, 1);
    n.encoder_chosen = row(arrays, "encoder_chosen", 1);
    if (n.gain) n.encoder_gain = row(arrays, "encoder_gain", n.graded ? 6 : 3);
    n.encoder2 = matrix(arrays, "encoder2", 1, 1);
    n.encoder_norm = norm(arrays, "encoder_norm", 1);
    n.value_message = matrix(arrays, "value_message", 2, 1);
    n.value_message_norm = norm(arrays, "value_message_norm", 2);
    n.constraint1 = matrix(arrays, "constraint1", 1, 1);
    if (n.constraint_features) n.constraint_weight = row(arrays, "constraint_weight", n.constraint_features);
    if (form == Form::linear) {
        n.constraint1_bias = row(arrays, "constraint1_bias", 1);
        n.spread = matrix(arrays, "spread", 1, 1);
        n.spread.triangular = true;
        n.value1 = matrix(arrays, "value1", 1, 2);
        n.total = matrix(arrays, "total", 1, 1);
        n.label1 = row(arrays, "label1", 1);
        n.exception = row(arrays, "exception", 1);
    } else {
        n.constraint2 = matrix(arrays, "constraint2", 2, 1);
        n.constraint_norm = norm(arrays, "constraint_norm", 2);
        n.value1 = matrix(arrays, "value1", 1, 1);
    }
    n.value2 = matrix(arrays, "value2", 1, 1);
    n.value_norm = norm(arrays, "value_norm", 1);
    n.variable1 = matrix(arrays, "variable1", 1, 1);
    n.variable2 = matrix(arrays, "variable2", 1, 1);
    n.variable_norm = norm(arrays, "variable_norm", 1);
    n.gates = matrix(arrays, "gates", 2, 2);
    n.new_input = matrix(arrays, "new_input", 1, 1);
    n.new_hidden = matrix(arrays, "new_hidden", 1, 1);
    n.output1 = matrix(arrays, "output1", 1, 1);
    n.output2 = row(arrays, "output2", 1);
    n.output2_bias = array_of(arrays, "output2_bias", 1, 0).data[0];
}

}  // namespace anycsp
