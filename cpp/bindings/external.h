// Constraints that only Python can evaluate, as the compiled searches ask about them.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "core/problem.h"
#include "families/penalties.h"

namespace nb = nanobind;

namespace anycsp {

// The callable takes (constraint, positions of its scope as bytes of int32) and returns a byte for every edge.
inline ExternalLabels external_labels(const std::shared_ptr<Problem>& problem, nb::object callable) {
    if (callable.is_none()) return nullptr;
    return [problem, callable](int32_t constraint, const int32_t* positions, uint8_t* labels) {
        nb::gil_scoped_acquire hold;
        const int32_t first = problem->scope_start[constraint], last = problem->scope_start[constraint + 1];
        nb::bytes scope(reinterpret_cast<const char*>(positions), (last - first) * sizeof(int32_t));
        auto answer = nb::cast<nb::bytes>(callable(constraint, scope));
        const size_t edges = problem->edge_start[last] - problem->edge_start[first];
        if (answer.size() != edges) throw std::invalid_argument("an external constraint gave too many or few labels");
        std::copy_n(answer.c_str(), edges, labels);
    };
}

}  // namespace anycsp
