// The families: how arrays of each are drawn, and beside them what a constraint of it means.
#include <algorithm>
#include <map>
#include <set>

#include "drawn.h"
#include "expression.h"

namespace fuzzing {
namespace {

// The order of OPERATORS in constraints/comparison.py.
bool compare(int64_t left, int32_t op, int64_t right) {
    switch (op) {
        case 0: return left <= right;
        case 1: return left >= right;
        case 2: return left == right;
        case 3: return left != right;
        case 4: return left < right;
        default: return left > right;
    }
}

std::vector<int32_t> draw_scope(Bytes& bytes, const Domains& d, int32_t least, int32_t most) {
    std::vector<int32_t> all, scope;
    for (int32_t x = 0; x < d.variables(); ++x) all.push_back(x);
    for (int32_t i = bytes.between(least, std::min(most, d.variables())); i > 0; --i) {
        const int32_t k = bytes.below(static_cast<int32_t>(all.size()));
        scope.push_back(all[k]);
        all.erase(all.begin() + k);
    }
    return scope;
}

// The positions of a scope.
Positions taken(const std::vector<int32_t>& scope, const Positions& at) {
    Positions result;
    for (int32_t x : scope) result.push_back(at[x]);
    return result;
}

int64_t combinations(const Domains& d, const std::vector<int32_t>& scope) {
    int64_t many = 1;
    for (int32_t x : scope) many *= d.size(x);
    return many;
}

void clause(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 1, 4);
    Positions forbidden;
    for (int32_t x : scope) forbidden.push_back(bytes.rarely(16) ? -1 : bytes.below(d.size(x)));
    auto& all = to.arrays->int32("forbidden");
    all.insert(all.end(), forbidden.begin(), forbidden.end());
    to.constraints.push_back({scope, [=](const Positions& at) { return taken(scope, at) != forbidden; }});
}

void matching(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 2, 2);
    const int32_t sizes[2] = {d.size(scope[0]), d.size(scope[1])};
    std::set<Positions> conflicts;
    std::vector<int32_t> of[2] = {Positions(sizes[1], -1), Positions(sizes[0], -1)};  // by the partner's position
    for (int32_t i = bytes.below(1 + std::min(sizes[0], sizes[1])); i > 0; --i) {
        const int32_t a = bytes.below(sizes[0]), b = bytes.below(sizes[1]);
        if (of[0][b] >= 0 || of[1][a] >= 0) continue;
        of[0][b] = a;
        of[1][a] = b;
        conflicts.insert({a, b});
    }
    auto& pool = to.arrays->int32("conflict");
    for (const auto& side : of) {
        to.arrays->int64("offset").push_back(static_cast<int64_t>(pool.size()));
        pool.insert(pool.end(), side.begin(), side.end());
    }
    to.constraints.push_back({scope, [=](const Positions& at) { return conflicts.count(taken(scope, at)) == 0; }});
}

std::set<Positions> draw_tuples(Bytes& bytes, const Domains& d, const std::vector<int32_t>& scope) {
    std::set<Positions> tuples;
    for (int32_t i = bytes.below(12); i > 0; --i) {
        Positions tuple;
        for (int32_t x : scope) tuple.push_back(bytes.below(d.size(x)));
        tuples.insert(tuple);
    }
    return tuples;
}

void dense(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 1, 3);
    const std::set<Positions> listed = draw_tuples(bytes, d, scope);
    const bool allowed = bytes.flag();
    auto& truth = to.arrays->bytes("truth");
    const auto base = static_cast<int64_t>(truth.size());
    to.arrays->int64("base").push_back(base);
    truth.resize(base + combinations(d, scope), !allowed);
    std::vector<int64_t> stride(scope.size(), 1);
    for (size_t i = scope.size() - 1; i > 0; --i) stride[i - 1] = stride[i] * d.size(scope[i]);
    for (const Positions& tuple : listed) {
        int64_t address = base;
        for (size_t i = 0; i < scope.size(); ++i) address += stride[i] * tuple[i];
        truth[address] = allowed;
    }
    auto& strides = to.arrays->int64("stride");
    strides.insert(strides.end(), stride.begin(), stride.end());
    to.constraints.push_back(
        {scope, [=](const Positions& at) { return (listed.count(taken(scope, at)) > 0) == allowed; }});
}

void tuples(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 1, 4);
    const std::set<Positions> listed = draw_tuples(bytes, d, scope);
    const bool allowed = bytes.flag();
    auto& cells = to.arrays->int32("tuples");
    auto& start = to.arrays->int64("tuple_start");
    if (start.empty()) start.push_back(0);
    for (const Positions& tuple : listed) cells.insert(cells.end(), tuple.begin(), tuple.end());
    start.push_back(static_cast<int64_t>(cells.size()));
    to.arrays->int32("relation").push_back(static_cast<int32_t>(to.arrays->bytes("allowed").size()));
    to.arrays->bytes("allowed").push_back(allowed);
    to.constraints.push_back(
        {scope, [=](const Positions& at) { return (listed.count(taken(scope, at)) > 0) == allowed; }});
}

