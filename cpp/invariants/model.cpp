#include "invariants/model.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/comparison.h"
#include "families/operations.h"
#include "invariants/matching.h"

namespace anycsp::invariants {
namespace {

constexpr int64_t kLargestTable = int64_t(1) << 20;  // addresses of a table that defines a variable
constexpr int64_t kTableCells = int64_t(1)
                                << 25;      // of all tables that are looked at for definitions: a tenth of a second
constexpr size_t kShortestSum = 3;          // variables: of two, one is as well defined by the other
constexpr int64_t kLargestGroup = 500'000;  // edges of a matching, which is found at every start
constexpr size_t kFarthest = 5000;          // variables looked at for a circle; beyond, a definition is given up

}  // namespace

Model::Model(std::shared_ptr<const Problem> problem, const std::vector<propagation::FamilyArrays>& arrays,
             std::vector<uint8_t> enforced, const std::vector<uint8_t>& auxiliary, std::vector<uint8_t> kept,
             int32_t objective, ExternalLabels external)
    : problem_(std::move(problem)),
      arrays_(arrays),
      enforced_(std::move(enforced)),
      kept_(std::move(kept)),
      objective_(objective),
      graph_(problem_, std::move(external)),
      choices_(problem_->variables),
      definition_(problem_->variables),
      defines_(problem_->constraints, 0),
      inputs_(problem_->variables),
      dependents_(problem_->variables),
      is_input_(problem_->variables, 0),
      reached_(problem_->variables, 0),
      group_of_(problem_->variables, -1),
      variable_node_(problem_->variables, -1),
      roots_(problem_->constraints + 1, -1),
      implicit_(problem_->constraints, 0) {
    for (size_t f = 0; f < arrays_.size(); ++f)
        if (arrays_[f].kind == "rule")
            rules_[f] = std::make_shared<Rules>(*problem_, problem_->families[f], arrays_[f]);
    for (int32_t x = 0; x < problem_->variables; ++x) {
        for (int32_t v = 0; v < problem_->domain_size(x); ++v)
            if (kept_[problem_->value_start[x] + v]) choices_[x].push_back(v);
        require(!choices_[x].empty(), "invariants: a variable without a value");
    }
    if (objective_ >= 0) enforced_[objective_] = 0;
    define_objective_variable();
    choose_definitions(auxiliary, true);
    add_circuits();
    add_different();
    add_counted();
    add_sums();
    choose_definitions(auxiliary, false);
    add_nodes();
}

Interval Model::possible(int32_t x) const {
    Interval range{INT64_MAX, INT64_MIN};
    for (int32_t v : choices_[x]) range = {std::min(range.low, value(x, v)), std::max(range.high, value(x, v))};
    return range;
}

int32_t Model::comparison(int32_t c) const {
    return family(c).kind == Kind::linear || family(c).kind == Kind::sum ? family(c).op[row(c)]
                                                                         : arrays(c).int32("operator")[row(c)];
}

int64_t Model::bound(int32_t c) const {
    return family(c).kind == Kind::linear || family(c).kind == Kind::sum ? family(c).bound[row(c)]
                                                                         : arrays(c).int64("bound")[row(c)];
}

// ── definitions ──────────────────────────────────────────────────────────────────────────────────

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

// ── groups ───────────────────────────────────────────────────────────────────────────────────────

bool Model::free_for_group(const std::vector<int32_t>& variables) const {
    for (int32_t x : variables)
        if (definition_[x].constraint >= 0 || group_of_[x] >= 0 || x == bounded_) return false;
    return variables.size() >= 2;
}

void Model::take(Group group) {
    for (int32_t x : group.variables) group_of_[x] = static_cast<int32_t>(groups_.size());
    for (int32_t c : group.constraints) implicit_[c] = 1;
    groups_.push_back(std::move(group));
}

// Circuits through all nodes, any of which may follow any other.
void Model::add_circuits() {
    for (int32_t c = 0; c < problem_->constraints; ++c) {
        if (!enforced_[c] || !is(c, "rule")) continue;
        const Rule r = rule(c);
        const int32_t nodes = r.code(r.root()) == Circuit ? r.count(r.root()) : 0;
        Group group{Group::circuit, {}, {c}};
        bool complete = nodes >= 4;
        for (int32_t k = 0; k < nodes && complete; ++k) {
            const int32_t x = r.variable(r.child(r.root(), k));
            complete = x >= 0 && r.occurrences(x) == 1 && !allows(x, k);
            for (int32_t to = 0; to < nodes && complete; ++to) complete = to == k || allows(x, to);
            group.variables.push_back(x);
        }
        if (complete && free_for_group(group.variables)) take(std::move(group));
    }
}

// The longest first. What is fixed takes no part; its value is no choice of the others any more.
void Model::add_different() {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < problem_->constraints; ++c)
        if (enforced_[c] && family(c).kind == Kind::all_different) order.push_back(c);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return end(a) - begin(a) > end(b) - begin(b); });
    for (int32_t c : order) {
        const Family& f = family(c);
        Group group{Group::different, {}, {c}};
        std::vector<int64_t> taken;
        bool plain = true, within = true;
        int32_t own = -2;
        for (int32_t s = begin(c); s < end(c) && plain; ++s) {
            const int32_t x = problem_->scope[s];
            for (int32_t v = 0; v < problem_->domain_size(x); ++v)
                plain &= f.bin_counts[f.edge_bin[family_edge(c, s) + v]];
            if (fixed(x))
                taken.push_back(value(x, choices_[x][0]));
            else
                group.variables.push_back(x);
            if (own == -2) own = group_of_[x];
            within &= own >= 0 && group_of_[x] == own;
        }
        if (plain && within && own >= 0 && groups_[own].kind != Group::counted) {  // a circuit's own
            groups_[own].constraints.push_back(c);
            implicit_[c] = 1;
            continue;
        }
        for (int64_t v : taken)
            for (int32_t x : group.variables) plain &= !allows(x, v);
        std::sort(taken.begin(), taken.end());
        plain &= std::unique(taken.begin(), taken.end()) == taken.end();
        if (!plain || problem_->edge_start[end(c)] - problem_->edge_start[begin(c)] > kLargestGroup) continue;
        if (!free_for_group(group.variables)) continue;
        std::vector<int64_t> values;
        if (match_different(*this, group, nullptr, values)) take(std::move(group));
    }
}

