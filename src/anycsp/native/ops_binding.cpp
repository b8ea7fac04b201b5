// The training ops for Python; ops.py makes autograd functions of them. Shapes are checked at every call, indices once,
// when EdgeIndex is made.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "arrays.h"
#include "buffer.h"
#include "ops.h"
#include "problem.h"
#include "randomness.h"

namespace nb = nanobind;

namespace anycsp {
namespace {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class Array>
void require_shape(const Array& array, std::initializer_list<int64_t> shape, const char* what) {
    bool same = array.ndim() == shape.size();
    size_t axis = 0;
    for (int64_t extent : shape) same = same && array.shape(axis++) == size_t(extent);
    if (!same) throw std::invalid_argument(std::string(what) + " has the wrong shape");
}

template <class T>
int32_t padded(int32_t features) {
    const int32_t lanes = ops<T>().lanes;
    return (features + lanes - 1) / lanes * lanes;
}

// Hands out zeroed pieces of one buffer, each of whole vectors; asked twice: for the size, then for the pieces.
template <class T>
class Arena {
public:
    explicit Arena(size_t size) : buffer_(size) {}
    T* take(size_t count) {
        T* taken = buffer_.data() + used_;
        used_ += (count + 15) / 16 * 16;
        if (used_ > buffer_.size()) throw std::logic_error("arena too small");
        return taken;
    }

private:
    Buffer<T> buffer_;
    size_t used_ = 0;
};

// [rows][columns] → padded copy, or its padded transpose.
template <class T>
void copy_padded(const T* from, int32_t rows, int32_t columns, int32_t width, T* to) {
    for (int32_t i = 0; i < rows; ++i) std::copy_n(from + size_t(i) * columns, columns, to + size_t(i) * width);
}
template <class T>
void copy_transposed(const T* from, int32_t rows, int32_t columns, int32_t width, T* to) {
    for (int32_t i = 0; i < rows; ++i)
        for (int32_t j = 0; j < columns; ++j) to[size_t(j) * width + i] = from[size_t(i) * columns + j];
}
template <class T>
void copy_unpadded(const T* from, int32_t rows, int32_t columns, int32_t width, T* to) {
    for (int32_t i = 0; i < rows; ++i) std::copy_n(from + size_t(i) * width, columns, to + size_t(i) * columns);
}

// ── row-wise networks ──────────────────────────────────────────────────────────────────────────────────────────────

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

// ── edges ──────────────────────────────────────────────────────────────────────────────────────────────────────────

// The topology of a graph: edges by constraint (their own order), by value, and values by variable.
struct EdgeIndex {
    int32_t values, constraints, variables, edges;
    std::vector<int32_t> constraint_start, edge_value, edge_constraint, edge;  // by constraint; edge = 0, 1, 2, …
    std::vector<int32_t> value_start, value_edge, value_constraint;            // by value
    std::vector<int32_t> variable_start, value_variable, value;                // values by variable; value = 0, 1, 2, …
    std::vector<int32_t> each_value;                                           // [values + 1] 0, 1, 2, …

    EdgeIndex(const In<int64_t>& variable_start, const In<int64_t>& constraint_start, const In<int64_t>& edge_value);

