// Clauses: a slot satisfies unless it is at its forbidden position, and one that does is enough.
//
// Their penalties are kept by local/state.h: they are in the innermost loop of every local search on formulas, and
// what a strategy does not want kept must cost nothing there.
#include "families/definition.h"

namespace anycsp {
namespace {

void read(const Problem& p, Family& f, const Arrays& arrays) {
    const int32_t first_slot = p.scope_start[f.first_constraint];
    f.forbidden = arrays.shared<int32_t>("forbidden", p.scope_start[f.last_constraint] - first_slot);
    for (size_t i = 0; i < f.forbidden.size(); ++i)
        require(f.forbidden[i] >= -1 && f.forbidden[i] < p.domain_size(p.scope[first_slot + i]),
                "clause: forbidden position outside the domain");
}

const int32_t* forbidden_by_slot(const Problem& p, const Family& f) {
    return f.forbidden.data() - p.scope_start[f.first_constraint];
}

// A slot is the exception at its forbidden value iff all the others are at theirs: every slot of a violated clause, the
// one critical slot of a clause that hangs by it.
void label(const Problem& p, const Family& f, Range constraints, const EdgeLabels& to) {
    const int32_t* forbidden = forbidden_by_slot(p, f);
    for (int32_t c = constraints.first; c < constraints.last; ++c) {
        int32_t satisfying = 0;
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s)
            satisfying += to.positions[p.scope[s]] != forbidden[s];
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            const bool hangs_by_it = satisfying - (to.positions[p.scope[s]] != forbidden[s]) == 0;
            write_exception(p, to, s, hangs_by_it ? forbidden[s] : -1);
        }
    }
}

// The exceptions of a clause: none, all its slots, or one, kept as 1 + that slot.
constexpr int32_t kNone = 0, kAll = -1;

Violation relabel(const Problem& p, const Family& f, Range constraints, const Exceptions& run) {
    const int32_t* forbidden = forbidden_by_slot(p, f);
    auto set = [&](int32_t c, int32_t which, bool exceptional) {
        const int32_t first = which == kAll ? p.scope_start[c] : which - 1;
        const int32_t last = which == kAll ? p.scope_start[c + 1] : which;
        for (int32_t s = first; s < last; ++s) run.set(p, s, exceptional ? forbidden[s] : -1);
    };
    return sum_violated(p, constraints, [&](int32_t c) {
        int32_t satisfying = 0, critical = kNone;
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            const bool free = run.positions[p.scope[s]] != forbidden[s];
            satisfying += free;
            critical = free ? s + 1 : critical;
        }
        const int32_t which = satisfying > 1 ? kNone : satisfying == 1 ? critical : kAll;
        if (which != run.critical[c]) {
            if (run.critical[c] != kNone) set(c, run.critical[c], false);
            if (which != kNone) set(c, which, true);
            run.critical[c] = which;
        }
        return satisfying == 0;
    });
}

}  // namespace

extern const FamilyDefinition clause_family = {"clause", Kind::clause, read, label, nullptr, relabel, nullptr};

}  // namespace anycsp
