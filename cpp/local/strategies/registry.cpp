#include "local/strategies/registry.h"

#include <stdexcept>

namespace anycsp::local {

std::unique_ptr<Strategy> make_annealing(Run&, Parameters&);
std::unique_ptr<Strategy> make_tabu(Run&, Parameters&);
std::unique_ptr<Strategy> make_walksat(Run&, Parameters&);
std::unique_ptr<Strategy> make_probsat(Run&, Parameters&);
std::unique_ptr<Strategy> make_ccls(Run&, Parameters&);
std::unique_ptr<Strategy> make_weighting(Run&, Parameters&);
std::unique_ptr<Strategy> make_focused(Run&, Parameters&);

const StrategyDefinition& strategy_named(const std::string& name) {
    static const StrategyDefinition strategies[] = {
        {"annealing", make_annealing, true, 1 << 18},  // a move is a mere proposal
        {"tabu", make_tabu},
        {"walksat", make_walksat},
        {"probsat", make_probsat},
        {"ccls", make_ccls},
        {"weighting", make_weighting},
        {"focused", make_focused, false, 1 << 16},  // most moves are proposals that are refused
    };
    for (const StrategyDefinition& strategy : strategies)
        if (name == strategy.name) return strategy;
    throw std::invalid_argument("unknown strategy " + name);
}

}  // namespace anycsp::local