    Edges to(const std::string& receivers) const {
        if (receivers == "constraints")
            return {true, constraints, values, edges, constraint_start.data(), edge_value.data(), edge.data(),
                    value_start.data(), value_constraint.data(), value_edge.data()};
        if (receivers == "values")
            return {true, values, constraints, edges, value_start.data(), value_constraint.data(), value_edge.data(),
                    constraint_start.data(), edge_value.data(), edge.data()};
        require(receivers == "variables", "receivers are neither constraints, values nor variables");
        return {false, variables, values, values, variable_start.data(), value.data(), value.data(),
                each_value.data(), value_variable.data(), value.data()};
    }
};

std::vector<int32_t> starts(const In<int64_t>& given, const char* what) {
    require(given.ndim() == 1 && given.size() > 0 && given.data()[0] == 0, what);
    for (size_t i = 1; i < given.size(); ++i) require(given.data()[i - 1] <= given.data()[i], what);
    require(given.data()[given.size() - 1] < std::numeric_limits<int32_t>::max() / 2, "too many edges for the native ops");
    return std::vector<int32_t>(given.data(), given.data() + given.size());
}

std::vector<int32_t> owners(const std::vector<int32_t>& start) {
    std::vector<int32_t> owner(start.back());
    for (size_t i = 0; i + 1 < start.size(); ++i)
        std::fill(owner.begin() + start[i], owner.begin() + start[i + 1], static_cast<int32_t>(i));
    return owner;
}

EdgeIndex::EdgeIndex(const In<int64_t>& variable_start_, const In<int64_t>& constraint_start_,
                     const In<int64_t>& edge_value_)
    : constraint_start(starts(constraint_start_, "constraint_start is not a list of starts")),
      variable_start(starts(variable_start_, "variable_start is not a list of starts")) {
    values = variable_start.back();
    edges = constraint_start.back();
    constraints = static_cast<int32_t>(constraint_start.size()) - 1;
    variables = static_cast<int32_t>(variable_start.size()) - 1;
    for (int32_t x = 0; x < variables; ++x) require(variable_start[x] < variable_start[x + 1], "an empty domain");
    require_shape(edge_value_, {edges}, "edge_value");
    edge_value.resize(edges);
    value_start.assign(size_t(values) + 1, 0);
    for (int32_t e = 0; e < edges; ++e) {
        const int64_t v = edge_value_.data()[e];
        require(v >= 0 && v < values, "an edge names a value that is not there");
        edge_value[e] = static_cast<int32_t>(v);
        ++value_start[v + 1];
    }
    std::partial_sum(value_start.begin(), value_start.end(), value_start.begin());
    edge_constraint = owners(constraint_start);
    value_variable = owners(variable_start);
    value_edge.resize(edges);
    value_constraint.resize(edges);
    std::vector<int32_t> next(value_start.begin(), value_start.end() - 1);
    for (int32_t e = 0; e < edges; ++e) {
        const int32_t at = next[edge_value[e]]++;
        value_edge[at] = e;
        value_constraint[at] = edge_constraint[e];
    }
    edge.resize(edges);
    std::iota(edge.begin(), edge.end(), 0);
    each_value.resize(size_t(values) + 1);
    std::iota(each_value.begin(), each_value.end(), 0);
    value.assign(each_value.begin(), each_value.end() - 1);
}

Aggregation how_of(const std::string& name) {
    if (name == "sum") return Aggregation::sum;
    if (name == "mean") return Aggregation::mean;
    require(name == "max", "unknown aggregation");
    return Aggregation::max;
}

template <class T, class Messages, class Received>
Aggregate<T> aggregate_of(const Edges& edges, const std::string& how, const std::optional<In<uint8_t>>& labels,
                          const Messages& messages, const Received& received,
                          const std::optional<Out<typename ArgumentOf<T>::type>>& argument) {
    Aggregate<T> a{};
    a.edges = &edges;
    a.how = how_of(how);
    require(messages.ndim() == 2 && received.ndim() == 2, "messages have the wrong shape");
    require(messages.shape(1) < (1u << 20), "too many features");
    a.features = static_cast<int32_t>(messages.shape(1));
    const int64_t per_run = int64_t(edges.senders) * (edges.labelled ? 2 : 1);
    require(labels.has_value() == edges.labelled, "labels are missing, or not wanted");
    if (labels) {
        require(labels->ndim() == 2, "labels have the wrong shape");
        a.runs = labels->shape(0);
        require_shape(*labels, {a.runs, edges.edges}, "labels");
        a.labels = labels->data();
    } else {
        a.runs = per_run ? messages.shape(0) / per_run : 0;
    }
    require_shape(messages, {a.runs * per_run, a.features}, "messages");
    require_shape(received, {a.runs * edges.receivers, a.features}, "what is received");
    require(argument.has_value() == (a.how == Aggregation::max), "MAX needs the argument, others have none");
    if (argument) {
        require_shape(*argument, {a.runs * edges.receivers, a.features}, "argument");
        a.argument = argument->data();
    }
    return a;
}

template <class T>
void aggregate_forward(const EdgeIndex& index, const std::string& receivers, const std::string& how,
                       const std::optional<In<uint8_t>>& labels, const In<T>& messages, const Out<T>& out,
                       const std::optional<Out<typename ArgumentOf<T>::type>>& argument) {
    const Edges edges = index.to(receivers);
    Aggregate<T> a = aggregate_of<T>(edges, how, labels, messages, out, argument);
    a.messages = messages.data();
    a.out = out.data();
    nb::gil_scoped_release release;
    ops<T>().aggregate_forward(a);
}

template <class T>
void aggregate_backward(const EdgeIndex& index, const std::string& receivers, const std::string& how,
                        const std::optional<In<uint8_t>>& labels, const In<T>& out_gradient, const Out<T>& gradient,
                        const std::optional<Out<typename ArgumentOf<T>::type>>& argument) {
    const Edges edges = index.to(receivers);
    Aggregate<T> a = aggregate_of<T>(edges, how, labels, gradient, out_gradient, argument);
    a.out_gradient = out_gradient.data();
    a.gradient = gradient.data();
    nb::gil_scoped_release release;
    ops<T>().aggregate_backward(a);
}

// Σ over a value's edges labelled 1 of their constraint's weight, in edge order.
void satisfied_weight(const EdgeIndex& index, const In<uint8_t>& labels, const In<float>& weight, const Out<float>& out) {
    require(labels.ndim() == 2, "labels have the wrong shape");
    const int64_t runs = labels.shape(0);
    require_shape(labels, {runs, index.edges}, "labels");
    require_shape(weight, {index.constraints}, "weight");
    require_shape(out, {runs, index.values}, "output");
    nb::gil_scoped_release release;
    float* to = out.data();
    for (int64_t run = 0; run < runs; ++run) {
        const uint8_t* label = labels.data() + run * index.edges;
        for (int32_t v = 0; v < index.values; ++v) {
            float sum = 0;
            for (int32_t k = index.value_start[v]; k < index.value_start[v + 1]; ++k)
                sum += label[index.value_edge[k]] ? weight.data()[index.value_constraint[k]] : 0.f;
            *to++ = sum;
        }
    }
}

// ── the GRU cell ───────────────────────────────────────────────────────────────────────────────────────────────────

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

// ── choosing values ────────────────────────────────────────────────────────────────────────────────────────────────

void require_positions(const EdgeIndex& index, const In<int64_t>& positions, int64_t runs) {
    require_shape(positions, {runs, index.variables}, "positions");
    for (size_t i = 0; i < positions.size(); ++i) {
        const size_t x = i % index.variables;
        const int64_t size = index.variable_start[x + 1] - index.variable_start[x];
        require(positions.data()[i] >= 0 && positions.data()[i] < size, "a position is outside its domain");
    }
}

// φ and log φ of one variable's logits, in double precision.
template <class T>
struct Softmax {
    std::vector<double> phi, log_phi;

