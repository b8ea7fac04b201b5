// Linear comparisons: Σ coefficient · value ∘ bound.
#include "families/sums.h"

namespace anycsp {
namespace {

class Term {
  public:
    Term(const Problem& problem, const Family& family)
        : problem_(problem),
          coefficient_(family.coefficient.data()),
          first_slot_(problem.scope_start[family.first_constraint]) {}

    int64_t operator()(int32_t slot, int32_t position) const {
        return coefficient_[slot - first_slot_] * problem_.value[problem_.value_start[problem_.scope[slot]] + position];
    }

  private:
    const Problem& problem_;
    const int64_t* coefficient_;
    const int32_t first_slot_;
};

void read(const Problem& p, Family& f, const Arrays& arrays) {
    const int32_t first_slot = p.scope_start[f.first_constraint], last_slot = p.scope_start[f.last_constraint];
    f.coefficient = arrays.shared<int64_t>("coefficient", last_slot - first_slot);
    read_comparison(f, arrays, "linear: unknown operator");
    std::vector<__int128> largest(p.variables, 0);  // magnitude of a value
    for (int32_t x = 0; x < p.variables; ++x)
        for (int32_t v = p.value_start[x]; v < p.value_start[x + 1]; ++v)
            largest[x] = std::max(largest[x], magnitude(p.value[v]));
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        __int128 reach = magnitude(f.bound[c - f.first_constraint]);
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1] && sums_fit(reach); ++s)
            reach += magnitude(f.coefficient[s - first_slot]) * largest[p.scope[s]];
        require(sums_fit(reach), "linear: beyond 64-bit integers");
    }
}

}  // namespace

extern const FamilyDefinition linear_family = {"linear", Kind::linear,       read, label_sums<Term>, grade_sums<Term>,
                                               nullptr,  sum_penalties<Term>};

}  // namespace anycsp
