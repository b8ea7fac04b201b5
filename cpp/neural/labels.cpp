#include "neural/labels.h"

#include "core/comparison.h"
#include "families/evaluator.h"

#include <cstring>
#include <vector>

namespace anycsp {
namespace {

// Sums the violated constraints of a chunk; `violated(c)` says which.
template <class Violated>
Violation sum_violated(const Problem& p, const Layout& layout, const Chunk& chunk, Violated violated) {
    Violation sum;
    for (int32_t c = chunk.first; c < chunk.last; ++c) {
        if (!violated(c)) continue;
        ++sum.violated;
        sum.hard += p.hard[c];
        sum.weight += p.weight[c];
        sum.score += layout.score[c];
    }
    return sum;
}

void set_exception(const Problem& p, const Layout& layout, const Labels& run, int32_t s, int32_t position) {
    const int32_t x = p.scope[s];
    if (run.rows) run.rows[s] = position < 0 ? x : p.variables + p.value_start[x] + position;
    run.exceptions[layout.place[s]] = position;
}

// A slot is the exception at its forbidden value iff all the others are at theirs: every slot of a violated clause,
// the one critical slot of a clause that hangs by it.
constexpr int32_t kNone = 0, kAll = -1;  // otherwise 1 + the critical slot

Violation relabel_clauses(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk,
                          const Labels& run) {
    const int32_t* forbidden = f.forbidden.data() - p.scope_start[f.first_constraint];
    auto set = [&](int32_t c, int32_t which, bool exceptional) {
        const int32_t first = which == kAll ? p.scope_start[c] : which - 1;
        const int32_t last = which == kAll ? p.scope_start[c + 1] : which;
        for (int32_t s = first; s < last; ++s)
            set_exception(p, layout, run, s, exceptional ? forbidden[s] : -1);
    };
    return sum_violated(p, layout, chunk, [&](int32_t c) {
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

Violation relabel_matchings(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk,
                            const Labels& run) {
    const int64_t* offset = f.offset.data() - p.scope_start[f.first_constraint];
    return sum_violated(p, layout, chunk, [&](int32_t c) {
        const int32_t s = p.scope_start[c], at_x = run.positions[p.scope[s]], at_y = run.positions[p.scope[s + 1]];
        const int32_t of_x = f.conflict[offset[s] + at_y], of_y = f.conflict[offset[s + 1] + at_x];
        if (run.exceptions[layout.place[s]] != of_x) set_exception(p, layout, run, s, of_x);
        if (run.exceptions[layout.place[s + 1]] != of_y) set_exception(p, layout, run, s + 1, of_y);
        return of_x == at_x;
    });
}

// The families below write one label per edge; a constraint is violated iff its first variable's own label is 0.
template <class Write>
Violation relabel_edges(const Problem& p, const Layout& layout, const Chunk& chunk, const Labels& run, Write write) {
    return sum_violated(p, layout, chunk, [&](int32_t c) {
        write(c);
        const int32_t s = p.scope_start[c];
        return run.labels[layout.label_start[s] + run.positions[p.scope[s]]] == 0;
    });
}

Violation relabel_dense(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk,
                        const Labels& run) {
    const int32_t first_slot = p.scope_start[f.first_constraint];
    return relabel_edges(p, layout, chunk, run, [&](int32_t c) {
        const int32_t begin = p.scope_start[c], end = p.scope_start[c + 1];
        int64_t address = f.base[c - f.first_constraint];
        for (int32_t s = begin; s < end; ++s) address += f.stride[s - first_slot] * run.positions[p.scope[s]];
        for (int32_t s = begin; s < end; ++s) {
            const int32_t x = p.scope[s], values = p.domain_size(x);
            const int64_t stride = f.stride[s - first_slot];
            const uint8_t* truth = f.truth.data() + (address - stride * run.positions[x]);
            uint8_t* label = run.labels + layout.label_start[s];
            if (stride == 1)
                std::memcpy(label, truth, values);
            else
                for (int32_t v = 0; v < values; ++v) label[v] = truth[stride * v];
        }
    });
}

// Equations Label1 to Label3 of the paper: a tuple that agrees with the assignment in all slots but one labels that
// one value; a tuple that agrees everywhere labels every current value.
Violation relabel_tuples(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk,
                         const Labels& run) {
    return relabel_edges(p, layout, chunk, run, [&](int32_t c) {
        const int32_t begin = p.scope_start[c], arity = p.scope_start[c + 1] - begin;
        const int32_t relation = f.relation[c - f.first_constraint];
        const uint8_t listed = f.allowed[relation];
        for (int32_t i = 0; i < arity; ++i)
            std::memset(run.labels + layout.label_start[begin + i], !listed, p.domain_size(p.scope[begin + i]));
        const int32_t* tuple = f.tuple_cells.data() + f.tuple_start[relation];
        const int32_t* end = f.tuple_cells.data() + f.tuple_start[relation + 1];
        for (; tuple != end; tuple += arity) {
            int32_t differing = 0, where = 0;
            for (int32_t i = 0; i < arity && differing < 2; ++i)
                if (tuple[i] != run.positions[p.scope[begin + i]]) {
                    ++differing;
                    where = i;
                }
            if (differing == 1) run.labels[layout.label_start[begin + where] + tuple[where]] = listed;
            if (differing == 0)
                for (int32_t i = 0; i < arity; ++i) run.labels[layout.label_start[begin + i] + tuple[i]] = listed;
        }
    });
}

// Σ term(slot, position) ∘ bound, from the residual.
template <class Term>
Violation relabel_sums(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk, const Labels& run,
                       Term term) {
    return relabel_edges(p, layout, chunk, run, [&](int32_t c) {
        const int32_t begin = p.scope_start[c], end = p.scope_start[c + 1];
        const int32_t op = f.op[c - f.first_constraint];
        int64_t residual = -f.bound[c - f.first_constraint];
        for (int32_t s = begin; s < end; ++s) residual += term(s, run.positions[p.scope[s]]);
        for (int32_t s = begin; s < end; ++s) {
            const int32_t values = p.domain_size(p.scope[s]);
            const int64_t others = residual - term(s, run.positions[p.scope[s]]);
            uint8_t* label = run.labels + layout.label_start[s];
            for (int32_t v = 0; v < values; ++v) label[v] = holds(op, others + term(s, v));
        }
    });
}

Violation relabel_linear(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk,
                         const Labels& run) {
    const int32_t first_slot = p.scope_start[f.first_constraint];
    return relabel_sums(p, f, layout, chunk, run, [&](int32_t s, int32_t position) {
        return f.coefficient[s - first_slot] * p.value[p.value_start[p.scope[s]] + position];
    });
}

Violation relabel_sum(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk, const Labels& run) {
    const int64_t first_edge = p.edge_start[p.scope_start[f.first_constraint]];
    return relabel_sums(p, f, layout, chunk, run, [&](int32_t s, int32_t position) {
        return f.term[p.edge_start[s] - first_edge + position];
    });
}

Violation relabel_evaluated(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk,
                            const Labels& run) {
    thread_local std::vector<int64_t> distances;
    return relabel_edges(p, layout, chunk, run, [&](int32_t c) {
        f.evaluator->prepare(c, run.positions);
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            const int32_t values = p.domain_size(p.scope[s]);
            distances.resize(values);
            f.evaluator->slot(s, run.positions, distances.data());
            uint8_t* label = run.labels + layout.label_start[s];
            for (int32_t v = 0; v < values; ++v) label[v] = distances[v] == 0;
        }
    });
}

// From a histogram of the values now taken: (C, X = v) is 1 iff the other variables are pairwise different and none
// of them takes v; excepted values never clash.
Violation relabel_all_different(const Problem& p, const Family& f, const Layout& layout, const Chunk& chunk,
                                const Labels& run) {
    const int64_t first_edge = p.edge_start[p.scope_start[f.first_constraint]];
    thread_local std::vector<int32_t> histogram;  // all zero between constraints
    if (histogram.size() < f.bin_counts.size()) histogram.resize(f.bin_counts.size(), 0);
    return relabel_edges(p, layout, chunk, run, [&](int32_t c) {
        const int32_t begin = p.scope_start[c], end = p.scope_start[c + 1];
        auto bins = [&](int32_t s) { return f.edge_bin.data() + (p.edge_start[s] - first_edge); };
        int32_t clashes = 0;  // variables beyond the first on their value
        for (int32_t s = begin; s < end; ++s) {
            const int32_t bin = bins(s)[run.positions[p.scope[s]]];
            if (f.bin_counts[bin] && histogram[bin]++ > 0) ++clashes;
        }
        for (int32_t s = begin; s < end; ++s) {
            const int32_t values = p.domain_size(p.scope[s]), own = bins(s)[run.positions[p.scope[s]]];
            const int32_t counted = f.bin_counts[own];
            const bool others_clash = clashes - (counted && histogram[own] > 1) > 0;
            uint8_t* label = run.labels + layout.label_start[s];
            histogram[own] -= counted;  // the other variables only
            for (int32_t v = 0; v < values; ++v) label[v] = !others_clash && histogram[bins(s)[v]] == 0;
            histogram[own] += counted;
        }
        for (int32_t s = begin; s < end; ++s) histogram[bins(s)[run.positions[p.scope[s]]]] = 0;
    });
}

}  // namespace

void clear(const Problem& p, const Layout& layout, const Labels& run) {
    for (const Family& f : p.families) {
        if (!f.exceptional()) continue;
        for (int32_t s = p.scope_start[f.first_constraint]; s < p.scope_start[f.last_constraint]; ++s)
            set_exception(p, layout, run, s, -1);
        if (f.kind == Kind::clause)
            for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) run.critical[c] = kNone;
    }
}

Violation relabel(const Problem& p, const Layout& layout, const Chunk& chunk, const Labels& run) {
    const Family& f = p.families[chunk.family];
    switch (f.kind) {
        case Kind::clause: return relabel_clauses(p, f, layout, chunk, run);
        case Kind::matching: return relabel_matchings(p, f, layout, chunk, run);
        case Kind::dense: return relabel_dense(p, f, layout, chunk, run);
        case Kind::tuples: return relabel_tuples(p, f, layout, chunk, run);
        case Kind::linear: return relabel_linear(p, f, layout, chunk, run);
        case Kind::all_different: return relabel_all_different(p, f, layout, chunk, run);
        case Kind::sum: return relabel_sum(p, f, layout, chunk, run);
        case Kind::evaluated: return relabel_evaluated(p, f, layout, chunk, run);
        case Kind::external: return relabel_edges(p, layout, chunk, run, [](int32_t) {});
    }
    return {};
}

}  // namespace anycsp
