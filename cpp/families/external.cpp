// Constraints only Python can evaluate: memory holds the labels of every edge, asked for anew after each move.
#include <utility>

#include "local/family.h"

namespace anycsp::local {
namespace {

class External : public Family {
  public:
    External(const Problem& problem, const anycsp::Family& arrays, ExternalLabels labels)
        : Family(problem, arrays), labels_(std::move(labels)) {}

    size_t memory() const override { return edges(); }

    void place(const FamilyState& state) const override {
        for (int32_t c = arrays_.first_constraint; c < arrays_.last_constraint; ++c) ask(c, state);
    }

    bool shift(Occurrence at, int32_t, int32_t, const FamilyState& state) const override {
        ask(at.constraint, state);
        return true;
    }

    bool satisfied(int32_t constraint, const FamilyState& state) const override {
        const int32_t slot = problem_.scope_start[constraint];
        return label(slot, state)[state.positions[problem_.scope[slot]]];
    }

    void penalties(Occurrence at, const FamilyState& state, int32_t* out) const override {
        for (int32_t v = 0; v < problem_.domain_size(problem_.scope[at.slot]); ++v)
            out[v] = !label(at.slot, state)[v];
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const FamilyState& state) const override {
        return label(at.slot, state)[from] - label(at.slot, state)[to];
    }

  private:
    int64_t* label(int32_t slot, const FamilyState& state) const {
        return state.memory + (problem_.edge_start[slot] - first_edge_);
    }

    void ask(int32_t constraint, const FamilyState& state) const {
        const int32_t first = problem_.scope_start[constraint], last = problem_.scope_start[constraint + 1];
        std::vector<int32_t> taken;
        for (int32_t s = first; s < last; ++s) taken.push_back(state.positions[problem_.scope[s]]);
        std::vector<uint8_t> labels(problem_.edge_start[last] - problem_.edge_start[first]);
        labels_(constraint, taken.data(), labels.data());
        std::copy(labels.begin(), labels.end(), label(first, state));
    }

    ExternalLabels labels_;
};

}  // namespace

std::unique_ptr<Family> make_external(const Problem& problem, const anycsp::Family& arrays, ExternalLabels labels) {
    return std::make_unique<External>(problem, arrays, std::move(labels));
}

}  // namespace anycsp::local