    void of(const T* logits, int32_t count) {
        phi.resize(count);
        log_phi.resize(count);
        const double highest = *std::max_element(logits, logits + count);
        double total = 0;
        for (int32_t p = 0; p < count; ++p) total += phi[p] = std::exp(double(logits[p]) - highest);
        const double shift = highest + std::log(total);
        for (int32_t p = 0; p < count; ++p) {
            phi[p] /= total;
            log_phi[p] = double(logits[p]) - shift;
        }
    }
};

// Per variable: log(φ(α(X)) + ε), entropy, and Σ φ(v)·reward(v); the last two where their arrays are given.
template <class T>
void choice_forward(const EdgeIndex& index, const In<T>& logits, const In<int64_t>& positions, double epsilon,
                    const std::optional<In<T>>& reward, const Out<T>& log_probability,
                    const std::optional<Out<T>>& entropy, const std::optional<Out<T>>& expected) {
    require(logits.ndim() == 2, "logits have the wrong shape");
    const int64_t runs = logits.shape(0);
    require_shape(logits, {runs, index.values}, "logits");
    require_positions(index, positions, runs);
    require(reward.has_value() == expected.has_value(), "rewards are missing, or not wanted");
    if (reward) require_shape(*reward, {runs, index.values}, "reward");
    if (expected) require_shape(*expected, {runs, index.variables}, "expected reward");
    if (entropy) require_shape(*entropy, {runs, index.variables}, "entropy");
    require_shape(log_probability, {runs, index.variables}, "log-probability");
    nb::gil_scoped_release release;
    Softmax<T> softmax;
    for (int64_t run = 0; run < runs; ++run)
        for (int32_t x = 0; x < index.variables; ++x) {
            const int64_t first = run * index.values + index.variable_start[x], at = run * index.variables + x;
            const int32_t count = index.variable_start[x + 1] - index.variable_start[x];
            softmax.of(logits.data() + first, count);
            const int64_t taken = positions.data()[at];
            log_probability.data()[at] =
                T(epsilon > 0 ? std::log(softmax.phi[taken] + epsilon) : softmax.log_phi[taken]);
            double h = 0, e = 0;
            for (int32_t p = 0; p < count; ++p) {
                if (entropy && softmax.phi[p] > 0) h -= softmax.phi[p] * softmax.log_phi[p];
                if (reward) e += softmax.phi[p] * reward->data()[first + p];
            }
            if (entropy) entropy->data()[at] = T(h);
            if (expected) expected->data()[at] = T(e);
        }
}

template <class T>
void choice_backward(const EdgeIndex& index, const In<T>& logits, const In<int64_t>& positions, double epsilon,
                     const std::optional<In<T>>& reward, const In<T>& log_probability_gradient,
                     const std::optional<In<T>>& entropy_gradient, const std::optional<In<T>>& expected_gradient,
                     const Out<T>& gradient) {
    require(logits.ndim() == 2, "logits have the wrong shape");
    const int64_t runs = logits.shape(0);
    require_shape(logits, {runs, index.values}, "logits");
    require_positions(index, positions, runs);
    require(reward.has_value() == expected_gradient.has_value(), "rewards are missing, or not wanted");
    if (reward) require_shape(*reward, {runs, index.values}, "reward");
    require_shape(log_probability_gradient, {runs, index.variables}, "gradient");
    if (entropy_gradient) require_shape(*entropy_gradient, {runs, index.variables}, "gradient of the entropy");
    if (expected_gradient) require_shape(*expected_gradient, {runs, index.variables}, "gradient of the reward");
    require_shape(gradient, {runs, index.values}, "gradient of the logits");
    nb::gil_scoped_release release;
    Softmax<T> softmax;
    for (int64_t run = 0; run < runs; ++run)
        for (int32_t x = 0; x < index.variables; ++x) {
            const int64_t first = run * index.values + index.variable_start[x], at = run * index.variables + x;
            const int32_t count = index.variable_start[x + 1] - index.variable_start[x];
            softmax.of(logits.data() + first, count);
            const int64_t taken = positions.data()[at];
            double of_log = log_probability_gradient.data()[at];
            if (epsilon > 0) of_log *= softmax.phi[taken] / (softmax.phi[taken] + epsilon);
            const double of_entropy = entropy_gradient ? double(entropy_gradient->data()[at]) : 0;
            const double of_expected = expected_gradient ? double(expected_gradient->data()[at]) : 0;
            double h = 0, e = 0;
            for (int32_t p = 0; p < count; ++p) {
                if (softmax.phi[p] > 0) h -= softmax.phi[p] * softmax.log_phi[p];
                if (reward) e += softmax.phi[p] * reward->data()[first + p];
            }
            for (int32_t p = 0; p < count; ++p) {
                const double phi = softmax.phi[p];
                double sum = of_log * ((p == taken) - phi);
                if (phi > 0) sum -= of_entropy * phi * (softmax.log_phi[p] + h);
                if (reward) sum += of_expected * phi * (reward->data()[first + p] - e);
                gradient.data()[first + p] = T(sum);
            }
        }
}

// The draw of every variable, as in sampling.py: the first value whose cumulative weight exceeds u · total.
template <class T>
void draw_positions(const EdgeIndex& index, const In<T>& logits, uint64_t seed, int64_t first_run, int64_t step,
                    const Out<int64_t>& positions) {
    require(logits.ndim() == 2, "logits have the wrong shape");
    const int64_t runs = logits.shape(0);
    require_shape(logits, {runs, index.values}, "logits");
    require_shape(positions, {runs, index.variables}, "positions");
    nb::gil_scoped_release release;
    std::vector<double> weight;
    for (int64_t run = 0; run < runs; ++run) {
        const uint64_t key = step_key(seed, uint64_t(first_run + run), uint64_t(step));
        for (int32_t x = 0; x < index.variables; ++x) {
            const T* of_variable = logits.data() + run * index.values + index.variable_start[x];
            const int32_t count = index.variable_start[x + 1] - index.variable_start[x];
            const T highest = *std::max_element(of_variable, of_variable + count);
            weight.resize(count);
            double total = 0;
            for (int32_t p = 0; p < count; ++p) total += weight[p] = std::exp(double(of_variable[p] - highest));
            const double threshold = double(uniform(key, uint64_t(x))) * total;
            double cumulative = 0;
            int32_t taken = count - 1;
            for (int32_t p = 0; p < count; ++p)
                if ((cumulative += weight[p]) > threshold) {
                    taken = p;
                    break;
                }
            positions.data()[run * index.variables + x] = taken;
        }
    }
}

// L_V, and with `weight` and `degree` the gain features of policy.py: [runs·values][1 or 4].
void value_features(const EdgeIndex& index, const In<int64_t>& positions, const std::optional<In<float>>& satisfied,
                    const std::optional<In<float>>& degree, const Out<float>& out) {
    require(positions.ndim() == 2, "positions have the wrong shape");
    const int64_t runs = positions.shape(0);
    require_positions(index, positions, runs);
    require(satisfied.has_value() == degree.has_value(), "gain needs the satisfied weight and the degree");
    if (satisfied) require_shape(*satisfied, {runs, index.values}, "satisfied weight");
    if (degree) require_shape(*degree, {index.values}, "degree");
    require_shape(out, {runs * index.values, satisfied ? 4 : 1}, "output");
    nb::gil_scoped_release release;
    float* to = out.data();
    for (int64_t run = 0; run < runs; ++run)
        for (int32_t x = 0; x < index.variables; ++x) {
            const int64_t taken = index.variable_start[x] + positions.data()[run * index.variables + x];
            for (int64_t v = index.variable_start[x]; v < index.variable_start[x + 1]; ++v) {
                *to++ = v == taken;
                if (!satisfied) continue;
                const float* at = satisfied->data() + run * index.values;
                const float gain = at[v] - at[taken], of_value = degree->data()[v];
                *to++ = gain / std::sqrt(of_value + 1);
                *to++ = std::min(std::max(gain, -2.f), 2.f) / 2;
                *to++ = std::log1p(std::max(of_value - at[v], 0.f));
            }
        }
}

// ── labels ─────────────────────────────────────────────────────────────────────────────────────────────────────────

// L_E of the slots of a clause or of a matching: 1 but at the exception.
void write_exception(const Problem& p, int32_t slot, int32_t exception, uint8_t* labels) {
    uint8_t* of_slot = labels + p.edge_start[slot];
    std::fill_n(of_slot, p.domain_size(p.scope[slot]), uint8_t(1));
    if (exception >= 0) of_slot[exception] = 0;
}

void label_clauses(const Problem& p, const Family& f, const int64_t* positions, uint8_t* labels) {
    const int32_t* forbidden = f.forbidden.data() - p.scope_start[f.first_constraint];
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        int32_t satisfying = 0;
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s)
            satisfying += positions[p.scope[s]] != forbidden[s];
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            const bool hangs_by_it = satisfying - (positions[p.scope[s]] != forbidden[s]) == 0;
            write_exception(p, s, hangs_by_it ? forbidden[s] : -1, labels);
        }
    }
}