// Σ times · [x = value] = bound, over one value.
bool Model::counts_one_value(int32_t c, int64_t& counted, int64_t& times) const {
    const Family& f = family(c);
    if ((f.kind != Kind::linear && f.kind != Kind::sum) || comparison(c) != EQ) return false;
    times = 0;
    std::vector<int32_t> uncounted;
    for (int32_t s = begin(c); s < end(c); ++s) {
        const int32_t x = problem_->scope[s];
        int32_t nonzero = 0;
        for (int32_t v = 0; v < problem_->domain_size(x); ++v) {
            const int64_t term =
                f.kind == Kind::linear ? f.coefficient[family_slot(c, s)] * value(x, v) : f.term[family_edge(c, s) + v];
            if (term == 0) continue;
            if (times == 0) times = term, counted = value(x, v);
            if (++nonzero > 1 || term != times || value(x, v) != counted) return false;
        }
        if (nonzero == 0) uncounted.push_back(x);
    }
    for (int32_t x : uncounted)  // the group would count it: it may not have the value
        for (int32_t v = 0; v < problem_->domain_size(x); ++v)
            if (value(x, v) == counted) return false;
    return times != 0 && bound(c) % times == 0;
}

// Values that occur a given number of times in the same variables.
void Model::add_counted() {
    std::map<std::vector<int32_t>, Group> by_scope;
    std::vector<std::vector<int32_t>> order;
    for (int32_t c = 0; c < problem_->constraints; ++c) {
        int64_t counted = 0, times = 0;
        if (!enforced_[c] || defines_[c] || !counts_one_value(c, counted, times)) continue;
        std::vector<int32_t> scope(problem_->scope.begin() + begin(c), problem_->scope.begin() + end(c));
        std::sort(scope.begin(), scope.end());
        int64_t needed = bound(c) / times;
        std::vector<int32_t> open;
        for (int32_t x : scope) {
            if (fixed(x))
                needed -= value(x, choices_[x][0]) == counted;
            else
                open.push_back(x);
        }
        if (needed < 0 || needed > int64_t(open.size())) continue;
        auto [at, fresh] = by_scope.try_emplace(scope, Group{Group::counted, open, {}});
        if (fresh) order.push_back(scope);
        if (at->second.occurs.count(counted)) continue;
        at->second.occurs[counted] = static_cast<int32_t>(needed);
        at->second.constraints.push_back(c);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const auto& scope : order) {
        Group& group = by_scope.at(scope);
        std::vector<int64_t> values;
        if (free_for_group(group.variables) && match_counted(*this, group, nullptr, values)) take(std::move(group));
    }
}

