// The strategies of local search and the graph of invariants: after any number of moves what they keep equals a
// recount, and the best they report is what the definitions count.
#include <algorithm>

#include "drawn.h"
#include "expectations.h"
#include "invariants/search.h"
#include "local/search.h"
#include "propagation/network.h"

namespace fuzzing {
namespace {

using namespace anycsp;

constexpr double kForever = 1e9;
constexpr int32_t kMostMoves = 400;  // annealing measures its temperatures within these

Violation count(const Drawn& drawn, const Problem& p, const Positions& at, int32_t without = -1) {
    Violation sum;
    const auto& constraints = drawn.constraints();
    for (int32_t c = 0; c < p.constraints; ++c)
        if (c != without && !constraints[c]->holds(at)) sum.add({1, p.hard[c], p.weight[c], p.score[c]});
    return sum;
}

void expect_equal(const Violation& a, const Violation& b) {
    EXPECT(a.violated == b.violated && a.hard == b.hard && a.weight == b.weight && a.score == b.score);
}

void check_strategies(const Drawn& drawn, Bytes& bytes) {
    static const std::vector<std::string> strategies = {"annealing", "tabu",      "walksat", "probsat",
                                                        "ccls",      "weighting", "focused"};
    const auto problem = drawn.compile();
    const int32_t runs = bytes.between(1, 2);
    local::Search search(problem, bytes.pick(strategies), {}, runs, bytes.byte(), 1, {bytes.flag(), drawn.external()});
    Positions begin;
    for (int32_t run = 0; run < runs; ++run)
        for (int32_t position : drawn.draw_positions(bytes)) begin.push_back(position);
    const int64_t moves = bytes.below(kMostMoves);
    search.start(bytes.flag() ? begin.data() : nullptr, moves, kForever);
    for (int32_t i = bytes.between(1, 2); i > 0; --i) {
        search.advance(moves, kForever);
        for (const auto& run : search.runs()) {
            run->verify();
            const Violation best = count(drawn, *problem, run->best_positions());
            EXPECT(run->best_score() == best.score);
            expect_equal(run->improvements.back().violation, best);
            EXPECT(run->state.score() == count(drawn, *problem, run->positions()).score);
        }
    }
}

// The least the left side of the objective can be, or −1 times the most, over what violates nothing else.
void check_invariants(const Drawn& drawn, Bytes& bytes) {
    const auto problem = drawn.compile();
    const auto& constraints = drawn.constraints();
    std::vector<uint8_t> enforced, auxiliary;
    std::vector<int32_t> objectives{-1};
    for (int32_t c = 0; c < problem->constraints; ++c) {
        enforced.push_back(!bytes.rarely(3));
        if (constraints[c]->left && constraints[c]->op != EQ && constraints[c]->op != NE) objectives.push_back(c);
    }
    for (int32_t x = 0; x < problem->variables; ++x) auxiliary.push_back(bytes.rarely(3));
    const int32_t objective = bytes.pick(objectives);
    std::vector<uint8_t> kept(problem->values(), 1);
    if (bytes.flag()) {  // what propagation leaves, as Python asks for it
        std::vector<uint8_t> must = enforced;
        if (objective >= 0) must[objective] = 0;
        propagation::Network network(problem, drawn.arrays(), must, drawn.external());
        if (network.propagate())
            for (int32_t x = 0; x < problem->variables; ++x)
                for (int32_t v = 0; v < problem->domain_size(x); ++v)
                    kept[problem->value_start[x] + v] = network.store().has(x, v);
    }
    const auto model = std::make_shared<invariants::Model>(problem, drawn.arrays(), enforced, auxiliary, kept,
                                                           objective, drawn.external());
    invariants::Search search(model, bytes.byte(), 0);
    const Positions begin = drawn.draw_positions(bytes);
    search.start(bytes.flag() ? begin.data() : nullptr);
    const auto left = [&](const Positions& at) {
        const Constraint& of = *constraints[objective];
        return of.left(at) * (of.op == LE || of.op == LT ? 1 : -1);
    };
    for (int32_t i = bytes.between(1, 3); i > 0; --i) {
        search.advance(bytes.below(kMostMoves), kForever);
        search.verify();
        expect_equal(search.now(), count(drawn, *problem, search.positions(), objective));
        expect_equal(search.best(), count(drawn, *problem, search.best_positions(), objective));
        if (objective < 0) continue;
        EXPECT(search.objective() == left(search.positions()));
        EXPECT(search.best().score > 0 || search.best_objective() == left(search.best_positions()));
        if (bytes.flag()) search.learn(drawn.draw_positions(bytes).data());
    }
}

}  // namespace
}  // namespace fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace fuzzing;
    Bytes bytes(data, size);
    const Drawn drawn(bytes);
    if (bytes.flag())
        check_strategies(drawn, bytes);
    else
        check_invariants(drawn, bytes);
    return 0;
}
