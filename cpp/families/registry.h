// The families there are.
#pragma once

#include <string>

#include "families/definition.h"

namespace anycsp {

// Throws std::invalid_argument where the name is none.
const FamilyDefinition& family_named(const std::string& name);

// The problem's next constraints are of this family.
void add_family(Problem& problem, const std::string& name, Range constraints, const Arrays& arrays);

}  // namespace anycsp
