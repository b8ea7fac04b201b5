// Values for the variables of a group that satisfy what its moves keep: matchings by augmenting paths (Kuhn).
#pragma once

#include <cstdint>
#include <vector>

#include "local/random.h"

namespace anycsp::invariants {

struct Group;
class Model;

// `values`, by place in the group: where variables have some already, what is to be kept of them if it can be; then what
// was found. Without a generator the order is that of the domains. False where there is no such assignment.
bool match_different(const Model& model, const Group& group, local::Random* random, std::vector<int64_t>& values);
bool match_counted(const Model& model, const Group& group, local::Random* random, std::vector<int64_t>& values);
// Sums are filled greedily; over domains with holes one that exists may be missed.
bool match_sum(const Model& model, const Group& group, local::Random* random, std::vector<int64_t>& values);

}  // namespace anycsp::invariants