void short_tuples(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 1, 4);
    const bool allowed = bytes.flag();
    std::vector<std::vector<std::pair<int32_t, int32_t>>> rows(bytes.below(6));
    auto &low = to.arrays->int32("low"), &high = to.arrays->int32("high");
    for (auto& row : rows)
        for (int32_t x : scope) {
            const int32_t from = bytes.below(d.size(x));
            row.push_back({from, bytes.between(from, d.size(x) - 1)});
            low.push_back(row.back().first);
            high.push_back(row.back().second);
        }
    auto& start = to.arrays->int64("tuple_start");
    if (start.empty()) start.push_back(0);
    start.push_back(static_cast<int64_t>(low.size()));
    to.arrays->int32("relation").push_back(static_cast<int32_t>(to.arrays->bytes("allowed").size()));
    to.arrays->bytes("allowed").push_back(allowed);
    to.constraints.push_back({scope, [=](const Positions& at) {
                                  bool listed = false;
                                  for (const auto& row : rows) {
                                      bool within = true;
                                      for (size_t i = 0; i < scope.size(); ++i)
                                          within =
                                              within && row[i].first <= at[scope[i]] && at[scope[i]] <= row[i].second;
                                      listed = listed || within;
                                  }
                                  return listed == allowed;
                              }});
}

// What all comparisons end in.
void compared(Bytes& bytes, DrawnFamily& to, std::vector<int32_t> scope, bool is_objective,
              std::function<int64_t(const Positions&)> left, std::function<int64_t(const Positions&)> right) {
    const int32_t op = bytes.below(6);
    const int64_t bound = bytes.between(-8, 12);
    to.arrays->int32("operator").push_back(op);
    to.arrays->int64("bound").push_back(bound);
    Constraint constraint{std::move(scope),
                          [=](const Positions& at) { return compare(left(at), op, bound + right(at)); }};
    if (is_objective) {
        constraint.left = left;
        constraint.op = op;
    }
    to.constraints.push_back(std::move(constraint));
}

int64_t zero(const Positions&) { return 0; }

void linear(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 1, 4);
    std::vector<int64_t> coefficient;
    for (size_t i = 0; i < scope.size(); ++i) coefficient.push_back(bytes.between(-3, 3));
    auto& all = to.arrays->int64("coefficient");
    all.insert(all.end(), coefficient.begin(), coefficient.end());
    const auto left = [=, &d](const Positions& at) {
        int64_t sum = 0;
        for (size_t i = 0; i < scope.size(); ++i) sum += coefficient[i] * d.value(scope[i], at);
        return sum;
    };
    compared(bytes, to, scope, true, left, zero);
}

// A term for every value of every variable of the scope, which goes into the array `term`.
std::map<int32_t, std::vector<int64_t>> draw_terms(Bytes& bytes, const Domains& d, const std::vector<int32_t>& scope,
                                                   DrawnFamily& to) {
    std::map<int32_t, std::vector<int64_t>> terms;
    auto& all = to.arrays->int64("term");
    for (int32_t x : scope) {
        for (int32_t v = 0; v < d.size(x); ++v) terms[x].push_back(bytes.between(-4, 5));
        all.insert(all.end(), terms[x].begin(), terms[x].end());
    }
    return terms;
}

void sum(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 1, 4);
    const auto terms = draw_terms(bytes, d, scope, to);
    const auto left = [=](const Positions& at) {
        int64_t total = 0;
        for (int32_t x : scope) total += terms.at(x)[at[x]];
        return total;
    };
    compared(bytes, to, scope, true, left, zero);
}

// Bins of a histogram, one for every value the constraint's variables can take; which of them count.
std::set<int64_t> draw_bins(Bytes& bytes, const Domains& d, const std::vector<int32_t>& scope, DrawnFamily& to) {
    std::set<int64_t> excepted;
    std::map<int64_t, int32_t> bin;
    for (int32_t i = bytes.rarely(3) ? bytes.between(1, 3) : 0; i > 0; --i) excepted.insert(bytes.between(-4, 8));
    auto& counts = to.arrays->bytes("bin_counts");
    for (int32_t x : scope)
        for (int64_t value : d.values[x]) {
            const auto [found, fresh] = bin.try_emplace(value, static_cast<int32_t>(counts.size()));
            if (fresh) {
                counts.push_back(excepted.count(value) == 0);
                to.arrays->int32("bin_constraint").push_back(static_cast<int32_t>(to.constraints.size()));
            }
            to.arrays->int32("edge_bin").push_back(found->second);
        }
    return excepted;
}

void all_different(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 1, 5);
    const std::set<int64_t> excepted = draw_bins(bytes, d, scope, to);
    to.constraints.push_back({scope, [=, &d](const Positions& at) {
                                  std::set<int64_t> seen;
                                  for (int32_t x : scope) {
                                      const int64_t value = d.value(x, at);
                                      if (excepted.count(value) == 0 && !seen.insert(value).second) return false;
                                  }
                                  return true;
                              }});
}

