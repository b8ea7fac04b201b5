#include "neural/labels.h"

#include "families/definition.h"

namespace anycsp {

void clear(const Problem& p, const Labels& run) {
    for (const Family& f : p.families) {
        if (!f.exceptional()) continue;
        for (int32_t s = p.scope_start[f.first_constraint]; s < p.scope_start[f.last_constraint]; ++s)
            run.exceptions.set(p, s, -1);
        if (f.kind == Kind::clause)
            for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) run.exceptions.critical[c] = 0;
    }
}

Violation relabel(const Problem& p, const Chunk& chunk, const Labels& run) {
    const Family& f = p.families[chunk.family];
    if (f.definition->relabel) return f.definition->relabel(p, f, chunk, run.exceptions);
    if (f.definition->label) f.definition->label(p, f, chunk, run.edges);
    return sum_violated(p, chunk, [&](int32_t c) { return !run.satisfied(p, f, c); });
}

void regrade(const Problem& p, const Chunk& chunk, const EdgeLabels& labels, float* grades) {
    const Family& f = p.families[chunk.family];
    if (f.exceptional()) return;
    if (f.definition->grade) return f.definition->grade(p, f, chunk, {labels.positions, labels.start, grades});
    for (int32_t s = p.scope_start[chunk.first]; s < p.scope_start[chunk.last]; ++s)
        for (int32_t v = 0; v < p.domain_size(p.scope[s]); ++v)
            grades[labels.start[s] + v] = labels.of(s)[v] ? 0.f : 1.f;
}

}  // namespace anycsp
