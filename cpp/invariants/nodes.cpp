// The graph's nodes: of variables, of what defines them, and of the penalties of constraints.

#include <algorithm>

#include "families/operations.h"
#include "invariants/model.h"

namespace anycsp::invariants {

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
        const auto low = arrays(c).int32("low"), high = arrays(c).int32("high");
        const int32_t rows = static_cast<int32_t>((start[relation + 1] - start[relation]) / arity);
        return graph_.tuples(positions(c), {low.data() + start[relation],
                                            high.data() + start[relation],
                                            rows,
                                            arity,
                                            arrays(c).bytes("allowed")[relation] != 0,
                                            {low, high}});
    }
    return graph_.distance(comparison(c), left_side(c, -1), bound(c));  // extrema and numbers of distinct values
}

}  // namespace anycsp::invariants