// x + y + … = total, the longest first. With other signs a sum rather says what one of its variables is.
void Model::add_sums() {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < problem_->constraints; ++c)
        if (enforced_[c] && !defines_[c] && !implicit_[c] && family(c).kind == Kind::linear && comparison(c) == EQ)
            order.push_back(c);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return end(a) - begin(a) > end(b) - begin(b); });
    for (int32_t c : order) {
        const int64_t unit = family(c).coefficient[family_slot(c, begin(c))];
        Group group{Group::sum, {}, {c}};
        bool plain = unit != 0 && bound(c) % unit == 0;
        group.total = plain ? bound(c) / unit : 0;
        std::set<int32_t> seen;
        for (int32_t s = begin(c); s < end(c) && plain; ++s) {
            const int32_t x = problem_->scope[s];
            plain = family(c).coefficient[family_slot(c, s)] == unit && seen.insert(x).second;
            if (fixed(x))
                group.total -= value(x, choices_[x][0]);
            else
                group.variables.push_back(x);
        }
        if (!plain || group.variables.size() < kShortestSum || !free_for_group(group.variables)) continue;
        std::vector<int64_t> values;
        if (match_sum(*this, group, nullptr, values)) take(std::move(group));
    }
}

// ── nodes ────────────────────────────────────────────────────────────────────────────────────────

void Model::add_nodes() {
    const auto defined = [&](int32_t x) { return definition_[x].constraint >= 0 || x == bounded_; };
    for (int32_t x = 0; x < problem_->variables; ++x) {
        if (fixed(x)) {
            variable_node_[x] = graph_.constant(value(x, choices_[x][0]));
        } else if (!defined(x)) {
            variable_node_[x] = graph_.variable(x, possible(x));
            decisions_.push_back(x);
        }
    }
    // What a definition needs comes before it.
    std::vector<int32_t> stack;
    for (int32_t x = 0; x < problem_->variables; ++x) {
        if (variable_node_[x] < 0) stack.push_back(x);
        while (!stack.empty()) {
            const int32_t y = stack.back();
            bool ready = true;
            for (int32_t z : inputs_[y])
                if (variable_node_[z] < 0) {
                    stack.push_back(z);
                    ready = false;
                }
            if (!ready) continue;
            stack.pop_back();
            if (variable_node_[y] < 0) add_definition(y);
        }
    }
    for (int32_t c = 0; c < problem_->constraints; ++c)
        if (!implicit_[c] && !defines_[c] && c != objective_) {
            const int32_t node = penalty(c);
            if (!graph_.is_constant(node) || graph_.node(node).a != 0) roots_[c] = graph_.copy(node);
        }
    if (objective_ >= 0) set_objective(objective_);
    graph_.finish();
}

void Model::set_objective(int32_t c) {
    const int32_t op = comparison(c);
    objective_sign_ = op == LE || op == LT ? 1 : -1;
    roots_.back() = graph_.copy(left_side(c, -1));
}

