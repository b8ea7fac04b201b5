#include "invariants/model.h"

#include <algorithm>

namespace anycsp::invariants {

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

}  // namespace anycsp::invariants
