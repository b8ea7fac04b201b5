// Families: labels, grades, exceptions, penalties and the state of local search, each against the plain definition.
#include <memory>

#include "drawn.h"
#include "expectations.h"
#include "families/definition.h"
#include "local/state.h"

namespace fuzzing {
namespace {

using namespace anycsp;

// Whether each constraint would hold with the variable of the slot there and nothing else changed, by edge.
std::vector<uint8_t> expected_labels(const Drawn& drawn, Positions at) {
    std::vector<uint8_t> labels;
    for (const Constraint* constraint : drawn.constraints())
        for (int32_t x : constraint->scope) {
            const int32_t before = at[x];
            for (at[x] = 0; at[x] < drawn.domains.size(x); ++at[x]) labels.push_back(constraint->holds(at));
            at[x] = before;
        }
    return labels;
}

class Labelled {
  public:
    Labelled(const Drawn& drawn, const Problem& problem)
        : drawn_(drawn), p_(problem), start_(p_.edge_start.begin(), p_.edge_start.end() - 1), place_(p_.slots()) {
        for (int32_t s = 0; s < p_.slots(); ++s) place_[s] = s;
        exceptions_.assign(p_.slots(), -1);
        critical_.assign(p_.constraints, 0);
    }

    void check(const Positions& at) {
        const std::vector<uint8_t> expected = expected_labels(drawn_, at);
        std::vector<uint8_t> labels(p_.edges(), 2);
        std::vector<float> grades(p_.edges(), -1);
        for (const Family& f : p_.families) {
            if (f.kind == Kind::external) continue;
            const Range range{f.first_constraint, f.last_constraint};
            f.definition->label(p_, f, range, {at.data(), start_.data(), labels.data()});
            if (f.definition->grade) f.definition->grade(p_, f, range, {at.data(), start_.data(), grades.data()});
            for (int64_t e = first_edge(range.first); e < first_edge(range.last); ++e) {
                EXPECT(labels[e] == expected[e]);
                EXPECT(!f.definition->grade || (expected[e] ? grades[e] == 0 : grades[e] >= 1));
            }
            if (f.definition->relabel) check_exceptions(f, range, at, expected);
        }
    }

  private:
    int64_t first_edge(int32_t c) const { return p_.edge_start[p_.scope_start[c]]; }

    void check_exceptions(const Family& f, Range range, const Positions& at, const std::vector<uint8_t>& expected) {
        const Exceptions run{at.data(), place_.data(), exceptions_.data(), nullptr, critical_.data()};
        const Violation violation = f.definition->relabel(p_, f, range, run);
        int64_t violated = 0;
        for (int32_t c = range.first; c < range.last; ++c) {
            violated += !drawn_.constraints()[c]->holds(at);
            for (int32_t s = p_.scope_start[c]; s < p_.scope_start[c + 1]; ++s)
                for (int32_t v = 0; v < p_.domain_size(p_.scope[s]); ++v)
                    EXPECT((run.of(s) == v) == !expected[p_.edge_start[s] + v]);
        }
        EXPECT(violation.violated == violated);
    }

    const Drawn& drawn_;
    const Problem& p_;
    std::vector<int64_t> start_;
    std::vector<int32_t> place_, exceptions_, critical_;
};

// What a family says of one constraint, asked directly.
void check_penalties(const Drawn& drawn, const Problem& p, const Positions& at, bool graded) {
    const std::vector<uint8_t> expected = expected_labels(drawn, at);
    for (const Family& f : p.families) {
        if (!f.definition->penalties) continue;
        const auto penalties = f.definition->penalties(p, f, {graded, drawn.external()});
        std::vector<int64_t> memory(penalties->memory());
        const PenaltyState state{at.data(), memory.data(), nullptr, nullptr};
        penalties->place(state);
        for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
            const bool holds = drawn.constraints()[c]->holds(at);
            EXPECT(penalties->satisfied(c, state) == holds);
            bool any = false;
            for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) {
                const int32_t x = p.scope[s];
                std::vector<int32_t> of(p.domain_size(x), -1);
                penalties->penalties({c, s}, state, of.data());
                any = any || of[at[x]] > 0;
                for (int32_t v = 0; v < p.domain_size(x); ++v) {
                    EXPECT(of[v] >= 0);
                    EXPECT(graded || of[v] == !expected[p.edge_start[s] + v]);
                    EXPECT(!graded || of[v] == 0 || !expected[p.edge_start[s] + v] || f.kind == Kind::all_different);
                    EXPECT(penalties->difference({c, s}, at[x], v, state) == of[v] - of[at[x]]);
                }
            }
            EXPECT(any == !holds);
        }
    }
}

