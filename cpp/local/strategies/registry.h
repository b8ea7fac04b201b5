// The strategies there are.
#pragma once

#include <memory>
#include <string>

#include "local/run.h"

namespace anycsp::local {

struct StrategyDefinition {
    const char* name;
    std::unique_ptr<Strategy> (*make)(Run&, Parameters&);
    bool costs_on_demand = false;  // of constraints that are dear to keep up (MoveIndex::others)
    int64_t slice = 1 << 12;       // moves of a run before another gets its turn: a few milliseconds
};

// Throws std::invalid_argument where the name is none.
const StrategyDefinition& strategy_named(const std::string& name);

}  // namespace anycsp::local
