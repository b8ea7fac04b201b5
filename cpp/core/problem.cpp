// Builds the native Problem from the arrays of a ConstraintValueGraph, checking every index once, so that the
// kernels need not.
#include "core/problem.h"

#include "core/arrays.h"
#include "families/evaluator.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <stdexcept>

namespace nb = nanobind;

namespace anycsp {
namespace {

Kind kind_of(const std::string& name) {
    if (name == "clause") return Kind::clause;
    if (name == "matching") return Kind::matching;
    if (name == "dense") return Kind::dense;
    if (name == "tuples") return Kind::tuples;
    if (name == "linear") return Kind::linear;
    if (name == "all_different") return Kind::all_different;
    if (name == "sum") return Kind::sum;
    if (name == "external") return Kind::external;
    if (name == "rule" || name == "extremum" || name == "distinct" || name == "short_tuples") return Kind::evaluated;
    throw std::invalid_argument("unknown constraint kind " + name);
}

void check_clause(const Problem& p, const Family& f, int32_t first_slot) {
    for (size_t i = 0; i < f.forbidden.size(); ++i)
        require(f.forbidden[i] >= -1 && f.forbidden[i] < p.domain_size(p.scope[first_slot + i]),
                "clause: forbidden position outside the domain");
}

void check_matching(const Problem& p, const Family& f, int32_t first_slot) {
    for (size_t i = 0; i < f.offset.size(); ++i) {
        int32_t partner = p.scope[first_slot + (i ^ 1)];
        require(f.offset[i] >= 0 && f.offset[i] + p.domain_size(partner) <= int64_t(f.conflict.size()),
                "matching: offset outside the conflict pool");
        int32_t size = p.domain_size(p.scope[first_slot + i]);
        for (int32_t v = 0; v < p.domain_size(partner); ++v)
            require(f.conflict[f.offset[i] + v] >= -1 && f.conflict[f.offset[i] + v] < size,
                    "matching: conflict outside the domain");
    }
}

void check_dense(const Problem& p, const Family& f, int32_t first_slot) {
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        int64_t low = f.base[c - f.first_constraint], high = low;
        for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
            require(f.stride[s - first_slot] >= 0, "dense: negative stride");
            high += f.stride[s - first_slot] * (p.domain_size(p.scope[s]) - 1);
        }
        require(low >= 0 && high < int64_t(f.truth.size()), "dense: address outside the truth table");
    }
}

void check_tuples(const Problem& p, const Family& f) {
    require(f.tuple_start.size() == f.allowed.size() + 1, "tuples: starts and flags differ in length");
    require_start(f.tuple_start, f.tuple_cells.size(), "tuples: starts not increasing");
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        int32_t r = f.relation[c - f.first_constraint];
        require(r >= 0 && size_t(r) < f.allowed.size(), "tuples: unknown relation");
        int32_t arity = p.scope_start[c + 1] - p.scope_start[c];
        int64_t cells = f.tuple_start[r + 1] - f.tuple_start[r];
        require(cells % arity == 0, "tuples: cells are not rows of the arity");
        for (int64_t i = 0; i < cells; ++i) {
            int32_t position = f.tuple_cells[f.tuple_start[r] + i];
            int32_t x = p.scope[p.scope_start[c] + i % arity];
            require(position >= 0 && position < p.domain_size(x), "tuples: position outside the domain");
        }
    }
}

void check_all_different(const Problem& p, const Family& f) {
    int32_t rows = f.last_constraint - f.first_constraint;
    require(f.bin_constraint.size() == f.bin_counts.size(), "all_different: bins differ in length");
    for (int32_t c : f.bin_constraint) require(c >= 0 && c < rows, "all_different: bin of no constraint");
    int64_t first_edge = p.edge_start[p.scope_start[f.first_constraint]];
    for (int32_t s = p.scope_start[f.first_constraint]; s < p.scope_start[f.last_constraint]; ++s)
        for (int64_t e = p.edge_start[s]; e < p.edge_start[s + 1]; ++e) {
            int32_t bin = f.edge_bin[e - first_edge];
            require(bin >= 0 && size_t(bin) < f.bin_counts.size(), "all_different: unknown bin");
            require(f.bin_constraint[bin] == p.slot_constraint[s] - f.first_constraint,
                    "all_different: bin of another constraint");
        }
}

