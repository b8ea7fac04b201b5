// Aggregation of messages for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/aggregation.h"
#include "bindings/training.h"
#include "training/edge_index.h"

namespace anycsp {
namespace {

template <class T, class Messages, class Received>
Aggregate<T> aggregate_of(const Edges& edges, const std::string& how, const std::optional<In<uint8_t>>& labels,
                          const Messages& messages, const Received& received,
                          const std::optional<Out<typename ArgumentOf<T>::type>>& argument) {
    Aggregate<T> a{};
    a.edges = &edges;
    a.how = aggregation_of(how);
    require(messages.ndim() == 2 && received.ndim() == 2, "messages have the wrong shape");
    require(messages.shape(1) < (1u << 20), "too many features");
    a.features = static_cast<int32_t>(messages.shape(1));
    const int64_t per_run = int64_t(edges.senders) * (edges.labelled ? 2 : 1);
    require(labels.has_value() == edges.labelled, "labels are missing, or not wanted");
    if (labels) {
        a.runs = require_runs(*labels, edges.edges, "labels");
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

template <class T>
void bind_scalar(nb::module_& m) {
    m.def("aggregate_forward", &aggregate_forward<T>, nb::arg("index"), nb::arg("receivers"), nb::arg("how"),
          optional("labels"), array("messages"), array("out"), optional("argument"));
    m.def("aggregate_backward", &aggregate_backward<T>, nb::arg("index"), nb::arg("receivers"), nb::arg("how"),
          optional("labels"), array("out_gradient"), array("gradient"), optional("argument"));
}

}  // namespace
}  // namespace anycsp

void bind_aggregate_ops(nb::module_& m) {
    anycsp::bind_scalar<float>(m);
    anycsp::bind_scalar<double>(m);
}
