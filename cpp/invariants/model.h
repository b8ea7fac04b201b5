// A problem as an invariant graph: which variables a search sets, which follow from them, which constraints every move
// keeps, and the penalties of the rest.
//
// A constraint that must hold and determines one of its variables *defines* it: the variable takes the value of its
// domain nearest to what the constraint says, and the constraint counts as any other, so that nothing is approximated.
// Some constraints are *implicit*: they hold at the start and every move of their group keeps them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "invariants/expression.h"
#include "invariants/graph.h"

namespace anycsp::invariants {

// Variables that move together, and the constraints that this keeps.
struct Group {
    enum Kind { different, counted, circuit, sum } kind;
    std::vector<int32_t> variables;       // of a circuit: by node
    std::vector<int32_t> constraints;     // implicit
    std::map<int64_t, int32_t> occurs{};  // counted: how often a value occurs
    int64_t total = 0;                    // sum: what they add up to
};

class Model {
  public:
    // `enforced`: the constraints that must hold. `auxiliary`: variables that were made to follow from others.
    // `kept`: the values (vertices) that may still occur. `objective`: the constraint that bounds one, or −1; its left
    // side is what counts.
    Model(std::shared_ptr<const Problem> problem, const std::vector<propagation::FamilyArrays>& arrays,
          std::vector<uint8_t> enforced, const std::vector<uint8_t>& auxiliary, std::vector<uint8_t> kept,
          int32_t objective, ExternalLabels external);

    const Problem& problem() const { return *problem_; }
    const Graph& graph() const { return graph_; }
    // By constraint, the objective last: the node of its penalty, or −1 where it always holds.
    const std::vector<int32_t>& roots() const { return roots_; }
    bool enforced(int32_t constraint) const { return enforced_[constraint]; }
    int32_t objective_root() const { return problem_->constraints; }
    bool has_objective() const { return roots_.back() >= 0; }
    // Smaller is better: 1 or −1 times the root's value.
    int32_t objective_sign() const { return objective_sign_; }

    int32_t node(int32_t x) const { return variable_node_[x]; }
    // What a search sets: all variables neither defined nor fixed.
    const std::vector<int32_t>& decisions() const { return decisions_; }
    const std::vector<int32_t>& choices(int32_t x) const { return choices_[x]; }  // positions
    int32_t defined() const { return defined_; }
    const std::vector<Group>& groups() const { return groups_; }
    int32_t group_of(int32_t x) const { return group_of_[x]; }

    int64_t value(int32_t x, int32_t position) const { return problem_->value[problem_->value_start[x] + position]; }
    bool allows(int32_t x, int64_t value) const {
        const int32_t at = graph_.nearest_position(x, value);
        return this->value(x, at) == value && kept_[problem_->value_start[x] + at];
    }

  private:
    struct Definition {
        int32_t constraint = -1, slot = -1;
    };
    struct Affine {  // of a value: sign · value + offset
        int32_t sign = 0;
        int64_t offset = 0;
    };

    void choose_definitions(const std::vector<uint8_t>& auxiliary, bool sure);
    void define_objective_variable();
    bool define(int32_t constraint, int32_t slot);
    bool would_close_circle(int32_t x, const std::vector<int32_t>& inputs);
    void set_inputs(int32_t x, const std::vector<int32_t>& inputs);
    std::vector<int32_t> determined_slots(int32_t constraint, const std::vector<uint8_t>& auxiliary, bool sure);
    std::vector<int32_t> widest_unit(const std::vector<int32_t>& units, const std::vector<int64_t>& spans,
                                     int32_t begin, const std::vector<uint8_t>& auxiliary, bool sure) const;
    // A table whose rows have one value at most of the slot's variable for any values of the others.
    // A relation that says, for a slot, which position it takes at every address of the others. Tables over different
    // domains share a relation, so values are made for each domain anew.
    struct TableFunction {
        bool functional = false, total = false;
        std::vector<int32_t> positions;                   // by address; 0 where there is none
        int32_t missing = -1;                             // function of the address: 1 where there is none
        std::vector<std::pair<int32_t, int32_t>> values;  // a variable, and the function that has its values
    };
    TableFunction& table_function(int32_t constraint, int32_t slot);
    int32_t table_values(TableFunction& table, int32_t x);
    bool same_domain(int32_t x, int32_t y) const;
    std::vector<int64_t> strides(int32_t constraint, int32_t without) const;
    Affine affine(int32_t slot, const int64_t* terms) const;