void label_matchings(const Problem& p, const Family& f, const int64_t* positions, uint8_t* labels) {
    const int64_t* offset = f.offset.data() - p.scope_start[f.first_constraint];
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        const int32_t s = p.scope_start[c];
        write_exception(p, s, f.conflict[offset[s] + positions[p.scope[s + 1]]], labels);
        write_exception(p, s + 1, f.conflict[offset[s + 1] + positions[p.scope[s]]], labels);
    }
}

void label_dense(const Problem& p, const Family& f, const int64_t* positions, uint8_t* labels) {
    const int64_t* stride = f.stride.data() - p.scope_start[f.first_constraint];
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        int64_t address = f.base[c - f.first_constraint];
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) address += stride[s] * positions[p.scope[s]];
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            const uint8_t* truth = f.truth.data() + (address - stride[s] * positions[p.scope[s]]);
            uint8_t* of_slot = labels + p.edge_start[s];
            for (int32_t v = 0; v < p.domain_size(p.scope[s]); ++v) of_slot[v] = truth[stride[s] * v];
        }
    }
}

// Writes the labels of clauses, matchings and dense tables for every run; returns the families left to the caller.
std::vector<int32_t> edge_labels(const Problem& p, const In<int64_t>& positions, const Out<uint8_t>& out) {
    require(positions.ndim() == 2, "positions have the wrong shape");
    const int64_t runs = positions.shape(0);
    require_shape(positions, {runs, p.variables}, "positions");
    require_shape(out, {runs, p.edges()}, "labels");
    for (size_t i = 0; i < positions.size(); ++i) {
        const int32_t size = p.domain_size(static_cast<int32_t>(i % p.variables));
        require(positions.data()[i] >= 0 && positions.data()[i] < size, "a position is outside its domain");
    }
    std::vector<int32_t> left;
    for (size_t i = 0; i < p.families.size(); ++i) {
        const Family& f = p.families[i];
        auto label = f.kind == Kind::clause     ? label_clauses
                     : f.kind == Kind::matching ? label_matchings
                     : f.kind == Kind::dense    ? label_dense
                                                : nullptr;
        if (!label) {
            left.push_back(static_cast<int32_t>(i));
            continue;
        }
        for (int64_t run = 0; run < runs; ++run)
            label(p, f, positions.data() + run * p.variables, out.data() + run * p.edges());
    }
    return left;
}

