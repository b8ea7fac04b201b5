// Choosing values: what a choice is worth to the loss, its gradient, and the draw itself. φ in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "neural/randomness.h"
#include "training/edge_index.h"

namespace anycsp {

// The value one variable takes in one run, among all it could take.
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

// What both directions are given.
template <class T>
struct Choices {
    const EdgeIndex& index;
    int64_t runs;
    const T* logits;           // [runs][values]
    const int64_t* positions;  // [runs][variables]
    const T* reward;           // [runs][values] or null
    double epsilon;

    template <class Visit>
    void for_each(Visit&& visit) const {
        Choice<T> choice;
        for (int64_t run = 0; run < runs; ++run)
            for (int32_t x = 0; x < index.variables; ++x) {
                choice.variable = run * index.variables + x;
                choice.first_value = run * index.values + index.variable_start[x];
                choice.taken = positions[choice.variable];
                choice.reward = reward ? reward + choice.first_value : nullptr;
                choice.softmax(logits + choice.first_value, index.domain_size(x));
                visit(choice);
            }
    }
};

// Per variable: log(φ(α(X)) + ε), entropy, and Σ φ(v)·reward(v); the last two where their arrays are given.
template <class T>
void choice_forward(const Choices<T>& choices, T* log_probability, T* entropy, T* expected) {
    const double epsilon = choices.epsilon;
    choices.for_each([&](const Choice<T>& c) {
        log_probability[c.variable] = T(epsilon > 0 ? std::log(c.phi[c.taken] + epsilon) : c.log_phi[c.taken]);
        if (entropy) entropy[c.variable] = T(c.entropy());
        if (expected) expected[c.variable] = T(c.expected_reward());
    });
}

template <class T>
void choice_backward(const Choices<T>& choices, const T* log_probability_gradient, const T* entropy_gradient,
                     const T* expected_gradient, T* gradient) {
    const double epsilon = choices.epsilon;
    choices.for_each([&](const Choice<T>& c) {
        double of_log = log_probability_gradient[c.variable];
        if (epsilon > 0) of_log *= c.phi[c.taken] / (c.phi[c.taken] + epsilon);
        const double of_entropy = entropy_gradient ? double(entropy_gradient[c.variable]) : 0;
        const double of_expected = expected_gradient ? double(expected_gradient[c.variable]) : 0;
        const double entropy = c.entropy(), expected = c.reward ? c.expected_reward() : 0;
        T* to = gradient + c.first_value;
        for (int64_t p = 0; p < int64_t(c.phi.size()); ++p) {
            const double phi = c.phi[p];
            double sum = of_log * ((p == c.taken) - phi);
            if (phi > 0) sum -= of_entropy * phi * (c.log_phi[p] + entropy);
            if (c.reward) sum += of_expected * phi * (c.reward[p] - expected);
            to[p] = T(sum);
        }
    });
}

// The draw of every variable, as in sampling.py: the first value whose cumulative weight exceeds u · total. A graph that
// is a share of a larger one begins with that one's variable `first_variable`.
template <class T>
void draw_positions(const EdgeIndex& index, int64_t runs, const T* logits, uint64_t seed, int64_t first_run,
                    int64_t step, int64_t first_variable, int64_t* positions) {
    std::vector<double> weight;
    for (int64_t run = 0; run < runs; ++run) {
        const uint64_t key = step_key(seed, uint64_t(first_run + run), uint64_t(step));
        for (int32_t x = 0; x < index.variables; ++x) {
            const T* of_variable = logits + run * index.values + index.variable_start[x];
            const int32_t count = index.domain_size(x);
            const T highest = *std::max_element(of_variable, of_variable + count);
            weight.resize(count);
            double total = 0;
            for (int32_t p = 0; p < count; ++p) total += weight[p] = std::exp(double(of_variable[p] - highest));
            const double threshold = double(uniform(key, uint64_t(first_variable + x))) * total;
            double cumulative = 0;
            int32_t taken = count - 1;
            for (int32_t p = 0; p < count; ++p)
                if ((cumulative += weight[p]) > threshold) {
                    taken = p;
                    break;
                }
            positions[run * index.variables + x] = taken;
        }
    }
}

}  // namespace anycsp
