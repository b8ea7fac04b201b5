// Which variables follow from others, by which constraint, and what it says of them.

#include <algorithm>
#include <cstdlib>

#include "families/operations.h"
#include "invariants/model.h"

namespace anycsp::invariants {
namespace {

constexpr int64_t kLargestTable = int64_t(1) << 20;  // addresses of a table that defines a variable
constexpr int64_t kTableCells = int64_t(1)
                                << 25;  // of all tables that are looked at for definitions: a tenth of a second
constexpr size_t kFarthest = 5000;      // variables looked at for a circle; beyond, a definition is given up

}  // namespace

// Sure ones first: where a single variable follows from the others, or one was made to. Then, beside what groups have
// taken, equations that determine any of several variables define the one of the widest range.
void Model::choose_definitions(const std::vector<uint8_t>& auxiliary, bool sure) {
    for (int32_t c = 0; c < problem_->constraints; ++c) {
        if (!enforced_[c] || defines_[c] || implicit_[c] || end(c) - begin(c) < 2) continue;
        for (int32_t slot : determined_slots(c, auxiliary, sure))
            if (define(c, slot)) break;
    }
}

bool Model::define(int32_t c, int32_t slot) {
    const int32_t x = problem_->scope[slot];
    if (fixed(x) || definition_[x].constraint >= 0 || group_of_[x] >= 0 || x == bounded_) return false;
    std::vector<int32_t> inputs;
    for (int32_t s = begin(c); s < end(c); ++s)
        if (s != slot) inputs.push_back(problem_->scope[s]);
    if (would_close_circle(x, inputs)) return false;
    definition_[x] = {c, slot};
    defines_[c] = 1;
    set_inputs(x, inputs);
    return true;
}

void Model::set_inputs(int32_t x, const std::vector<int32_t>& inputs) {
    inputs_[x] = inputs;
    for (int32_t y : inputs) dependents_[y].push_back(x);
    ++defined_;
}

bool Model::would_close_circle(int32_t x, const std::vector<int32_t>& inputs) {
    if (dependents_[x].empty()) return false;
    ++mark_;
    for (int32_t y : inputs) is_input_[y] = mark_;
    std::vector<int32_t> reached{x};
    for (size_t k = 0; k < reached.size(); ++k)
        for (int32_t up : dependents_[reached[k]]) {
            if (is_input_[up] == mark_ || reached.size() > kFarthest) return true;
            if (reached_[up] == mark_) continue;
            reached_[up] = mark_;
            reached.push_back(up);
        }
    return false;
}

Model::Affine Model::affine(int32_t slot, const int64_t* terms) const {
    const int32_t x = problem_->scope[slot], size = problem_->domain_size(x);
    if (size < 2) return {};
    const int32_t sign = terms[1] - terms[0] == value(x, 1) - value(x, 0)   ? 1
                         : terms[1] - terms[0] == value(x, 0) - value(x, 1) ? -1
                                                                            : 0;
    const int64_t offset = terms[0] - sign * value(x, 0);
    for (int32_t v = 0; v < size; ++v)
        if (terms[v] != sign * value(x, v) + offset) return {};
    return {sign, offset};
}

// The slots, best first, whose variables the constraint determines.
std::vector<int32_t> Model::determined_slots(int32_t c, const std::vector<uint8_t>& auxiliary, bool sure) {
    const Family& f = family(c);
    if (f.kind == Kind::linear || f.kind == Kind::sum) {
        if (comparison(c) != EQ) return {};
        std::vector<int32_t> units;
        std::vector<int64_t> spans;
        for (int32_t s = begin(c); s < end(c); ++s) {
            const int32_t x = problem_->scope[s];
            const bool linear = f.kind == Kind::linear;
            const int64_t coefficient = linear ? f.coefficient[family_slot(c, s)] : 0;
            const Interval range = possible(x);
            const int64_t span = range.high - range.low;
            const int32_t sign = linear ? (std::abs(coefficient) == 1) : affine(s, &f.term[family_edge(c, s)]).sign;
            if (sign != 0) units.push_back(s);
            spans.push_back(linear ? span * std::abs(coefficient) : span);
        }
        return widest_unit(units, spans, begin(c), auxiliary, sure);
    }
    if (f.kind == Kind::dense || f.kind == Kind::tuples) {
        std::vector<int32_t> slots;
        for (int32_t s = begin(c); s < end(c); ++s)
            if (table_function(c, s).functional) slots.push_back(s);
        std::stable_sort(slots.begin(), slots.end(), [&](int32_t a, int32_t b) {
            return auxiliary[problem_->scope[a]] > auxiliary[problem_->scope[b]];
        });
        if (!slots.empty() && sure && slots.size() > 1 && !auxiliary[problem_->scope[slots[0]]]) return {};
        return slots;
    }
    if (f.kind != Kind::evaluated) return {};
    if (is(c, "rule")) {
        const Rule r = rule(c);
        const int32_t code = r.code(r.root());
        if ((code != Eq && code != Iff) || r.count(r.root()) != 2) return {};
        std::vector<int32_t> slots;
        for (int32_t k = 0; k < 2; ++k) {
            const int32_t x = r.variable(r.child(r.root(), k));
            if (x < 0 || r.occurrences(x) != 1) continue;
            if (code == Iff && (graph_.range(x).low < 0 || graph_.range(x).high > 1)) continue;
            for (int32_t s = begin(c); s < end(c); ++s)
                if (problem_->scope[s] == x) slots.push_back(s);
        }
        return slots;
    }
    if (is(c, "extremum") || is(c, "distinct")) {
        if (comparison(c) != EQ || !has_result(c)) return {};
        const int32_t last = end(c) - 1;
        if (is(c, "extremum") && affine(last, arrays(c).int64("term").data() + family_edge(c, last)).sign == 0)
            return {};
        return {last};
    }
    return {};
}

std::vector<int32_t> Model::widest_unit(const std::vector<int32_t>& units, const std::vector<int64_t>& spans,
                                        int32_t begin, const std::vector<uint8_t>& auxiliary, bool sure) const {
    for (int32_t s : units)
        if (auxiliary[problem_->scope[s]]) return {s};
    std::vector<int32_t> slots = units;
    std::stable_sort(slots.begin(), slots.end(),
                     [&](int32_t a, int32_t b) { return spans[a - begin] > spans[b - begin]; });
    if (!sure || slots.empty()) return slots;
    for (size_t i = 0; i < spans.size(); ++i)
        if (int32_t(i) != slots[0] - begin && spans[i] >= spans[slots[0] - begin]) return {};
    return {slots[0]};
}

// Of a table's address without one slot: mixed-radix, the last variable fastest.
std::vector<int64_t> Model::strides(int32_t c, int32_t without) const {
    std::vector<int64_t> result(end(c) - begin(c), 0);
    int64_t cells = 1;
    for (int32_t s = end(c); s-- > begin(c);) {
        if (s == without) continue;
        result[s - begin(c)] = cells;
        cells *= problem_->domain_size(problem_->scope[s]);
        if (cells > kLargestTable) return {};
    }
    return result;
}

Model::TableFunction& Model::table_function(int32_t c, int32_t slot) {
    const Family& f = family(c);
    const bool dense = f.kind == Kind::dense;
    const int64_t relation = dense ? f.base[row(c)] : -1 - f.relation[row(c)];
    const int32_t x = problem_->scope[slot], arity = end(c) - begin(c);
    const std::vector<int64_t> stride = strides(c, slot);
    // Relations are of positions: over other domains the same one is another function.
    std::vector<int64_t> key{relation, slot - begin(c)};
    key.insert(key.end(), stride.begin(), stride.end());
    for (int32_t v = 0; v < problem_->domain_size(x); ++v) key.push_back(value(x, v));
    const auto [at, fresh] = table_functions_.try_emplace(std::move(key));
    TableFunction& result = at->second;
    if (!fresh || stride.empty() || (!dense && !f.allowed[f.relation[row(c)]])) return result;
    int64_t cells = 1;
    for (int32_t s = begin(c); s < end(c); ++s)
        if (s != slot) cells *= problem_->domain_size(problem_->scope[s]);
    table_cells_ += dense ? cells * problem_->domain_size(x) : cells;
    if (table_cells_ > kTableCells) return result;
    std::vector<int64_t> missing(cells, 1);
    result.positions.assign(cells, 0);
    result.functional = true;
    const auto add_row = [&](const int32_t* positions) {
        int64_t address = 0;
        for (int32_t i = 0; i < arity; ++i) address += stride[i] * positions[i];
        result.functional &= missing[address] != 0;
        missing[address] = 0;
        result.positions[address] = positions[slot - begin(c)];
    };
    if (dense) {
        std::vector<int32_t> positions(arity, 0);
        const int64_t all = cells * problem_->domain_size(x);
        for (int64_t i = 0; i < all && result.functional; ++i) {
            if (!f.truth[f.base[row(c)] + i]) continue;
            for (int32_t s = begin(c); s < end(c); ++s)
                positions[s - begin(c)] =
                    int32_t(i / f.stride[family_slot(c, s)] % problem_->domain_size(problem_->scope[s]));
            add_row(positions.data());
        }
    } else {
        const int32_t number = f.relation[row(c)];
        for (int64_t i = f.tuple_start[number]; i < f.tuple_start[number + 1] && result.functional; i += arity)
            add_row(f.tuple_cells.data() + i);
    }
    if (!result.functional) return result;
    result.total = std::find(missing.begin(), missing.end(), 1) == missing.end();
    result.missing = graph_.by_value(0, std::move(missing));
    return result;
}

// The function of the address that has x's values.
int32_t Model::table_values(TableFunction& table, int32_t x) {
    for (const auto& [known, function] : table.values)
        if (same_domain(known, x)) return function;
    std::vector<int64_t> values;
    for (int32_t position : table.positions) values.push_back(value(x, position));
    table.values.push_back({x, graph_.by_value(0, std::move(values))});
    return table.values.back().second;
}

bool Model::same_domain(int32_t x, int32_t y) const {
    const int32_t size = problem_->domain_size(x);
    const int64_t* from = problem_->value.data();
    return size == problem_->domain_size(y) &&
           std::equal(from + problem_->value_start[x], from + problem_->value_start[x] + size,
                      from + problem_->value_start[y]);
}

// An objective that is one variable, bounded by the others from its good side only, is the tightest of these bounds:
// a makespan that no end exceeds is the last end.
void Model::define_objective_variable() {
    if (objective_ < 0 || end(objective_) - begin(objective_) != 1 || family(objective_).kind != Kind::linear) return;
    const int32_t y = problem_->scope[begin(objective_)], op = comparison(objective_);
    const bool small =
        (op == LE || op == LT) == (family(objective_).coefficient[family_slot(objective_, begin(objective_))] > 0);
    std::vector<int32_t> bounding;
    for (int32_t i = problem_->variable_slot_start[y]; i < problem_->variable_slot_start[y + 1]; ++i) {
        const int32_t slot = problem_->variable_slot[i], c = problem_->slot_constraint[slot];
        if (c == objective_) continue;
        if (family(c).kind != Kind::linear || end(c) - begin(c) < 2) return;
        const int64_t coefficient = family(c).coefficient[family_slot(c, slot)];
        const int32_t own = comparison(c);
        if (std::abs(coefficient) != 1 || own == EQ || own == NE) return;
        if (((own == GE || own == GT) == (coefficient > 0)) != small) return;
        bounding.push_back(c);
    }
    if (bounding.empty() || fixed(y)) return;
    bounded_ = y;
    bounding_ = bounding;
    std::vector<int32_t> inputs;
    for (int32_t c : bounding)
        for (int32_t s = begin(c); s < end(c); ++s)
            if (problem_->scope[s] != y) inputs.push_back(problem_->scope[s]);
    set_inputs(y, inputs);
}

}  // namespace anycsp::invariants