template <class T>
void bind_scalar(nb::module_& m) {
    auto array = [](const char* name) { return nb::arg(name).noconvert(); };
    auto optional = [](const char* name) { return nb::arg(name).noconvert().none(); };
    m.def("rows_forward", &rows_forward<T>, nb::arg("network"), array("first"), optional("second"),
          optional("constant"), nb::arg("residual"), array("parameters"), array("out"));
    m.def("rows_backward", &rows_backward<T>, nb::arg("network"), array("first"), optional("second"),
          optional("constant"), nb::arg("residual"), array("parameters"), array("out_gradient"),
          optional("first_gradient"), optional("second_gradient"), array("parameter_gradient"));
    m.def("aggregate_forward", &aggregate_forward<T>, nb::arg("index"), nb::arg("receivers"), nb::arg("how"),
          optional("labels"), array("messages"), array("out"), optional("argument"));
    m.def("aggregate_backward", &aggregate_backward<T>, nb::arg("index"), nb::arg("receivers"), nb::arg("how"),
          optional("labels"), array("out_gradient"), array("gradient"), optional("argument"));
    m.def("cell_forward", &cell_forward<T>, nb::arg("index"), array("input"), array("shared"), array("state"),
          array("parameters"), array("out"));
    m.def("cell_backward", &cell_backward<T>, nb::arg("index"), array("input"), array("shared"), array("state"),
          array("parameters"), array("out_gradient"), array("input_gradient"), array("shared_gradient"),
          array("state_gradient"), array("parameter_gradient"));
    m.def("choice_forward", &choice_forward<T>, nb::arg("index"), array("logits"), array("positions"),
          nb::arg("epsilon"), optional("reward"), array("log_probability"), optional("entropy"), optional("expected"));
    m.def("choice_backward", &choice_backward<T>, nb::arg("index"), array("logits"), array("positions"),
          nb::arg("epsilon"), optional("reward"), array("log_probability_gradient"), optional("entropy_gradient"),
          optional("expected_gradient"), array("gradient"));
    m.def("draw_positions", &draw_positions<T>, nb::arg("index"), array("logits"), nb::arg("seed"),
          nb::arg("first_run"), nb::arg("step"), array("positions"));
}

}  // namespace
}  // namespace anycsp

