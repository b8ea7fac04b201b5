#include "invariants/expression.h"

#include <algorithm>

#include "families/operations.h"

namespace anycsp::invariants {

Rules::Rules(const Problem& problem, const Family& family, const propagation::FamilyArrays& arrays)
    : problem_(problem),
      first_constraint_(family.first_constraint),
      program_(arrays.int32("program")),
      node_start_(arrays.int32("node_start")),
      code_(arrays.int32("code")),
      operand_(arrays.int32("operand")),
      parameter_start_(arrays.int64("parameter_start")),
      parameter_(arrays.int64("parameter")) {
    operand_start_.push_back(0);
    for (int32_t count : arrays.int32("operand_count")) operand_start_.push_back(operand_start_.back() + count);
}

Rule::Rule(const Rules& rules, int32_t constraint)
    : scope_(rules.problem_.scope.data() + rules.problem_.scope_start[constraint]) {
    const int32_t row = constraint - rules.first_constraint_, program = rules.program_[row];
    const int32_t first = rules.node_start_[program];
    nodes_ = rules.node_start_[program + 1] - first;
    code_ = rules.code_.data() + first;
    operand_start_ = rules.operand_start_.data() + first;
    operand_ = rules.operand_.data();
    parameter_ = rules.parameter_.data() + rules.parameter_start_[row];
}

int32_t Rule::variable(int32_t i) const { return code_[i] == Slot ? scope_[child(i, 0)] : -1; }

int32_t Rule::occurrences(int32_t x) const {
    int32_t found = 0;
    for (int32_t i = 0; i < nodes_; ++i) found += variable(i) == x;
    return found;
}

void RuleNodes::add_form(int32_t i, int64_t factor, Form& to) {
    switch (rule_.code(i)) {
        case Constant: to.constant += factor * rule_.parameter(i); return;
        case Neg: return add_form(rule_.child(i, 0), -factor, to);
        case Sub: add_form(rule_.child(i, 0), factor, to); return add_form(rule_.child(i, 1), -factor, to);
        case Add:
            for (int32_t k = 0; k < rule_.count(i); ++k) add_form(rule_.child(i, k), factor, to);
            return;
        case Mul: {
            int32_t open = -1;
            for (int32_t k = 0; k < rule_.count(i); ++k) {
                const int32_t child = rule_.child(i, k);
                if (rule_.code(child) == Constant)
                    factor *= rule_.parameter(child);
                else if (open >= 0)
                    open = INT32_MAX;
                else
                    open = child;
            }
            if (open < 0) {
                to.constant += factor;
                return;
            }
            if (open != INT32_MAX) return add_form(open, factor, to);
            std::vector<int32_t> factors;
            for (int32_t k = 0; k < rule_.count(i); ++k)
                if (rule_.code(rule_.child(i, k)) != Constant) factors.push_back(value(rule_.child(i, k)));
            to.parts.push_back({graph_.operation(Mul, factors), factor});
            return;
        }
        default: to.parts.push_back({value(i), factor});
    }
}

int32_t RuleNodes::value(int32_t i) {
    const int32_t code = rule_.code(i);
    switch (code) {
        case Slot: return node_of_(rule_.variable(i));
        case Constant:
        case Neg:
        case Sub:
        case Add:
        case Mul: {
            Form form;
            if (code == Mul) {
                int32_t open = 0;
                for (int32_t k = 0; k < rule_.count(i); ++k) open += rule_.code(rule_.child(i, k)) != Constant;
                if (open == rule_.count(i) && open > 1) {
                    std::vector<int32_t> factors;
                    for (int32_t k = 0; k < open; ++k) factors.push_back(value(rule_.child(i, k)));
                    return graph_.operation(Mul, factors);
                }
            }
            add_form(i, 1, form);
            return graph_.sum(std::move(form.parts), form.constant);
        }
        case Min:
        case Max: {
            std::vector<Operand> all;
            for (int32_t k = 0; k < rule_.count(i); ++k) all.push_back({value(rule_.child(i, k))});
            return graph_.extremum(code == Max ? 1 : -1, all);
        }
        default: break;
    }
    std::vector<int32_t> operands;
    for (int32_t k = 0; k < rule_.count(i); ++k) operands.push_back(value(rule_.child(i, k)));
    if (may_be_undefined(code, operands)) undefined_.push_back(graph_.undefined(code, operands));
    return graph_.operation(code, operands);
}

int32_t RuleNodes::truth(int32_t i) {
    const int32_t node = value(i);
    const Interval range = graph_.interval(node);
    return range.low >= 0 && range.high <= 1 ? node : graph_.operation(Ne, {node, graph_.constant(0)});
}

bool RuleNodes::may_be_undefined(int32_t code, const std::vector<int32_t>& operands) const {
    const Interval second = graph_.interval(operands[operands.size() > 1]), first = graph_.interval(operands[0]);
    switch (code) {
        case Div:
        case Mod:
        case FloorDiv:
        case FloorMod: return second.low <= 0 && second.high >= 0;
        case Pow: return second.low < 0;
        case Element: return first.low < 0 || first.high >= static_cast<int64_t>(operands.size()) - 1;
        default: return false;
    }
}

int32_t RuleNodes::comparison(int32_t i, int32_t op) {
    Form form;
    add_form(rule_.child(i, 0), 1, form);
    add_form(rule_.child(i, 1), -1, form);
    const int64_t constant = form.constant;
    return graph_.distance(op, graph_.sum(std::move(form.parts), 0), -constant);
}

int32_t RuleNodes::violation(int32_t i, bool wanted) {
    const int32_t code = rule_.code(i), count = rule_.count(i);
    switch (code) {
        case Not: return violation(rule_.child(i, 0), !wanted);
        case And:
        case Or:
        case Imp: {
            std::vector<Operand> parts;
            for (int32_t k = 0; k < count; ++k)
                parts.push_back({violation(rule_.child(i, k), wanted != (code == Imp && k == 0))});
            if ((code == And) == wanted) return graph_.sum(std::move(parts), 0);
            return graph_.extremum(-1, parts);
        }
        case Lt: return comparison(i, wanted ? LT : GE);
        case Le: return comparison(i, wanted ? LE : GT);
        case Ge: return comparison(i, wanted ? GE : LT);
        case Gt: return comparison(i, wanted ? GT : LE);
        case Ne: return comparison(i, wanted ? NE : EQ);
        case Eq:
            if (count == 2) return comparison(i, wanted ? EQ : NE);
            break;
        case Circuit:
            if (wanted) {
                std::vector<int32_t> successors;
                for (int32_t k = 0; k < count; ++k) successors.push_back(value(rule_.child(i, k)));
                return graph_.circuit(successors);
            }
            break;
        default: break;
    }
    return graph_.distance(wanted ? NE : EQ, value(i), 0);
}

int32_t RuleNodes::violation() {
    std::vector<Operand> all{{violation(rule_.root(), true)}};
    for (int32_t node : undefined_) all.push_back({node});
    return graph_.sum(std::move(all), 0);
}

}  // namespace anycsp::invariants
