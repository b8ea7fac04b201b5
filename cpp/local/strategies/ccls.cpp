// Configuration checking with make (CCLS, Luo et al. 2015), over any domain: of the variables of violated constraints
// whose surroundings changed since they last moved, the one with the largest gain, of equals the one that has rested
// longest; with probability `walk`, and where there is none, a random move in a random violated constraint.
#include "local/run.h"
#include "local/strategies/focus.h"

namespace anycsp::local {
namespace {

constexpr unsigned kFeatures = kCounts | kViolated | kConflicted;

class Ccls : public Stepping<Ccls> {
  public:
    Ccls(Run& run, Parameters& parameters)
        : Stepping(run), problem_(*run.state.index().problem), walk_(parameters.get("walk", 0.2, 0.0, 1.0)) {}

    void begin() override {
        changed_.assign(problem_.variables, 1);
        last_move_.assign(problem_.variables, 0);
    }

    void step() {
        int32_t variable = -1, position = 0;
        if (random_.uniform() >= walk_) {
            Weight most = 0;
            const IndexSet& candidates = state_.conflicted();
            for (int32_t k = 0; k < candidates.size(); ++k) {
                const int32_t x = candidates[k];
                if (!changed_[x] || problem_.domain_size(x) == 1) continue;
                const auto [gain, to] = best_move(x);
                if (variable >= 0 && (gain < most || (gain == most && last_move_[x] >= last_move_[variable]))) continue;
                most = gain;
                variable = x;
                position = to;
            }
        }
        if (variable < 0) {
            const IndexSet& violated = state_.violated();
            int32_t seen = 0;
            each_repair(state_, violated[random_.below(violated.size())], [&](int32_t x, int32_t v, int32_t) {
                if (random_.below(++seen) != 0) return;
                variable = x;
                position = v;
            });
            if (variable < 0) return;  // a constraint that nothing can repair
        }
        move(variable, position);
    }

  private:
    std::pair<Weight, int32_t> best_move(int32_t x) const {
        const Weight* cost = state_.cost_of(x);
        const int32_t now = state_.position(x);
        int32_t best = now == 0 ? 1 : 0;
        for (int32_t v = best + 1; v < problem_.domain_size(x); ++v)
            if (v != now && cost[v] < cost[best]) best = v;
        return {cost[now] - cost[best], best};
    }

    void move(int32_t x, int32_t to) {
        run_.move<kFeatures>(x, to);
        last_move_[x] = run_.moves;
        for (int32_t k = problem_.variable_slot_start[x]; k < problem_.variable_slot_start[x + 1]; ++k) {
            const int32_t c = problem_.slot_constraint[problem_.variable_slot[k]];
            for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
                changed_[problem_.scope[s]] = 1;
        }
        changed_[x] = 0;
    }

    const Problem& problem_;
    const double walk_;
    std::vector<uint8_t> changed_;    // [variables] whether a neighbour moved since the variable last did
    std::vector<int64_t> last_move_;  // [variables]
};

}  // namespace

std::unique_ptr<Strategy> make_ccls(Run& run, Parameters& parameters) {
    return std::make_unique<Ccls>(run, parameters);
}

}  // namespace anycsp::local