// The state of local search after every move: counts by the definitions, costs by those or by a fresh state.
void check_state(const Drawn& drawn, Bytes& bytes, const std::shared_ptr<Problem>& p, bool graded) {
    constexpr unsigned kEverything = local::kCounts | local::kViolated | local::kConflicted | local::kTouched;
    const bool on_demand = bytes.flag();
    const local::MoveIndex index(p, {graded, drawn.external()});
    local::State state(index, on_demand), fresh(index, false);
    std::vector<Weight> weights(index.score.of);
    Positions at = drawn.draw_positions(bytes);
    state.place(at.data(), weights);
    for (int32_t moves = bytes.below(6); moves >= 0; --moves) {
        const auto& constraints = drawn.constraints();
        int64_t score = 0, hard = 0, violated = 0;
        std::vector<uint8_t> broken, conflicted(p->variables, 0);
        for (int32_t c = 0; c < p->constraints; ++c) {
            broken.push_back(!constraints[c]->holds(at));
            EXPECT(state.is_violated(c) == broken[c] && state.violated().contains(c) == broken[c]);
            EXPECT(state.violated_hard().contains(c) == (broken[c] && p->hard[c]));
            violated += broken[c];
            hard += broken[c] && p->hard[c];
            score += broken[c] ? p->score[c] : 0;
            for (int32_t x : constraints[c]->scope) conflicted[x] |= broken[c];
        }
        EXPECT(state.score() == score && state.violated_count() == violated && state.hard_count() == hard);
        fresh.place(at.data(), weights);
        for (int32_t x = 0; x < p->variables; ++x) {
            EXPECT(state.conflicted().contains(x) == conflicted[x]);
            for (int32_t v = 0; v < p->domain_size(x); ++v) {
                EXPECT(state.difference(x, v) == fresh.difference(x, v));
                if (graded) continue;
                Positions moved = at;
                moved[x] = v;
                int64_t difference = 0;
                for (int32_t s = p->variable_slot_start[x]; s < p->variable_slot_start[x + 1]; ++s) {
                    const int32_t c = p->slot_constraint[p->variable_slot[s]];
                    difference += weights[c] * (!constraints[c]->holds(moved) - int64_t(broken[c]));
                }
                EXPECT(state.difference(x, v) == difference);
            }
        }
        const int32_t x = bytes.below(p->variables), to = bytes.below(p->domain_size(x));
        if (to != at[x]) state.move<kEverything>(x, to);
        at[x] = to;
        if (bytes.flag()) continue;
        const int32_t c = bytes.below(p->constraints);
        const int32_t amount = bytes.between(1, 5);
        state.reweigh<kEverything>(c, amount);
        weights[c] += amount;
    }
}

}  // namespace
}  // namespace fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace fuzzing;
    Bytes bytes(data, size);
    const Drawn drawn(bytes);
    const auto problem = drawn.compile();
    const bool graded = bytes.flag();
    Labelled labelled(drawn, *problem);
    for (int32_t i = 0; i < 2; ++i) {
        const Positions at = drawn.draw_positions(bytes);
        labelled.check(at);
        check_penalties(drawn, *problem, at, graded);
    }
    check_state(drawn, bytes, problem, graded);
    return 0;
}
