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
    const size_t slots = p.scope_start[f.last_constraint] - p.scope_start[f.first_constraint];
    f.coefficient = arrays.shared<int64_t>("coefficient", slots);
    read_comparison(f, arrays, "linear: unknown operator");
}

}  // namespace

extern const FamilyDefinition linear_family = {"linear", Kind::linear,       read, label_sums<Term>, grade_sums<Term>,
                                               nullptr,  sum_penalties<Term>};

}  // namespace anycsp
