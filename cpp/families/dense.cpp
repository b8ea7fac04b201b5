// Dense tables of any arity: a truth value for every tuple.
#include <cstring>

#include "families/definition.h"

namespace anycsp {
namespace {

void read(const Problem& p, Family& f, const Arrays& arrays) {
    const int32_t first_slot = p.scope_start[f.first_constraint];
    f.base = arrays.shared<int64_t>("base", f.last_constraint - f.first_constraint);
    f.stride = arrays.shared<int64_t>("stride", p.scope_start[f.last_constraint] - first_slot);
    f.truth = arrays.flags("truth");
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        const auto size = static_cast<int64_t>(f.truth.size());
        int64_t high = f.base[c - f.first_constraint];
        require(high >= 0 && high < size, "dense: address outside the truth table");
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            const int64_t stride = f.stride[s - first_slot], steps = p.domain_size(p.scope[s]) - 1;
            require(stride >= 0, "dense: negative stride");
            require(steps == 0 || stride <= (size - 1 - high) / steps, "dense: address outside the truth table");
            high += stride * steps;
        }
    }
}

void label(const Problem& p, const Family& f, Range constraints, const EdgeLabels& to) {
    const int32_t first_slot = p.scope_start[f.first_constraint];
    for (int32_t c = constraints.first; c < constraints.last; ++c) {
        const int32_t begin = p.scope_start[c], end = p.scope_start[c + 1];
        int64_t address = f.base[c - f.first_constraint];
        for (int32_t s = begin; s < end; ++s) address += f.stride[s - first_slot] * to.positions[p.scope[s]];
        for (int32_t s = begin; s < end; ++s) {
            const int32_t x = p.scope[s], values = p.domain_size(x);
            const int64_t stride = f.stride[s - first_slot];
            const uint8_t* truth = f.truth.data() + (address - stride * to.positions[x]);
            uint8_t* label = to.of(s);
            if (stride == 1)
                std::memcpy(label, truth, values);
            else
                for (int32_t v = 0; v < values; ++v) label[v] = truth[stride * v];
        }
    }
}

// Memory holds every constraint's address in its truth table. Binary tables take the faster way of local/state.h.
class DensePenalties : public Penalties {
  public:
    using Penalties::Penalties;

    size_t memory() const override { return arrays_.base.size(); }

    void place(const PenaltyState& state) const override {
        for (size_t row = 0; row < arrays_.base.size(); ++row) {
            int32_t c = arrays_.first_constraint + static_cast<int32_t>(row);
            state.memory[row] = arrays_.base[row];
            for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
                state.memory[row] += stride(s) * state.positions[problem_.scope[s]];
        }
    }

    bool shift(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        state.memory[row(at.constraint)] += stride(at.slot) * (to - from);
        return true;
    }

    bool satisfied(int32_t constraint, const PenaltyState& state) const override {
        return arrays_.truth[state.memory[row(constraint)]];
    }

    void penalties(Occurrence at, const PenaltyState& state, int32_t* out) const override {
        int32_t x = problem_.scope[at.slot], size = problem_.domain_size(x);
        const int64_t step = stride(at.slot);
        const uint8_t* line = arrays_.truth.data() + state.memory[row(at.constraint)] - step * state.positions[x];
        for (int32_t v = 0; v < size; ++v) out[v] = !line[v * step];
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        const uint8_t* now = arrays_.truth.data() + state.memory[row(at.constraint)];
        return int64_t(*now) - int64_t(now[stride(at.slot) * (to - from)]);
    }

  private:
    int64_t stride(int32_t slot) const { return arrays_.stride[slot - first_slot_]; }
};

std::unique_ptr<Penalties> penalties(const Problem& p, const Family& f, const PenaltyOptions&) {
    return std::make_unique<DensePenalties>(p, f);
}

}  // namespace

extern const FamilyDefinition dense_family = {"dense", Kind::dense, read, label, nullptr, nullptr, penalties};

}  // namespace anycsp
