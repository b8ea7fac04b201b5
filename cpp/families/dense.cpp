// Dense tables of any arity: memory holds every constraint's address in its truth table.
// (Binary tables take the faster way of local_state.h.)
#include "local/family.h"

namespace anycsp::local {
namespace {

class Dense : public Family {
  public:
    using Family::Family;

    size_t memory() const override { return arrays_.base.size(); }

    void place(const FamilyState& state) const override {
        for (size_t row = 0; row < arrays_.base.size(); ++row) {
            int32_t c = arrays_.first_constraint + static_cast<int32_t>(row);
            state.memory[row] = arrays_.base[row];
            for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
                state.memory[row] += stride(s) * state.positions[problem_.scope[s]];
        }
    }

    bool shift(Occurrence at, int32_t from, int32_t to, const FamilyState& state) const override {
        state.memory[row(at.constraint)] += stride(at.slot) * (to - from);
        return true;
    }

    bool satisfied(int32_t constraint, const FamilyState& state) const override {
        return arrays_.truth[state.memory[row(constraint)]];
    }

    void penalties(Occurrence at, const FamilyState& state, int32_t* out) const override {
        int32_t x = problem_.scope[at.slot], size = problem_.domain_size(x);
        const int64_t step = stride(at.slot);
        const uint8_t* line = arrays_.truth.data() + state.memory[row(at.constraint)] - step * state.positions[x];
        for (int32_t v = 0; v < size; ++v) out[v] = !line[v * step];
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const FamilyState& state) const override {
        const uint8_t* now = arrays_.truth.data() + state.memory[row(at.constraint)];
        return int64_t(*now) - int64_t(now[stride(at.slot) * (to - from)]);
    }

  private:
    int64_t stride(int32_t slot) const { return arrays_.stride[slot - first_slot_]; }
};

}  // namespace

std::unique_ptr<Family> make_dense(const Problem& problem, const anycsp::Family& arrays) {
    return std::make_unique<Dense>(problem, arrays);
}

}  // namespace anycsp::local