    void add_circuits();
    void add_different();
    void add_counted();
    void add_sums();
    bool counts_one_value(int32_t constraint, int64_t& value, int64_t& times) const;
    bool free_for_group(const std::vector<int32_t>& variables) const;
    void take(Group group);

    void add_nodes();
    void add_definition(int32_t x);
    int32_t defining_value(int32_t x, std::vector<int32_t>& undefined);
    int32_t penalty(int32_t constraint);
    int32_t left_side(int32_t constraint, int32_t without);
    int32_t address(int32_t constraint, int32_t without, const std::vector<int64_t>& strides);
    std::vector<Operand> terms(int32_t constraint, const int64_t* of_family, int32_t without);
    std::vector<Operand> positions(int32_t constraint);
    void set_objective(int32_t constraint);

    const Family& family(int32_t c) const { return problem_->families[problem_->family_of[c]]; }
    const propagation::FamilyArrays& arrays(int32_t c) const { return arrays_[problem_->family_of[c]]; }
    Rule rule(int32_t c) const { return Rule(*rules_.at(problem_->family_of[c]), c); }
    bool is(int32_t c, const char* kind) const { return arrays(c).kind == kind; }
    int32_t begin(int32_t c) const { return problem_->scope_start[c]; }
    int32_t end(int32_t c) const { return problem_->scope_start[c + 1]; }
    int32_t row(int32_t c) const { return c - family(c).first_constraint; }
    int64_t family_edge(int32_t c, int32_t slot) const {
        return problem_->edge_start[slot] - problem_->edge_start[begin(family(c).first_constraint)];
    }
    int32_t family_slot(int32_t c, int32_t slot) const { return slot - begin(family(c).first_constraint); }
    bool fixed(int32_t x) const { return choices_[x].size() == 1; }
    Interval possible(int32_t x) const;
    int32_t comparison(int32_t c) const;
    int64_t bound(int32_t c) const;
    bool has_result(int32_t c) const { return arrays(c).bytes("has_result")[row(c)]; }

    std::shared_ptr<const Problem> problem_;
    std::vector<propagation::FamilyArrays> arrays_;
    std::map<int32_t, std::shared_ptr<Rules>> rules_;  // by family
    std::vector<uint8_t> enforced_, kept_;
    const int32_t objective_;
    int32_t objective_sign_ = 1, defined_ = 0;
    int64_t table_cells_ = 0;
    Graph graph_;
    std::vector<std::vector<int32_t>> choices_;
    std::vector<Definition> definition_;                     // by variable
    std::vector<uint8_t> defines_;                           // by constraint
    std::vector<std::vector<int32_t>> inputs_, dependents_;  // by variable: what it is defined by, and what by it
    std::vector<int32_t> is_input_, reached_;                // by variable: the last mark of a search for circles
    int32_t mark_ = 0;
    int32_t bounded_ = -1;           // the variable that is the objective and only bounded by constraints
    std::vector<int32_t> bounding_;  // those constraints
    std::map<std::vector<int64_t>, TableFunction>
        table_functions_;                        // by relation (dense first), place in scope and domains
    std::map<int64_t, int32_t> truth_function_;  // by relation
    std::vector<Group> groups_;
    std::vector<int32_t> group_of_, variable_node_, roots_, decisions_;
    std::vector<uint8_t> implicit_;  // by constraint
};

}  // namespace anycsp::invariants
