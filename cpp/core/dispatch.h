// Which of the kernels' instruction sets there are.
#pragma once

#include <vector>

#include "neural/kernels.h"

namespace anycsp {

// What this build and this processor both have, slowest first; `kernels()` is the one in use.
const std::vector<const Kernels*>& levels();

}  // namespace anycsp