void Model::add_definition(int32_t x) {
    const int32_t c = definition_[x].constraint;
    std::vector<int32_t> undefined;
    const int32_t says = defining_value(x, undefined);
    const Interval range = graph_.interval(says), own = graph_.range(x);
    const bool within = range.low >= own.low && range.high <= own.high && graph_.consecutive(x);
    const int32_t node = variable_node_[x] = within ? says : graph_.nearest(x, says);
    if (c < 0) return;
    std::vector<Operand> wrong;
    if (!within) wrong.push_back({graph_.distance(EQ, graph_.sum({{says}, {node, -1}}, 0), 0)});
    for (int32_t u : undefined) wrong.push_back({u});
    if (!wrong.empty()) roots_[c] = graph_.copy(graph_.sum(std::move(wrong), 0));
}

int32_t Model::defining_value(int32_t x, std::vector<int32_t>& undefined) {
    if (x == bounded_) {
        std::vector<Operand> all;
        int32_t sign = 1;
        for (int32_t c : bounding_) {
            int32_t slot = begin(c);
            while (problem_->scope[slot] != x) ++slot;
            const int64_t coefficient = family(c).coefficient[family_slot(c, slot)];
            const int32_t op = comparison(c);
            const int64_t strict = op == GT ? 1 : op == LT ? -1 : 0;
            sign = (op == GE || op == GT) == (coefficient > 0) ? 1 : -1;
            all.push_back({graph_.sum({{left_side(c, slot), -coefficient}}, coefficient * (bound(c) + strict))});
        }
        return graph_.extremum(sign, all);
    }
    const auto [c, slot] = definition_[x];
    const Family& f = family(c);
    if (f.kind == Kind::dense || f.kind == Kind::tuples) {
        TableFunction& table = table_function(c, slot);
        const int32_t at = address(c, slot, strides(c, slot));
        if (!table.total) undefined.push_back(graph_.lookup(at, table.missing));
        return graph_.lookup(at, table_values(table, x));
    }
    if (is(c, "rule")) {
        const Rule r = rule(c);
        RuleNodes nodes(graph_, r, [&](int32_t y) { return variable_node_[y]; });
        const int32_t other = r.child(r.root(), r.variable(r.child(r.root(), 0)) == x);
        const int32_t node = r.code(r.root()) == Iff ? nodes.truth(other) : nodes.value(other);
        undefined = nodes.undefined();
        return node;
    }
    // sign · x + offset + rest = bound, or, with a result, rest = bound + sign · x + offset.
    Affine own{1, 0};
    if (f.kind == Kind::linear) own.sign = static_cast<int32_t>(f.coefficient[family_slot(c, slot)]);
    if (f.kind == Kind::sum) own = affine(slot, &f.term[family_edge(c, slot)]);
    if (is(c, "extremum")) own = affine(slot, arrays(c).int64("term").data() + family_edge(c, slot));
    const int32_t rest = left_side(c, slot), side = f.kind == Kind::evaluated ? -1 : 1;
    return graph_.sum({{rest, -side * own.sign}}, own.sign * (side * bound(c) - own.offset));
}