void distinct(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    std::vector<int32_t> scope = draw_scope(bytes, d, 1, 4);
    const bool has_result = bytes.flag();
    to.arrays->bytes("has_result").push_back(has_result);
    const std::vector<int32_t> listed(scope.begin(), scope.end() - has_result);
    const std::set<int64_t> excepted = draw_bins(bytes, d, listed, to);
    if (has_result) {  // its values fall into bins that never count
        to.arrays->int32("edge_bin")
            .resize(to.arrays->int32("edge_bin").size() + d.size(scope.back()),
                    static_cast<int32_t>(to.arrays->bytes("bin_counts").size()));
        to.arrays->bytes("bin_counts").push_back(0);
        to.arrays->int32("bin_constraint").push_back(static_cast<int32_t>(to.constraints.size()));
    }
    const auto left = [=, &d](const Positions& at) {
        std::set<int64_t> seen;
        for (int32_t x : listed)
            if (excepted.count(d.value(x, at)) == 0) seen.insert(d.value(x, at));
        return static_cast<int64_t>(seen.size());
    };
    const int32_t result = scope.back();
    compared(bytes, to, scope, !has_result, left,
             [=, &d](const Positions& at) { return has_result ? d.value(result, at) : 0; });
}

void extremum(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    std::vector<int32_t> scope = draw_scope(bytes, d, 1, 4);
    const bool has_result = scope.size() > 1 && bytes.flag();
    to.arrays->bytes("has_result").push_back(has_result);
    const std::vector<int32_t> listed(scope.begin(), scope.end() - has_result);
    const auto terms = draw_terms(bytes, d, scope, to);
    const auto left = [=](const Positions& at) {
        int64_t most = INT64_MIN;
        for (int32_t x : listed) most = std::max(most, terms.at(x)[at[x]]);
        return most;
    };
    const int32_t result = scope.back();
    compared(bytes, to, scope, !has_result, left,
             [=](const Positions& at) { return has_result ? terms.at(result)[at[result]] : 0; });
}

void rule(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> candidates = draw_scope(bytes, d, 1, 3);
    Expression tree = draw_expression(bytes, static_cast<int32_t>(candidates.size()), 3);
    std::vector<int32_t> slots;
    tree.renumber(slots);
    if (slots.empty()) {  // a rule of no variable is none
        Expression any;
        any.operation = kSlot;
        Expression same;
        same.operation = kLe;
        same.operands = {any, tree};
        tree = same;
        slots = {0};
    }
    std::vector<int32_t> scope;
    for (int32_t slot : slots) scope.push_back(candidates[slot]);
    Program program;
    write_program(tree, program);
    OwnedArrays& arrays = *to.arrays;
    if (to.constraints.empty()) {
        arrays.int32("node_start") = {0};
        arrays.int64("parameter_start") = {0};
    }
    const auto append = [&](const char* name, const std::vector<int32_t>& items) {
        arrays.int32(name).insert(arrays.int32(name).end(), items.begin(), items.end());
    };
    arrays.int32("program").push_back(static_cast<int32_t>(to.constraints.size()));
    append("code", program.code);
    append("operand_count", program.count);
    append("operand", program.operand);
    auto& parameter = arrays.int64("parameter");
    parameter.insert(parameter.end(), program.parameter.begin(), program.parameter.end());
    arrays.int32("node_start").push_back(static_cast<int32_t>(arrays.int32("code").size()));
    arrays.int64("parameter_start").push_back(static_cast<int64_t>(parameter.size()));
    to.constraints.push_back({scope, [=, &d](const Positions& at) {
                                  std::vector<int64_t> values;
                                  for (int32_t x : scope) values.push_back(d.value(x, at));
                                  return tree.evaluate(values).value_or(0) != 0;
                              }});
}

// Some function of the positions that nobody can look into: the parity of bits drawn for each tuple.
void external(Bytes& bytes, const Domains& d, DrawnFamily& to) {
    const std::vector<int32_t> scope = draw_scope(bytes, d, 1, 3);
    const std::set<Positions> listed = draw_tuples(bytes, d, scope);
    const bool allowed = bytes.flag();
    to.constraints.push_back(
        {scope, [=](const Positions& at) { return (listed.count(taken(scope, at)) > 0) == allowed; }});
}

}  // namespace

const std::vector<FamilyDrawer>& family_drawers() {
    static const std::vector<FamilyDrawer> all = {
        {"clause", clause},     {"matching", matching},           {"dense", dense},       {"tuples", tuples},
        {"linear", linear},     {"short_tuples", short_tuples},   {"sum", sum},           {"extremum", extremum},
        {"distinct", distinct}, {"all_different", all_different}, {"external", external}, {"rule", rule},
    };
    return all;
}

}  // namespace fuzzing
