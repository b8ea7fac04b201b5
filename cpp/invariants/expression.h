// The rules of a family as trees, and their nodes in an invariant graph: values, and how far a rule is from holding.
#pragma once

#include <functional>
#include <vector>

#include "invariants/graph.h"
#include "propagation/propagator.h"

namespace anycsp::invariants {

class Rules;

// One rule: node i of its program, children before parents, the root last.
class Rule {
  public:
    Rule(const Rules& rules, int32_t constraint);

    int32_t root() const { return nodes_ - 1; }
    int32_t code(int32_t i) const { return code_[i]; }
    int32_t count(int32_t i) const { return operand_start_[i + 1] - operand_start_[i]; }
    int32_t child(int32_t i, int32_t k) const { return operand_[operand_start_[i] + k]; }
    int64_t parameter(int32_t i) const { return parameter_[child(i, 0)]; }
    // The variable of a leaf, or −1.
    int32_t variable(int32_t i) const;
    int32_t occurrences(int32_t x) const;

  private:
    const int32_t* scope_;
    int32_t nodes_;
    const int32_t *code_, *operand_start_, *operand_;
    const int64_t* parameter_;
};

// All rules of a family.
class Rules {
  public:
    Rules(const Problem& problem, const Family& family, const propagation::FamilyArrays& arrays);

  private:
    friend class Rule;
    const Problem& problem_;
    const int32_t first_constraint_;
    SharedArray<int32_t> program_, node_start_, code_, operand_;
    SharedArray<int64_t> parameter_start_, parameter_;
    std::vector<int32_t> operand_start_;  // by node of all programs
};

// Adds the nodes of a rule; `node_of` gives the node of a variable.
class RuleNodes {
  public:
    RuleNodes(Graph& graph, const Rule& rule, std::function<int32_t(int32_t)> node_of)
        : graph_(graph), rule_(rule), node_of_(std::move(node_of)) {}

    int32_t value(int32_t i);
    // 0 or 1, whatever the value is.
    int32_t truth(int32_t i);
    // 0 where the part is true (false, where not `wanted`), otherwise how far from it: a conjunction adds up, a
    // disjunction is as far as its nearest part, a comparison as its sides are apart.
    int32_t violation(int32_t i, bool wanted);
    // With what is undefined on top, wherever it may be.
    int32_t violation();
    // 1 where a part of what was added has no value.
    const std::vector<int32_t>& undefined() const { return undefined_; }

  private:
    struct Form {
        std::vector<Operand> parts;
        int64_t constant = 0;
    };
    void add_form(int32_t i, int64_t factor, Form& to);
    int32_t comparison(int32_t i, int32_t op);
    bool may_be_undefined(int32_t code, const std::vector<int32_t>& operands) const;

    Graph& graph_;
    const Rule& rule_;
    std::function<int32_t(int32_t)> node_of_;
    std::vector<int32_t> undefined_;
};

}  // namespace anycsp::invariants