Family family_of(const Problem& p, const std::string& name, int32_t first, int32_t last, const nb::dict& arrays) {
    Family f{};
    f.kind = kind_of(name);
    f.first_constraint = first;
    f.last_constraint = last;
    require(first >= 0 && first <= last && last <= p.constraints, "family outside the constraints");
    size_t rows = last - first;
    int32_t first_slot = p.scope_start[first];
    size_t slots = p.scope_start[last] - first_slot;
    size_t edges = p.edge_start[p.scope_start[last]] - p.edge_start[first_slot];
    for (int32_t c = first; c < last; ++c) require(p.scope_start[c] < p.scope_start[c + 1], "empty scope");
    switch (f.kind) {
        case Kind::clause:
            f.forbidden = shared<int32_t>(arrays, "forbidden", slots);
            check_clause(p, f, first_slot);
            break;
        case Kind::matching:
            for (int32_t c = first; c < last; ++c)
                require(p.scope_start[c + 1] - p.scope_start[c] == 2, "matching: not binary");
            f.offset = shared<int64_t>(arrays, "offset", slots);
            f.conflict = shared<int32_t>(arrays, "conflict");
            check_matching(p, f, first_slot);
            break;
        case Kind::dense:
            f.base = shared<int64_t>(arrays, "base", rows);
            f.stride = shared<int64_t>(arrays, "stride", slots);
            f.truth = shared<uint8_t>(arrays, "truth");
            check_dense(p, f, first_slot);
            break;
        case Kind::tuples:
            f.relation = shared<int32_t>(arrays, "relation", rows);
            f.allowed = shared<uint8_t>(arrays, "allowed");
            f.tuple_start = shared<int64_t>(arrays, "tuple_start");
            f.tuple_cells = shared<int32_t>(arrays, "tuples");
            check_tuples(p, f);
            break;
        case Kind::linear:
            f.coefficient = shared<int64_t>(arrays, "coefficient", slots);
            f.op = shared<int32_t>(arrays, "operator", rows);
            f.bound = shared<int64_t>(arrays, "bound", rows);
            for (int32_t op : f.op) require(op >= LE && op <= GT, "linear: unknown operator");
            break;
        case Kind::sum:
            f.term = shared<int64_t>(arrays, "term", edges);
            f.op = shared<int32_t>(arrays, "operator", rows);
            f.bound = shared<int64_t>(arrays, "bound", rows);
            for (int32_t op : f.op) require(op >= LE && op <= GT, "sum: unknown operator");
            break;
        case Kind::evaluated:
            f.evaluator = make_evaluator(name, p, f, arrays);
            break;
        case Kind::all_different:
            f.edge_bin = shared<int32_t>(arrays, "edge_bin", edges);
            f.bin_constraint = shared<int32_t>(arrays, "bin_constraint");
            f.bin_counts = shared<uint8_t>(arrays, "bin_counts");
            check_all_different(p, f);
            break;
        case Kind::external:
            break;
    }
    return f;
}

std::shared_ptr<Problem> make_problem(const nb::dict& arrays, const nb::list& families) {
    auto p = std::make_shared<Problem>();
    p->value_start = shared<int32_t>(arrays, "value_start");
    p->value = shared<int64_t>(arrays, "value");
    require_start(p->value_start, p->value.size(), "value_start does not cover the values");
    p->variables = static_cast<int32_t>(p->value_start.size()) - 1;
    for (int32_t x = 0; x < p->variables; ++x) require(p->domain_size(x) > 0, "empty domain");

    p->scope = shared<int32_t>(arrays, "scope");
    p->scope_start = shared<int32_t>(arrays, "scope_start");
    require_start(p->scope_start, p->scope.size(), "scope_start does not cover the slots");
    p->constraints = static_cast<int32_t>(p->scope_start.size()) - 1;
    for (int32_t x : p->scope) require(x >= 0 && x < p->variables, "scope names an unknown variable");

    p->edge_start.assign(1, 0);
    for (int32_t x : p->scope) p->edge_start.push_back(p->edge_start.back() + p->domain_size(x));
    p->slot_constraint.resize(p->scope.size());
    for (int32_t c = 0; c < p->constraints; ++c)
        for (int32_t s = p->scope_start[c]; s < p->scope_start[c + 1]; ++s) p->slot_constraint[s] = c;
    p->variable_slot_start.assign(p->variables + 1, 0);
    for (int32_t x : p->scope) ++p->variable_slot_start[x + 1];
    for (int32_t x = 0; x < p->variables; ++x) p->variable_slot_start[x + 1] += p->variable_slot_start[x];
    p->variable_slot.resize(p->scope.size());
    std::vector<int32_t> next(p->variable_slot_start.begin(), p->variable_slot_start.end() - 1);
    for (int32_t s = 0; s < p->slots(); ++s) p->variable_slot[next[p->scope[s]]++] = s;

    p->weight = shared<double>(arrays, "weight", p->constraints);
    p->hard = shared<uint8_t>(arrays, "hard", p->constraints);
    p->variable_instance = shared<int32_t>(arrays, "variable_instance", p->variables);
    p->constraint_instance = shared<int32_t>(arrays, "constraint_instance", p->constraints);
    for (int32_t i : p->variable_instance) {
        require(i >= 0, "negative instance");
        p->instances = std::max(p->instances, i + 1);
    }
    for (int32_t i : p->constraint_instance) require(i >= 0 && i < p->instances, "constraint of no instance");

    p->family_of.assign(p->constraints, 0);
    int32_t expected = 0;
    for (nb::handle item : families) {
        auto entry = nb::cast<nb::tuple>(item);  // (kind, first constraint, last constraint, arrays)
        auto first = nb::cast<int32_t>(entry[1]), last = nb::cast<int32_t>(entry[2]);
        require(first == expected, "families do not follow one another");
        expected = last;
        p->families.push_back(
            family_of(*p, nb::cast<std::string>(entry[0]), first, last, nb::cast<nb::dict>(entry[3])));
        for (int32_t c = first; c < last; ++c) p->family_of[c] = static_cast<int32_t>(p->families.size()) - 1;
    }
    require(expected == p->constraints, "families do not cover the constraints");
    return p;
}

}  // namespace
}  // namespace anycsp

void bind_problem(nb::module_& m) {
    using anycsp::Problem;
    nb::class_<Problem>(m, "Problem")
        .def_prop_ro("variables", [](const Problem& p) { return p.variables; })
        .def_prop_ro("constraints", [](const Problem& p) { return p.constraints; })
        .def_prop_ro("slots", [](const Problem& p) { return p.slots(); })
        .def_prop_ro("edges", [](const Problem& p) { return p.edges(); });
    m.def("make_problem", &anycsp::make_problem, nb::arg("arrays"), nb::arg("families"));
}
