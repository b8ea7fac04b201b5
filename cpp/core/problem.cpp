// Reads the arrays of a ConstraintValueGraph, checking every index once, so that the kernels need not.
#include "core/problem.h"

#include <algorithm>

#include "core/arrays.h"

namespace anycsp {
namespace {

// What an assignment violates is added up in 64 bits, whatever it violates.
void require_exact_totals(const Problem& p) {
    constexpr __int128 kLimit = __int128(1) << 62;
    std::vector<__int128> weight(p.instances, 0), score(p.instances, 0);
    for (int32_t c = 0; c < p.constraints; ++c) {
        require(p.weight[c] >= 0 && p.score[c] >= 0, "negative weight");
        weight[p.constraint_instance[c]] += p.weight[c];
        score[p.constraint_instance[c]] += p.score[c];
    }
    for (int32_t i = 0; i < p.instances; ++i) {
        require(weight[i] < kLimit && score[i] < kLimit, "weights add up to more than 64 bits hold");
        const int64_t units = static_cast<int64_t>(score[i]) / p.priority[i];
        require(__int128(units) * p.hard_unit[i] < kLimit, "weights add up to more than 64 bits hold");
    }
}

}  // namespace

Problem::Problem(const Arrays& arrays) {
    value_start = arrays.shared<int32_t>("value_start");
    value = arrays.shared<int64_t>("value");
    require_start(value_start, value.size(), "value_start does not cover the values");
    variables = static_cast<int32_t>(value_start.size()) - 1;
    for (int32_t x = 0; x < variables; ++x) require(domain_size(x) > 0, "empty domain");

    scope = arrays.shared<int32_t>("scope");
    scope_start = arrays.shared<int32_t>("scope_start");
    require_start(scope_start, scope.size(), "scope_start does not cover the slots");
    constraints = static_cast<int32_t>(scope_start.size()) - 1;
    for (int32_t x : scope) require(x >= 0 && x < variables, "scope names an unknown variable");

    edge_start.assign(1, 0);
    for (int32_t x : scope) edge_start.push_back(edge_start.back() + domain_size(x));
    slot_constraint.resize(scope.size());
    for (int32_t c = 0; c < constraints; ++c)
        for (int32_t s = scope_start[c]; s < scope_start[c + 1]; ++s) slot_constraint[s] = c;
    variable_slot_start.assign(variables + 1, 0);
    for (int32_t x : scope) ++variable_slot_start[x + 1];
    for (int32_t x = 0; x < variables; ++x) variable_slot_start[x + 1] += variable_slot_start[x];
    variable_slot.resize(scope.size());
    std::vector<int32_t> next(variable_slot_start.begin(), variable_slot_start.end() - 1);
    for (int32_t s = 0; s < slots(); ++s) variable_slot[next[scope[s]]++] = s;

    weight = arrays.shared<int64_t>("weight", constraints);
    score = arrays.shared<int64_t>("score", constraints);
    hard = arrays.flags("hard", constraints);
    variable_instance = arrays.shared<int32_t>("variable_instance", variables);
    constraint_instance = arrays.shared<int32_t>("constraint_instance", constraints);
    priority = arrays.shared<int64_t>("priority");
    hard_unit = arrays.shared<int64_t>("hard_unit", priority.size());
    instances = static_cast<int32_t>(priority.size());
    require(instances > 0, "no instance");
    for (int32_t i : variable_instance) require(i >= 0 && i < instances, "variable of no instance");
    for (int32_t i : constraint_instance) require(i >= 0 && i < instances, "constraint of no instance");
    for (int64_t p : priority) require(p > 0, "priority below 1");
    for (int64_t unit : hard_unit) require(unit >= 0, "negative unit of hard weights");
    require_exact_totals(*this);
}

}  // namespace anycsp