// What is compared with the bound, one slot left out: a sum, or an extremum or a count minus the result.
int32_t Model::left_side(int32_t c, int32_t without) {
    const Family& f = family(c);
    if (f.kind == Kind::linear) {
        std::vector<Operand> all;
        for (int32_t s = begin(c); s < end(c); ++s)
            if (s != without) all.push_back({variable_node_[problem_->scope[s]], f.coefficient[family_slot(c, s)]});
        return graph_.sum(std::move(all), 0);
    }
    if (f.kind == Kind::sum) return graph_.sum(terms(c, f.term.data(), without), 0);
    const int32_t result = has_result(c) ? end(c) - 1 : -1;
    int32_t node;
    std::vector<Operand> last;
    if (is(c, "extremum")) {
        const auto all = arrays(c).int64("term");
        node = graph_.extremum(1, terms(c, all.data(), result));
        const int32_t x = result < 0 ? -1 : problem_->scope[result];
        if (result >= 0 && result != without) {
            const int64_t* own = all.data() + family_edge(c, result);
            last.push_back({variable_node_[x], 1,
                            graph_.by_position(x, std::vector<int64_t>(own, own + problem_->domain_size(x)))});
        }
    } else {
        const auto bin = arrays(c).int32("edge_bin");
        const auto counts = arrays(c).bytes("bin_counts");
        const int64_t from = family_edge(c, begin(c)), to = family_edge(c, end(c));
        const int32_t least = *std::min_element(bin.data() + from, bin.data() + to);
        const int32_t most = *std::max_element(bin.data() + from, bin.data() + to);
        std::vector<Operand> all;
        for (int32_t s = begin(c); s < end(c); ++s) {
            const int32_t x = problem_->scope[s];
            std::vector<int64_t> table;
            for (int32_t v = 0; v < problem_->domain_size(x); ++v) {
                const int32_t b = bin[family_edge(c, s) + v];
                table.push_back(counts[b] ? b - least : -1);
            }
            if (s != result) all.push_back({variable_node_[x], 1, graph_.by_position(x, std::move(table))});
        }
        node = graph_.distinct(all, most - least + 1);
        if (result >= 0 && result != without) last.push_back({variable_node_[problem_->scope[result]], 1});
    }
    if (last.empty()) return node;
    if (last[0].function >= 0) last[0] = {graph_.lookup(last[0].node, last[0].function)};
    return graph_.sum({{node}, {last[0].node, -1}}, 0);
}

std::vector<Operand> Model::terms(int32_t c, const int64_t* of_family, int32_t without) {
    std::vector<Operand> all;
    for (int32_t s = begin(c); s < end(c); ++s) {
        if (s == without) continue;
        const int32_t x = problem_->scope[s];
        const int64_t* own = of_family + family_edge(c, s);
        const Affine plain = affine(s, own);
        if (plain.sign == 1 && plain.offset == 0)
            all.push_back({variable_node_[x]});
        else
            all.push_back({variable_node_[x], 1,
                           graph_.by_position(x, std::vector<int64_t>(own, own + problem_->domain_size(x)))});
    }
    return all;
}

std::vector<Operand> Model::positions(int32_t c) {
    std::vector<Operand> all;
    for (int32_t s = begin(c); s < end(c); ++s) {
        const int32_t x = problem_->scope[s];
        all.push_back({variable_node_[x], 1, graph_.position(x)});
    }
    return all;
}

// Where in a table the assignment is, one slot left out.
int32_t Model::address(int32_t c, int32_t without, const std::vector<int64_t>& strides) {
    std::vector<Operand> all;
    int64_t constant = 0;
    for (int32_t s = begin(c); s < end(c); ++s) {
        if (s == without) continue;
        const int32_t x = problem_->scope[s], size = problem_->domain_size(x);
        const int64_t stride = strides[s - begin(c)];
        if (graph_.consecutive(x)) {
            all.push_back({variable_node_[x], stride});
            constant -= stride * value(x, 0);
        } else {
            std::vector<int64_t> table;
            for (int32_t v = 0; v < size; ++v) table.push_back(stride * v);
            all.push_back({variable_node_[x], 1, graph_.by_position(x, std::move(table))});
        }
    }
    return graph_.sum(std::move(all), constant);
}

