#include "families/evaluator.h"

namespace anycsp {

std::shared_ptr<const Evaluator> make_evaluator(const std::string& name, const Problem& problem, const Family& family,
                                                const nanobind::dict& arrays) {
    if (name == "rule") return make_rule(problem, family, arrays);
    if (name == "extremum") return make_extremum(problem, family, arrays);
    if (name == "distinct") return make_distinct(problem, family, arrays);
    if (name == "short_tuples") return make_short_tuples(problem, family, arrays);
    return nullptr;
}

}  // namespace anycsp
