// Choices for Python.
#include <nanobind/stl/optional.h>

#include "bindings/training.h"
#include "training/choice.h"

namespace anycsp {
namespace {

template <class T>
Choices<T> choices_of(const EdgeIndex& index, const In<T>& logits, const In<int64_t>& positions, double epsilon,
                      const std::optional<In<T>>& reward, bool reward_wanted) {
    const int64_t runs = require_runs(logits, index.values, "logits");
    require(require_positions(index, positions) == runs, "positions and logits differ in runs");
    require(reward.has_value() == reward_wanted, "rewards are missing, or not wanted");
    if (reward) require_shape(*reward, {runs, index.values}, "reward");
    return {index, runs, logits.data(), positions.data(), data_of(reward), epsilon};
}

template <class T>
void checked_forward(const EdgeIndex& index, const In<T>& logits, const In<int64_t>& positions, double epsilon,
                     const std::optional<In<T>>& reward, const Out<T>& log_probability,
                     const std::optional<Out<T>>& entropy, const std::optional<Out<T>>& expected) {
    const Choices<T> choices = choices_of(index, logits, positions, epsilon, reward, expected.has_value());
    if (expected) require_shape(*expected, {choices.runs, index.variables}, "expected reward");
    if (entropy) require_shape(*entropy, {choices.runs, index.variables}, "entropy");
    require_shape(log_probability, {choices.runs, index.variables}, "log-probability");
    nb::gil_scoped_release release;
    choice_forward(choices, log_probability.data(), data_of(entropy), data_of(expected));
}

template <class T>
void checked_backward(const EdgeIndex& index, const In<T>& logits, const In<int64_t>& positions, double epsilon,
                      const std::optional<In<T>>& reward, const In<T>& log_probability_gradient,
                      const std::optional<In<T>>& entropy_gradient, const std::optional<In<T>>& expected_gradient,
                      const Out<T>& gradient) {
    const Choices<T> choices = choices_of(index, logits, positions, epsilon, reward, expected_gradient.has_value());
    const int64_t runs = choices.runs;
    require_shape(log_probability_gradient, {runs, index.variables}, "gradient");
    if (entropy_gradient) require_shape(*entropy_gradient, {runs, index.variables}, "gradient of the entropy");
    if (expected_gradient) require_shape(*expected_gradient, {runs, index.variables}, "gradient of the reward");
    require_shape(gradient, {runs, index.values}, "gradient of the logits");
    nb::gil_scoped_release release;
    choice_backward(choices, log_probability_gradient.data(), data_of(entropy_gradient), data_of(expected_gradient),
                    gradient.data());
}

template <class T>
void checked_draw(const EdgeIndex& index, const In<T>& logits, uint64_t seed, int64_t first_run, int64_t step,
                  int64_t first_variable, const Out<int64_t>& positions) {
    const int64_t runs = require_runs(logits, index.values, "logits");
    require_shape(positions, {runs, index.variables}, "positions");
    nb::gil_scoped_release release;
    draw_positions(index, runs, logits.data(), seed, first_run, step, first_variable, positions.data());
}

template <class T>
void bind_scalar(nb::module_& m) {
    m.def("choice_forward", &checked_forward<T>, nb::arg("index"), array("logits"), array("positions"),
          nb::arg("epsilon"), optional("reward"), array("log_probability"), optional("entropy"), optional("expected"));
    m.def("choice_backward", &checked_backward<T>, nb::arg("index"), array("logits"), array("positions"),
          nb::arg("epsilon"), optional("reward"), array("log_probability_gradient"), optional("entropy_gradient"),
          optional("expected_gradient"), array("gradient"));
    m.def("draw_positions", &checked_draw<T>, nb::arg("index"), array("logits"), nb::arg("seed"), nb::arg("first_run"),
          nb::arg("step"), nb::arg("first_variable"), array("positions"));
}

}  // namespace
}  // namespace anycsp

void bind_choice_ops(nb::module_& m) {
    anycsp::bind_scalar<float>(m);
    anycsp::bind_scalar<double>(m);
}
