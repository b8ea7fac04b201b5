// Binary tables where a value conflicts with at most one value of the other variable: ≠ and its like.
//
// Their penalties are kept by local/state.h, as those of clauses and for the same reason.
#include "families/definition.h"

namespace anycsp {
namespace {

void read(const Problem& p, Family& f, const Arrays& arrays) {
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c)
        require(p.scope_start[c + 1] - p.scope_start[c] == 2, "matching: not binary");
    const int32_t first_slot = p.scope_start[f.first_constraint];
    f.offset = arrays.shared<int64_t>("offset", p.scope_start[f.last_constraint] - first_slot);
    f.conflict = arrays.shared<int32_t>("conflict");
    for (size_t i = 0; i < f.offset.size(); ++i) {
        const int32_t partner = p.scope[first_slot + (i ^ 1)];
        require(f.offset[i] >= 0 && f.offset[i] <= int64_t(f.conflict.size()) - p.domain_size(partner),
                "matching: offset outside the conflict pool");
        const int32_t size = p.domain_size(p.scope[first_slot + i]);
        for (int32_t v = 0; v < p.domain_size(partner); ++v)
            require(f.conflict[f.offset[i] + v] >= -1 && f.conflict[f.offset[i] + v] < size,
                    "matching: conflict outside the domain");
    }
}

void label(const Problem& p, const Family& f, Range constraints, const EdgeLabels& to) {
    const int64_t* offset = f.offset.data() - p.scope_start[f.first_constraint];
    for (int32_t c = constraints.first; c < constraints.last; ++c) {
        const int32_t s = p.scope_start[c];
        write_exception(p, to, s, f.conflict[offset[s] + to.positions[p.scope[s + 1]]]);
        write_exception(p, to, s + 1, f.conflict[offset[s + 1] + to.positions[p.scope[s]]]);
    }
}

Violation relabel(const Problem& p, const Family& f, Range constraints, const Exceptions& run) {
    const int64_t* offset = f.offset.data() - p.scope_start[f.first_constraint];
    return sum_violated(p, constraints, [&](int32_t c) {
        const int32_t s = p.scope_start[c], at_x = run.positions[p.scope[s]], at_y = run.positions[p.scope[s + 1]];
        const int32_t of_x = f.conflict[offset[s] + at_y], of_y = f.conflict[offset[s + 1] + at_x];
        run.set(p, s,
                of_x);  // changed or not: whether it did is a coin flip, and a wrong guess costs more than a store
        run.set(p, s + 1, of_y);
        return of_x == at_x;
    });
}

}  // namespace

extern const FamilyDefinition matching_family = {"matching", Kind::matching, read, label, nullptr, relabel, nullptr};

}  // namespace anycsp
