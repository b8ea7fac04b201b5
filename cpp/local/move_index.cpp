#include "local/move_index.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "families/definition.h"

namespace anycsp::local {
namespace {

// Fill a Ragged in two passes: `visit(emit)` calls emit(row, item) for every item.
template <class T, class Visit>
Ragged<T> gather(int32_t rows, Visit visit) {
    Ragged<T> result;
    result.start.assign(rows + 1, 0);
    visit([&](int32_t row, const T&) { ++result.start[row + 1]; });
    for (int32_t row = 0; row < rows; ++row) result.start[row + 1] += result.start[row];
    result.items.resize(result.start[rows]);
    std::vector<int64_t> next(result.start.begin(), result.start.end() - 1);
    visit([&](int32_t row, const T& item) { result.items[next[row]++] = item; });
    return result;
}

void require_distinct_scopes(const Problem& p) {
    std::vector<int32_t> seen(p.variables, -1);
    for (int32_t c = 0; c < p.constraints; ++c)
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            if (seen[p.scope[s]] == c) throw std::invalid_argument("local search: a scope repeats a variable");
            seen[p.scope[s]] = c;
        }
}

}  // namespace

MoveIndex::MoveIndex(std::shared_ptr<const Problem> shared, const PenaltyOptions& options)
    : problem(std::move(shared)) {
    const Problem& p = *problem;
    if (p.instances != 1) throw std::invalid_argument("local search takes one instance, not a batch");
    require_distinct_scopes(p);
    for (int32_t x = 0; x < p.variables; ++x) {
        value_variable.insert(value_variable.end(), p.domain_size(x), x);
        if (p.domain_size(x) > 1) movable.push_back(x);
        only_clauses = only_clauses && p.domain_size(x) == 2;
    }
    weigh();
    PenaltyOptions bounded = options;
    bounded.steps =
        static_cast<int32_t>(std::min<Weight>(options.steps, (Weight(1) << 61) / std::max<Weight>(1, score.total)));
    for (const Family& f : p.families) {
        only_clauses = only_clauses && f.kind == Kind::clause;
        auto make = f.definition->penalties;
        penalties.push_back(make ? make(p, f, bounded) : nullptr);
    }
    index_clauses();
    index_matchings();
    index_tables();
    index_others();
}

void MoveIndex::index_clauses() {
    const Problem& p = *problem;
    forbidden_value.assign(p.slots(), -1);
    for (const Family& f : p.families) {
        if (f.kind != Kind::clause) continue;
        const int32_t first = p.scope_start[f.first_constraint];
        for (size_t i = 0; i < f.forbidden.size(); ++i)
            if (f.forbidden[i] >= 0) forbidden_value[first + i] = p.value_start[p.scope[first + i]] + f.forbidden[i];
    }
    clauses_at = gather<int32_t>(p.values(), [&](auto emit) {
        for (int32_t s = 0; s < p.slots(); ++s)
            if (forbidden_value[s] >= 0) emit(forbidden_value[s], p.slot_constraint[s]);
    });
}

void MoveIndex::index_matchings() {
    const Problem& p = *problem;
    std::vector<int64_t> pool;  // [families]: where the family's conflict lists begin
    for (const Family& f : p.families) {
        pool.push_back(conflict.size());
        conflict.insert(conflict.end(), f.conflict.begin(), f.conflict.end());
    }
    matchings = gather<Partner>(p.variables, [&](auto emit) {
        for (size_t i = 0; i < p.families.size(); ++i) {
            const Family& f = p.families[i];
            if (f.kind != Kind::matching) continue;
            for (int32_t c = f.first_constraint; c < f.last_constraint; ++c)
                for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
                    const int32_t other = 2 * p.scope_start[c] + 1 - s, y = p.scope[other];
                    const int64_t line = pool[i] + f.offset[other - p.scope_start[f.first_constraint]];
                    emit(p.scope[s], Partner{c, y, p.value_start[y], p.domain_size(y), line});
                }
        }
    });
}

void MoveIndex::index_tables() {
    const Problem& p = *problem;
    // Lines are laid out once for every relation and direction.
    std::map<std::tuple<size_t, int64_t, int64_t, int64_t, int32_t, int32_t>, int64_t> known;
    auto line_of = [&](size_t family, int64_t base, int64_t own, int64_t other, int32_t size, int32_t other_size) {
        auto [entry, fresh] = known.try_emplace({family, base, own, other, size, other_size}, violation.size());
        if (fresh)
            for (int32_t u = 0; u < size; ++u)
                for (int32_t v = 0; v < other_size; ++v)
                    violation.push_back(!p.families[family].truth[base + own * u + other * v]);
        return entry->second;
    };
    tables = gather<Partner>(p.variables, [&](auto emit) {
        for (size_t i = 0; i < p.families.size(); ++i) {
            const Family& f = p.families[i];
            if (f.kind != Kind::dense) continue;
            const int32_t first = p.scope_start[f.first_constraint];
            for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
                if (arity(c) != 2) continue;
                for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
                    const int32_t other = 2 * p.scope_start[c] + 1 - s, x = p.scope[s], y = p.scope[other];
                    const int64_t line = line_of(i, f.base[c - f.first_constraint], f.stride[s - first],
                                                 f.stride[other - first], p.domain_size(x), p.domain_size(y));
                    emit(x, Partner{c, y, p.value_start[y], p.domain_size(y), line});
                }
            }
        }
    });
}

void MoveIndex::index_others() {
    const Problem& p = *problem;
    others = gather<Occurrence>(p.variables, [&](auto emit) {
        for (size_t i = 0; i < p.families.size(); ++i) {
            const Family& f = p.families[i];
            if (penalties[i] == nullptr) continue;
            for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
                if (f.kind == Kind::dense && arity(c) == 2) continue;
                for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) emit(p.scope[s], Occurrence{c, s});
            }
        }
    });
    simple = others.empty();
}

void MoveIndex::weigh() {
    const Problem& p = *problem;
    score.of.assign(p.score.begin(), p.score.end());
    score.priority = p.priority[0];
    score.hard_unit = p.hard_unit[0];
    for (int32_t c = 0; c < p.constraints; ++c) {
        score.total += score.of[c];
        score.uniform = score.uniform && !p.hard[c] && p.weight[c] == 1;
    }
}

}  // namespace anycsp::local
