// Sums of contributions: Σ term ∘ bound with a term for every edge.
#include "families/sums.h"

namespace anycsp {
namespace {

class Term {
  public:
    Term(const Problem& problem, const Family& family)
        : problem_(problem),
          term_(family.term.data()),
          first_edge_(problem.edge_start[problem.scope_start[family.first_constraint]]) {}

    int64_t operator()(int32_t slot, int32_t position) const {
        return term_[problem_.edge_start[slot] - first_edge_ + position];
    }

  private:
    const Problem& problem_;
    const int64_t* term_;
    const int64_t first_edge_;
};

void read(const Problem& p, Family& f, const Arrays& arrays) {
    const int32_t first_slot = p.scope_start[f.first_constraint], last_slot = p.scope_start[f.last_constraint];
    f.term = arrays.shared<int64_t>("term", p.edge_start[last_slot] - p.edge_start[first_slot]);
    read_comparison(f, arrays, "sum: unknown operator");
    const int64_t first_edge = p.edge_start[first_slot];
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        __int128 reach = magnitude(f.bound[c - f.first_constraint]);
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            __int128 largest = 0;
            for (int64_t e = p.edge_start[s]; e < p.edge_start[s + 1]; ++e)
                largest = std::max(largest, magnitude(f.term[e - first_edge]));
            reach += largest;
        }
        require(sums_fit(reach), "sum: beyond 64-bit integers");
    }
}

}  // namespace

extern const FamilyDefinition sum_family = {"sum",   Kind::sum,          read, label_sums<Term>, grade_sums<Term>,
                                            nullptr, sum_penalties<Term>};

}  // namespace anycsp