void bind_ops(nb::module_& m) {
    using namespace anycsp;
    nb::module_ sub = m.def_submodule("ops", "Training ops: forward and backward, float32 and float64.");
    nb::class_<RowNetwork>(sub, "RowNetwork")
        .def(nb::init<const std::vector<std::tuple<std::string, int32_t, int32_t, bool>>&>())
        .def_prop_ro("outputs", &RowNetwork::outputs)
        .def_prop_ro("parameters", &RowNetwork::parameters);
    nb::class_<EdgeIndex>(sub, "EdgeIndex")
        .def(nb::init<const In<int64_t>&, const In<int64_t>&, const In<int64_t>&>(), nb::arg("variable_start"),
             nb::arg("constraint_start"), nb::arg("edge_value"));
    sub.def("satisfied_weight", &satisfied_weight, nb::arg("index"), nb::arg("labels").noconvert(),
            nb::arg("weight").noconvert(), nb::arg("out").noconvert());
    sub.def("edge_labels", &edge_labels, nb::arg("problem"), nb::arg("positions").noconvert(),
            nb::arg("out").noconvert());
    sub.def("value_features", &value_features, nb::arg("index"), nb::arg("positions").noconvert(),
            nb::arg("satisfied").noconvert().none(), nb::arg("degree").noconvert().none(), nb::arg("out").noconvert());
    bind_scalar<float>(sub);
    bind_scalar<double>(sub);
}
