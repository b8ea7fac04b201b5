// WalkSAT with SKC noise (Selman, Kautz and Cohen), and MaxWalkSAT where constraints have weights: in a random
// violated constraint (mostly a hard one while there is any), a move that breaks nothing if there is one; else with
// probability `noise` any move, else the one that breaks the least weight.
//
// Made for clauses. In other families "breaks" counts the constraint itself while the move does not repair it.
#include "local/run.h"
#include "local/strategies/focus.h"

namespace anycsp::local {
namespace {

constexpr unsigned kFeatures = kCounts | kViolated;

class WalkSat : public Stepping<WalkSat> {
  public:
    WalkSat(Run& run, Parameters& parameters) : Stepping(run), noise_(parameters.get("noise", 0.5, 0.0, 1.0)) {}

    void begin() override {}

    void step() {
        const IndexSet& violated = to_be_mended(state_, random_);
        const int32_t constraint = violated[random_.below(violated.size())];
        const Weight* cost = state_.cost().data();
        Weight least = INT64_MAX;
        int32_t variable = -1, position = 0, ties = 0, moves = 0;
        each_repair(state_, constraint, [&](int32_t x, int32_t v, int32_t value) {
            ++moves;
            if (cost[value] > least) return;
            if (cost[value] < least) {
                least = cost[value];
                ties = 0;
            }
            if (++ties == 1 || random_.below(ties) == 0) {
                variable = x;
                position = v;
            }
        });
        if (variable < 0) return;
        if (least > 0 && random_.uniform() < noise_) {
            int32_t chosen = random_.below(moves);
            each_repair(state_, constraint, [&](int32_t x, int32_t v, int32_t) {
                if (chosen-- == 0) {
                    variable = x;
                    position = v;
                }
            });
        }
        run_.move<kFeatures>(variable, position);
    }

  private:
    const double noise_;
};

}  // namespace

std::unique_ptr<Strategy> make_walksat(Run& run, Parameters& parameters) {
    return std::make_unique<WalkSat>(run, parameters);
}

}  // namespace anycsp::local
