// Propagation removes no solution; the tree search finds one where there is one, the best one where it optimises, and
// every one where it enumerates; what it learns holds in all of them.
#include <algorithm>
#include <set>

#include "drawn.h"
#include "expectations.h"
#include "propagation/tree_search.h"

namespace fuzzing {
namespace {

using namespace anycsp::propagation;

constexpr int64_t kSlice = 400;        // nodes of an `advance`
constexpr int32_t kMostSlices = 4096;  // far more than assignments there are: beyond, it would never end
constexpr double kForever = 1e9;

struct Task {
    Task(Bytes& bytes, const Drawn& drawn) : drawn(drawn), problem(drawn.compile()) {
        for (int32_t c = 0; c < problem->constraints; ++c) enforced.push_back(!bytes.rarely(4));
        solutions = holding();
    }
    // What satisfies everything enforced.
    std::vector<Positions> holding() const {
        std::vector<Positions> result;
        const auto& constraints = drawn.constraints();
        drawn.each_assignment([&](const Positions& at) {
            for (size_t c = 0; c < constraints.size(); ++c)
                if (enforced[c] && !constraints[c]->holds(at)) return;
            result.push_back(at);
        });
        return result;
    }
    std::unique_ptr<Network> network(bool orders) const {
        return std::make_unique<Network>(problem, drawn.arrays(), enforced, drawn.external(),
                                         anycsp::Clock::time_point::max(), orders);
    }
    void expect_solution(const Positions& at) const {
        Positions own(at.begin(), at.begin() + problem->variables);  // without the orders of tasks
        EXPECT(std::find(solutions.begin(), solutions.end(), own) != solutions.end());
    }

    const Drawn& drawn;
    std::shared_ptr<anycsp::Problem> problem;
    std::vector<uint8_t> enforced;
    std::vector<Positions> solutions;
};

void check_domains(const Task& task, Network& network, bool possible) {
    EXPECT(possible || task.solutions.empty());
    if (!possible) return;
    bool fixed = true;
    for (int32_t x = 0; x < task.problem->variables; ++x) fixed = fixed && network.store().fixed(x);
    EXPECT(!fixed || task.solutions.size() == 1);
    for (const Positions& solution : task.solutions)
        for (int32_t x = 0; x < task.problem->variables; ++x) EXPECT(network.store().has(x, solution[x]));
}

void check_network(const Task& task, Bytes& bytes) {
    const auto network = task.network(bytes.flag());
    const bool possible = network->propagate();
    check_domains(task, *network, possible);
    if (possible && bytes.flag()) check_domains(task, *network, network->probe(1000));
}

// A constraint that can bound an objective, or −1.
int32_t draw_objective(const Task& task, Bytes& bytes) {
    std::vector<int32_t> suited{-1};
    const auto& constraints = task.drawn.constraints();
    for (int32_t c = 0; c < task.problem->constraints; ++c)
        if (task.enforced[c] && constraints[c]->left && constraints[c]->op != anycsp::EQ &&
            constraints[c]->op != anycsp::NE)
            suited.push_back(c);
    return bytes.pick(suited);
}

void exhaust(TreeSearch& tree, const Task& task, const std::function<void(const Positions&)>& found) {
    int64_t known = tree.solutions();
    for (int32_t i = 0; i < kMostSlices && !tree.exhausted(); ++i) {
        tree.advance(kSlice, kForever);
        if (tree.solutions() == known) continue;
        known = tree.solutions();
        task.expect_solution(tree.solution());
        found(tree.solution());
    }
    EXPECT(tree.exhausted());
}

void check_learnt(const Task& task, TreeSearch& tree) {
    std::vector<int32_t> variable;
    for (int32_t x = 0; x < task.problem->variables; ++x)
        variable.insert(variable.end(), task.problem->domain_size(x), x);
    for (const auto& clause : tree.learnt())
        for (const Positions& solution : task.solutions) {
            bool holds = false;
            for (int32_t literal : clause) {
                const int32_t vertex = literal < 0 ? ~literal : literal;
                if (vertex >= task.problem->values()) return;  // an order of two tasks
                const int32_t x = variable[vertex];
                const bool there = solution[x] == vertex - task.problem->value_start[x];
                holds = holds || there == (literal < 0);
            }
            EXPECT(holds);
        }
}

void check_tree(const Task& task, Bytes& bytes) {
    const int32_t objective = draw_objective(task, bytes);
    std::vector<uint8_t> decisions;
    for (int32_t x = 0; x < task.problem->variables; ++x) decisions.push_back(!bytes.rarely(4));
    const bool orders = bytes.flag();
    TreeSearch tree(task.network(orders), decisions, objective, bytes.byte());
    const TreeSearch::Learning modes[] = {TreeSearch::Learning::half, TreeSearch::Learning::never,
                                          TreeSearch::Learning::always};
    tree.set_mode(modes[bytes.below(3)]);
    const auto left = [&](const Positions& at) {
        const Constraint& of = *task.drawn.constraints()[objective];
        return of.left(at) * (of.op == anycsp::LE || of.op == anycsp::LT ? 1 : -1);
    };
    int64_t best = INT64_MAX;
    if (bytes.rarely(3)) {
        const bool known = objective >= 0 && !task.solutions.empty() && bytes.flag();
        const Positions at = known ? bytes.pick(task.solutions) : task.drawn.draw_positions(bytes);
        tree.suggest(at.data(), known);
        if (known) best = left(at);
    }
    exhaust(tree, task, [&](const Positions& at) {
        if (objective < 0) return;
        EXPECT(left(at) < best);
        best = left(at);
    });
    EXPECT(tree.has_solution() == !task.solutions.empty());
    if (objective >= 0)
        for (const Positions& solution : task.solutions) EXPECT(left(solution) >= best);
    else
        check_learnt(task, tree);
}

void check_enumeration(const Task& task, Bytes& bytes) {
    std::vector<uint8_t> flagged;
    for (int32_t x = 0; x < task.problem->variables; ++x) flagged.push_back(!bytes.rarely(3));
    const auto part = [&](const Positions& at) {
        Positions result;
        for (size_t x = 0; x < flagged.size(); ++x)
            if (flagged[x]) result.push_back(at[x]);
        return result;
    };
    TreeSearch tree(task.network(true), std::vector<uint8_t>(task.problem->variables, 1), -1, bytes.byte());
    tree.enumerate(flagged);
    std::set<Positions> wanted, seen;
    for (const Positions& solution : task.solutions) wanted.insert(part(solution));
    exhaust(tree, task, [&](const Positions& at) { EXPECT(seen.insert(part(at)).second); });
    EXPECT(seen == wanted);
}

}  // namespace
}  // namespace fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace fuzzing;
    Bytes bytes(data, size);
    const Drawn drawn(bytes);
    const Task task(bytes, drawn);
    switch (bytes.below(3)) {
        case 0: check_network(task, bytes); break;
        case 1: check_tree(task, bytes); break;
        default: check_enumeration(task, bytes); break;
    }
    return 0;
}
