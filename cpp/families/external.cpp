// Constraints only Python can evaluate.
#include <stdexcept>
#include <utility>

#include "families/definition.h"

namespace anycsp {
namespace {

void read(const Problem&, Family&, const Arrays&) {}

// Memory holds the labels of every edge, asked for anew after each move.
class ExternalPenalties : public Penalties {
  public:
    ExternalPenalties(const Problem& problem, const Family& arrays, ExternalLabels labels)
        : Penalties(problem, arrays), labels_(std::move(labels)) {}

    size_t memory() const override { return edges(); }

    void place(const PenaltyState& state) const override {
        for (int32_t c = arrays_.first_constraint; c < arrays_.last_constraint; ++c) ask(c, state);
    }

    bool shift(Occurrence at, int32_t, int32_t, const PenaltyState& state) const override {
        ask(at.constraint, state);
        return true;
    }

    bool satisfied(int32_t constraint, const PenaltyState& state) const override {
        const int32_t slot = problem_.scope_start[constraint];
        return label(slot, state)[state.positions[problem_.scope[slot]]];
    }

    void penalties(Occurrence at, const PenaltyState& state, int32_t* out) const override {
        for (int32_t v = 0; v < problem_.domain_size(problem_.scope[at.slot]); ++v) out[v] = !label(at.slot, state)[v];
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        return label(at.slot, state)[from] - label(at.slot, state)[to];
    }

  private:
    int64_t* label(int32_t slot, const PenaltyState& state) const {
        return state.memory + (problem_.edge_start[slot] - first_edge_);
    }

    void ask(int32_t constraint, const PenaltyState& state) const {
        const int32_t first = problem_.scope_start[constraint], last = problem_.scope_start[constraint + 1];
        std::vector<int32_t> taken;
        for (int32_t s = first; s < last; ++s) taken.push_back(state.positions[problem_.scope[s]]);
        std::vector<uint8_t> labels(problem_.edge_start[last] - problem_.edge_start[first]);
        labels_(constraint, taken.data(), labels.data());
        std::copy(labels.begin(), labels.end(), label(first, state));
    }

    ExternalLabels labels_;
};

std::unique_ptr<Penalties> penalties(const Problem& p, const Family& f, const PenaltyOptions& options) {
    if (!options.external) throw std::invalid_argument("local search: no function for external constraints");
    return std::make_unique<ExternalPenalties>(p, f, options.external);
}

}  // namespace

extern const FamilyDefinition external_family = {"external", Kind::external, read,     nullptr,
                                                 nullptr,    nullptr,        penalties};

}  // namespace anycsp
