#include "drawn.h"

#include <algorithm>

#include "families/registry.h"

namespace fuzzing {
namespace {

constexpr int64_t kMostAssignments = 2048;  // enumerated in well under a millisecond

std::vector<int64_t> draw_domain(Bytes& bytes, int64_t room) {
    // Now and then one that does not fit into a word of the domains' bits.
    const bool wide = room >= 70 && bytes.rarely(24);
    const int32_t size =
        wide ? bytes.between(60, 70) : bytes.between(1, static_cast<int32_t>(std::min<int64_t>(room, 5)));
    std::vector<int64_t> values;
    if (bytes.flag() || wide) {
        const int32_t first = wide ? -50 : bytes.between(-4, 2), step = wide || bytes.flag() ? 1 : 2;
        for (int32_t i = 0; i < size; ++i) values.push_back(first + i * step);
    } else {
        for (int32_t i = 0; i < size; ++i) {
            const int64_t value = bytes.between(-4, 8);
            if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
        }
    }
    if (bytes.rarely(8)) std::reverse(values.begin(), values.end());
    return values;
}

}  // namespace

Drawn::Drawn(Bytes& bytes) {
    int64_t room = kMostAssignments;
    for (int32_t x = bytes.between(2, 5); x > 0; --x) {
        domains.values.push_back(draw_domain(bytes, room));
        room /= static_cast<int64_t>(domains.values.back().size());
    }
    auto& scope_start = graph.int32("scope_start");
    scope_start.push_back(0);
    std::vector<FamilyDrawer> left = family_drawers();  // a problem has each family once, as graph.py makes them
    for (int32_t block = bytes.between(1, 4); block > 0; --block) {
        const int32_t drawer = bytes.below(static_cast<int32_t>(left.size()));
        DrawnFamily family;
        family.name = left[drawer].name;
        for (int32_t i = bytes.between(1, 3); i > 0; --i) left[drawer].draw(bytes, domains, family);
        left.erase(left.begin() + drawer);
        for (const Constraint& constraint : family.constraints) {
            auto& scope = graph.int32("scope");
            scope.insert(scope.end(), constraint.scope.begin(), constraint.scope.end());
            scope_start.push_back(static_cast<int32_t>(scope.size()));
        }
        families.push_back(std::move(family));
    }
    for (const DrawnFamily& family : families)
        for (const Constraint& constraint : family.constraints) constraints_.push_back(&constraint);
    graph.int32("value_start") = {0};
    for (const auto& values : domains.values) {
        graph.int64("value").insert(graph.int64("value").end(), values.begin(), values.end());
        graph.int32("value_start").push_back(static_cast<int32_t>(graph.int64("value").size()));
    }
    // Weights as model/score.py makes them: hard ones come before all soft ones together.
    auto &weight = graph.int64("weight"), &score = graph.int64("score");
    auto& hard = graph.bytes("hard");
    int64_t soft = 0;
    const bool one_kind = bytes.flag();
    for (size_t c = 0; c + 1 < scope_start.size(); ++c) {
        weight.push_back(one_kind ? 1 : bytes.between(1, 4));
        hard.push_back(!one_kind && bytes.flag());
        soft += hard.back() ? 0 : weight.back();
    }
    for (size_t c = 0; c < weight.size(); ++c) score.push_back(hard[c] ? weight[c] * (1 + soft) : weight[c]);
    graph.int64("priority") = {1 + soft};
    graph.int64("hard_unit") = {1};
    graph.int32("variable_instance").assign(domains.values.size(), 0);
    graph.int32("constraint_instance").assign(weight.size(), 0);
}

std::shared_ptr<anycsp::Problem> Drawn::compile() const {
    auto problem = std::make_shared<anycsp::Problem>(graph);
    int32_t first = 0;
    for (const DrawnFamily& family : families) {
        const int32_t last = first + static_cast<int32_t>(family.constraints.size());
        anycsp::add_family(*problem, family.name, {first, last}, *family.arrays);
        first = last;
    }
    return problem;
}

std::vector<anycsp::propagation::FamilyArrays> Drawn::arrays() const {
    std::vector<anycsp::propagation::FamilyArrays> all;
    for (const DrawnFamily& family : families) all.push_back({family.name, family.arrays});
    return all;
}

anycsp::ExternalLabels Drawn::external() const {
    return [this](int32_t c, const int32_t* scope_positions, uint8_t* labels) {
        const Constraint& constraint = *constraints()[c];
        Positions at(domains.variables(), 0);
        for (size_t i = 0; i < constraint.scope.size(); ++i) at[constraint.scope[i]] = scope_positions[i];
        for (int32_t x : constraint.scope) {
            const int32_t before = at[x];
            for (at[x] = 0; at[x] < domains.size(x); ++at[x]) *labels++ = constraint.holds(at);
            at[x] = before;
        }
    };
}

void Drawn::each_assignment(const std::function<void(const Positions&)>& visit) const {
    Positions at(domains.variables(), 0);
    for (bool more = true; more;) {
        visit(at);
        more = false;
        for (int32_t x = 0; x < domains.variables() && !more; ++x) {
            more = ++at[x] < domains.size(x);
            if (!more) at[x] = 0;
        }
    }
}

Positions Drawn::draw_positions(Bytes& bytes) const {
    Positions at;
    for (int32_t x = 0; x < domains.variables(); ++x) at.push_back(bytes.below(domains.size(x)));
    return at;
}

}  // namespace fuzzing
