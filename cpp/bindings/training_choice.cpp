// Choosing values, for Python: what a choice is worth to the loss, its gradient, and the draw itself.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "training/edge_index.h"
#include "neural/randomness.h"

namespace anycsp {
namespace {

// The value one variable takes in one run, among all it could take; φ in double precision.
template <class T>
struct Choice {
    std::vector<double> phi, log_phi;
    int64_t taken;        // domain position
    int64_t variable;     // its place in [runs][variables]
    int64_t first_value;  // the place of its first value in [runs][values]
    const T* reward;      // of its values, null where there is none

    void softmax(const T* logits, int32_t count) {
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

    double entropy() const {
        double h = 0;
        for (size_t p = 0; p < phi.size(); ++p)
            if (phi[p] > 0) h -= phi[p] * log_phi[p];
        return h;
    }

    double expected_reward() const {
        double e = 0;
        for (size_t p = 0; p < phi.size(); ++p) e += phi[p] * reward[p];
        return e;
    }
};

// The arrays both directions are given.
template <class T>
struct Choices {
    const EdgeIndex& index;
    const In<T>& logits;
    const In<int64_t>& positions;
    const std::optional<In<T>>& reward;

    int64_t require_valid(bool reward_wanted) const {
        const int64_t runs = require_runs(logits, index.values, "logits");
        require(require_positions(index, positions) == runs, "positions and logits differ in runs");
        require(reward.has_value() == reward_wanted, "rewards are missing, or not wanted");
        if (reward) require_shape(*reward, {runs, index.values}, "reward");
        return runs;
    }

    template <class Visit>
    void for_each(Visit&& visit) const {
        Choice<T> choice;
        const int64_t runs = logits.shape(0);
        for (int64_t run = 0; run < runs; ++run)
            for (int32_t x = 0; x < index.variables; ++x) {
                choice.variable = run * index.variables + x;
                choice.first_value = run * index.values + index.variable_start[x];
                choice.taken = positions.data()[choice.variable];
                choice.reward = reward ? reward->data() + choice.first_value : nullptr;
                choice.softmax(logits.data() + choice.first_value, index.domain_size(x));
                visit(choice);
            }
    }
};

// Per variable: log(φ(α(X)) + ε), entropy, and Σ φ(v)·reward(v); the last two where their arrays are given.
template <class T>
void choice_forward(const EdgeIndex& index, const In<T>& logits, const In<int64_t>& positions, double epsilon,
                    const std::optional<In<T>>& reward, const Out<T>& log_probability,
                    const std::optional<Out<T>>& entropy, const std::optional<Out<T>>& expected) {
    const Choices<T> choices{index, logits, positions, reward};
    const int64_t runs = choices.require_valid(expected.has_value());
    if (expected) require_shape(*expected, {runs, index.variables}, "expected reward");
    if (entropy) require_shape(*entropy, {runs, index.variables}, "entropy");
    require_shape(log_probability, {runs, index.variables}, "log-probability");
    nb::gil_scoped_release release;
    choices.for_each([&](const Choice<T>& c) {
        log_probability.data()[c.variable] = T(epsilon > 0 ? std::log(c.phi[c.taken] + epsilon) : c.log_phi[c.taken]);
        if (entropy) entropy->data()[c.variable] = T(c.entropy());
        if (expected) expected->data()[c.variable] = T(c.expected_reward());
    });
}

template <class T>
void choice_backward(const EdgeIndex& index, const In<T>& logits, const In<int64_t>& positions, double epsilon,
                     const std::optional<In<T>>& reward, const In<T>& log_probability_gradient,
                     const std::optional<In<T>>& entropy_gradient, const std::optional<In<T>>& expected_gradient,
                     const Out<T>& gradient) {
    const Choices<T> choices{index, logits, positions, reward};
    const int64_t runs = choices.require_valid(expected_gradient.has_value());
    require_shape(log_probability_gradient, {runs, index.variables}, "gradient");
    if (entropy_gradient) require_shape(*entropy_gradient, {runs, index.variables}, "gradient of the entropy");
    if (expected_gradient) require_shape(*expected_gradient, {runs, index.variables}, "gradient of the reward");
    require_shape(gradient, {runs, index.values}, "gradient of the logits");
    nb::gil_scoped_release release;
    choices.for_each([&](const Choice<T>& c) {
        double of_log = log_probability_gradient.data()[c.variable];
        if (epsilon > 0) of_log *= c.phi[c.taken] / (c.phi[c.taken] + epsilon);
        const double of_entropy = entropy_gradient ? double(entropy_gradient->data()[c.variable]) : 0;
        const double of_expected = expected_gradient ? double(expected_gradient->data()[c.variable]) : 0;
        const double entropy = c.entropy(), expected = c.reward ? c.expected_reward() : 0;
        T* to = gradient.data() + c.first_value;
        for (int64_t p = 0; p < int64_t(c.phi.size()); ++p) {
            const double phi = c.phi[p];
            double sum = of_log * ((p == c.taken) - phi);
            if (phi > 0) sum -= of_entropy * phi * (c.log_phi[p] + entropy);
            if (c.reward) sum += of_expected * phi * (c.reward[p] - expected);
            to[p] = T(sum);
        }
    });
}

// The draw of every variable, as in sampling.py: the first value whose cumulative weight exceeds u · total.
template <class T>
void draw_positions(const EdgeIndex& index, const In<T>& logits, uint64_t seed, int64_t first_run, int64_t step,
                    const Out<int64_t>& positions) {
    const int64_t runs = require_runs(logits, index.values, "logits");
    require_shape(positions, {runs, index.variables}, "positions");
    nb::gil_scoped_release release;
    std::vector<double> weight;
    for (int64_t run = 0; run < runs; ++run) {
        const uint64_t key = step_key(seed, uint64_t(first_run + run), uint64_t(step));
        for (int32_t x = 0; x < index.variables; ++x) {
            const T* of_variable = logits.data() + run * index.values + index.variable_start[x];
            const int32_t count = index.domain_size(x);
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

template <class T>
void bind_scalar(nb::module_& m) {
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

void bind_choice_ops(nb::module_& m) {
    anycsp::bind_scalar<float>(m);
    anycsp::bind_scalar<double>(m);
}
