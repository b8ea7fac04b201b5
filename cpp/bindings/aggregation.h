// The aggregations as Python calls them.
#pragma once

#include <stdexcept>
#include <string>

#include "neural/kernels.h"

namespace anycsp {

inline Aggregation aggregation_of(const std::string& name) {
    if (name == "sum") return Aggregation::sum;
    if (name == "mean") return Aggregation::mean;
    if (name == "max") return Aggregation::max;
    throw std::invalid_argument("unknown aggregation " + name);
}

}  // namespace anycsp
