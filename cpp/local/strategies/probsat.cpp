// probSAT (Balint and Schöning 2012), break only: in a random violated constraint a move is drawn with probability
// proportional to f(break), f(b) = (eps + b)^-cb for clauses of up to three literals, cb^-b for longer ones, with
// the published constants by clause length.
//
// Made for clauses; breaks are counted, not weighted. In other families "break" counts the constraint itself while
// the move does not repair it.
#include <algorithm>
#include <cmath>

#include "local/run.h"
#include "local/strategies/focus.h"

namespace anycsp::local {
namespace {

constexpr unsigned kFeatures = kCounts | kViolated;

class ProbSat : public Stepping<ProbSat> {
  public:
    ProbSat(Run& run, Parameters& parameters) : Stepping(run) {
        const MoveIndex& index = run.state.index();
        int32_t arity = 0, candidates = 1;
        for (int32_t c = 0; c < index.problem->constraints; ++c) {
            arity = std::max(arity, index.arity(c));
            int32_t moves = 0;
            for (int32_t s = index.problem->scope_start[c]; s < index.problem->scope_start[c + 1]; ++s)
                moves += index.problem->domain_size(index.problem->scope[s]) - 1;
            candidates = std::max(candidates, moves);
        }
        const double cb = parameters.get("cb", published(arity), 0.0, 1e3);
        const double eps = parameters.get("eps", 0.9, 1e-9, 1e3);
        int32_t degree = 0;
        for (int32_t x = 0; x < index.problem->variables; ++x)
            degree =
                std::max(degree, index.problem->variable_slot_start[x + 1] - index.problem->variable_slot_start[x]);
        for (int32_t b = 0; b <= std::min(degree, kLongest); ++b)
            chance_.push_back(arity <= 3 ? std::pow(eps + b, -cb) : std::pow(cb, -b));
        cumulative_.resize(candidates);
        value_.resize(candidates);
    }

    std::vector<Weight> weights() const override { return std::vector<Weight>(state_.index().problem->constraints, 1); }
    void begin() override {}

    void step() {
        const IndexSet& violated = state_.violated();
        const int32_t constraint = violated[random_.below(violated.size())];
        const Weight* cost = state_.cost().data();
        const Weight last = static_cast<Weight>(chance_.size()) - 1;
        double total = 0.0;
        int32_t moves = 0;
        each_repair(state_, constraint, [&](int32_t, int32_t, int32_t value) {
            total += chance_[std::min(cost[value], last)];
            value_[moves] = value;
            cumulative_[moves++] = total;
        });
        if (moves == 0) return;
        const double drawn = random_.uniform() * total;
        int32_t chosen = 0;
        while (chosen + 1 < moves && cumulative_[chosen] <= drawn) ++chosen;
        const int32_t x = state_.index().value_variable[value_[chosen]];
        run_.move<kFeatures>(x, value_[chosen] - state_.index().problem->value_start[x]);
    }

  private:
    static constexpr int32_t kLongest = 4096;

    static double published(int32_t arity) {
        if (arity <= 3) return 2.06;
        if (arity == 4) return 3.0;
        if (arity == 5) return 3.7;
        if (arity == 6) return 5.0;
        return 5.4;
    }

    std::vector<double> chance_;      // f by break
    std::vector<double> cumulative_;  // of the candidates of one step
    std::vector<int32_t> value_;
};

}  // namespace

std::unique_ptr<Strategy> make_probsat(Run& run, Parameters& parameters) {
    return std::make_unique<ProbSat>(run, parameters);
}

}  // namespace anycsp::local