int32_t Model::penalty(int32_t c) {
    const Family& f = family(c);
    switch (f.kind) {
        case Kind::linear:
        case Kind::sum: return graph_.distance(comparison(c), left_side(c, -1), bound(c));
        case Kind::clause: {
            std::vector<Operand> all;
            for (int32_t s = begin(c); s < end(c); ++s) {
                const int32_t x = problem_->scope[s], forbidden = f.forbidden[family_slot(c, s)];
                if (forbidden < 0) return graph_.constant(0);
                std::vector<int64_t> table(problem_->domain_size(x), 1);
                table[forbidden] = 0;
                all.push_back({variable_node_[x], 1, graph_.by_position(x, std::move(table))});
            }
            return graph_.distance(GE, graph_.sum(std::move(all), 0), 1);
        }
        case Kind::matching: {
            const int32_t x = problem_->scope[begin(c)], y = problem_->scope[begin(c) + 1];
            const int32_t* conflict = f.conflict.data() + f.offset[family_slot(c, begin(c) + 1)];
            std::vector<int64_t> table;  // by position of x: the value of y in conflict, or one that it never has
            const int64_t never = graph_.range(y).high + 1;
            for (int32_t v = 0; v < problem_->domain_size(x); ++v)
                table.push_back(conflict[v] < 0 ? never : value(y, conflict[v]));
            const int32_t in_conflict = graph_.lookup(variable_node_[x], graph_.by_position(x, std::move(table)));
            return graph_.distance(NE, graph_.sum({{in_conflict}, {variable_node_[y], -1}}, 0), 0);
        }
        case Kind::dense: {
            int64_t cells = 1;
            for (int32_t s = begin(c); s < end(c); ++s) cells *= problem_->domain_size(problem_->scope[s]);
            auto [at, fresh] = truth_function_.try_emplace(f.base[row(c)], -1);
            if (fresh) {
                std::vector<int64_t> table(cells);
                for (int64_t i = 0; i < cells; ++i) table[i] = !f.truth[f.base[row(c)] + i];
                at->second = graph_.by_value(0, std::move(table));
            }
            const int64_t* stride = f.stride.data() + family_slot(c, begin(c));
            return graph_.lookup(address(c, -1, {stride, stride + (end(c) - begin(c))}), at->second);
        }
        case Kind::tuples: {
            const int32_t relation = f.relation[row(c)], arity = end(c) - begin(c);
            const int32_t* cells = f.tuple_cells.data() + f.tuple_start[relation];
            const int64_t rows = (f.tuple_start[relation + 1] - f.tuple_start[relation]) / arity;
            return graph_.tuples(positions(c), {cells, cells, int32_t(rows), arity, f.allowed[relation] != 0});
        }
        case Kind::all_different: {
            const int64_t from = family_edge(c, begin(c)), to = family_edge(c, end(c));
            const int32_t least = *std::min_element(f.edge_bin.data() + from, f.edge_bin.data() + to);
            const int32_t most = *std::max_element(f.edge_bin.data() + from, f.edge_bin.data() + to);
            std::vector<Operand> all;
            for (int32_t s = begin(c); s < end(c); ++s) {
                const int32_t x = problem_->scope[s];
                std::vector<int64_t> table;
                for (int32_t v = 0; v < problem_->domain_size(x); ++v) {
                    const int32_t bin = f.edge_bin[family_edge(c, s) + v];
                    table.push_back(f.bin_counts[bin] ? bin - least : -1);
                }
                all.push_back({variable_node_[x], 1, graph_.by_position(x, std::move(table))});
            }
            return graph_.repeats(all, most - least + 1);
        }
        default: break;
    }
    if (f.kind == Kind::external) return graph_.external(c, positions(c));
    if (is(c, "rule")) {
        const Rule r = rule(c);
        return RuleNodes(graph_, r, [&](int32_t x) { return variable_node_[x]; }).violation();
    }
    if (is(c, "short_tuples")) {
        const int32_t relation = arrays(c).int32("relation")[row(c)], arity = end(c) - begin(c);
        const auto start = arrays(c).int64("tuple_start");
        const int32_t *low = arrays(c).int32("low").data() + start[relation],
                      *high = arrays(c).int32("high").data() + start[relation];
        const int32_t rows = static_cast<int32_t>((start[relation + 1] - start[relation]) / arity);
        return graph_.tuples(positions(c), {low, high, rows, arity, arrays(c).bytes("allowed")[relation] != 0});
    }
    return graph_.distance(comparison(c), left_side(c, -1), bound(c));  // extrema and numbers of distinct values
}

}  // namespace anycsp::invariants
