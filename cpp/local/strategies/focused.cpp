// Focused Metropolis search (Seitz, Alava and Orponen, 2005): a random violated constraint, a random variable of it and
// another value; the move is made with probability η^(what it adds to the violated weight). Annealing at one low
// temperature, but only where something is wrong: near the threshold of random problems it is the best walk known.
#include <algorithm>
#include <array>
#include <cmath>

#include "local/strategies/focus.h"
#include "local/strategies/focused_coloring.h"

namespace anycsp::local {
namespace {

constexpr unsigned kFeatures = kCounts | kViolated;
// A hard constraint far from holding may weigh so much that η^Δ is never drawn, and what is beyond never seen.
constexpr double kAnyway = 1.0 / 256;

class Focused : public Stepping<Focused> {
  public:
    Focused(Run& run, double eta) : Stepping(run), problem_(*run.state.index().problem), eta_(eta) {}

    void begin() override {
        // Weights are integers of some unit: the mean of those of one violated constraint is what η is about.
        double total = 0;
        for (Weight w : state_.weights()) total += double(w);
        scale_ = state_.weights().empty() ? 1.0 : std::max(1.0, total / double(state_.weights().size()));
        for (size_t k = 0; k < chance_.size(); ++k) chance_[k] = std::pow(eta_, double(k));
    }

    void step() {
        const IndexSet& violated = to_be_mended(state_, random_);
        const int32_t constraint = violated[random_.below(violated.size())];
        const int32_t begin = problem_.scope_start[constraint], arity = problem_.scope_start[constraint + 1] - begin;
        const int32_t x = problem_.scope[begin + random_.below(arity)], size = problem_.domain_size(x);
        if (size < 2) return;
        int32_t to = random_.below(size - 1);
        to += to >= state_.position(x);
        const Weight* cost = state_.cost_of(x);
        const Weight worse = cost[to] - cost[state_.position(x)];
        if (worse > 0 && random_.uniform() >= chance(worse)) return;
        run_.move<kFeatures>(x, to);
    }

  private:
    double chance(Weight worse) const {
        if (scale_ == 1.0 && worse < Weight(chance_.size())) return chance_[worse];
        return std::max(kAnyway, std::pow(eta_, double(worse) / scale_));
    }

    const Problem& problem_;
    const double eta_;
    double scale_ = 1.0;
    std::array<double, 64> chance_{};
};

}  // namespace

std::unique_ptr<Strategy> make_focused(Run& run, Parameters& parameters) {
    // The default is the best of 0.1 to 0.5 on 3- and 5-colourings of random graphs near their threshold.
    const double eta = parameters.get("eta", 0.3, 0.0, 1.0);
    if (FocusedColoring::fits(run.state.index())) return std::make_unique<FocusedColoring>(run, eta);
    return std::make_unique<Focused>(run, eta);
}

}  // namespace anycsp::local
