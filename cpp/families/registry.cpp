#include "families/registry.h"

#include <stdexcept>

// One line for every family: `NAME` stands for `NAME_family`, defined in NAME.cpp.
#define ANYCSP_FAMILIES(FAMILY) \
    FAMILY(clause)              \
    FAMILY(matching)            \
    FAMILY(dense)               \
    FAMILY(tuples)              \
    FAMILY(short_tuples)        \
    FAMILY(linear)              \
    FAMILY(sum)                 \
    FAMILY(all_different)       \
    FAMILY(distinct)            \
    FAMILY(extremum)            \
    FAMILY(rule)                \
    FAMILY(external)

namespace anycsp {

#define DECLARE(name) extern const FamilyDefinition name##_family;
ANYCSP_FAMILIES(DECLARE)
#undef DECLARE

const FamilyDefinition& family_named(const std::string& name) {
#define LIST(name) &name##_family,
    static const FamilyDefinition* const families[] = {ANYCSP_FAMILIES(LIST)};
#undef LIST
    for (const FamilyDefinition* family : families)
        if (name == family->name) return *family;
    throw std::invalid_argument("unknown constraint kind " + name);
}

void add_family(Problem& p, const std::string& name, Range constraints, const Arrays& arrays) {
    Family f{};
    f.definition = &family_named(name);
    f.kind = f.definition->kind;
    f.first_constraint = constraints.first;
    f.last_constraint = constraints.last;
    require(size_t(constraints.first) == p.family_of.size(), "families do not follow one another");
    require(constraints.first <= constraints.last && constraints.last <= p.constraints,
            "family outside the constraints");
    for (int32_t c = constraints.first; c < constraints.last; ++c)
        require(p.scope_start[c] < p.scope_start[c + 1], "empty scope");
    f.definition->read(p, f, arrays);
    p.family_of.resize(constraints.last, static_cast<int32_t>(p.families.size()));
    p.families.push_back(std::move(f));
}

}  // namespace anycsp
