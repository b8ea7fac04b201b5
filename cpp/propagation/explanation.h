// Why a value went, or why nothing is left: literals that held by then and imply it by one constraint.
//
// A literal is the vertex of a value: q says that its variable is not there, ~q that it is.
#pragma once

#include <vector>

#include "propagation/store.h"

namespace anycsp::propagation {

using Literal = int32_t;
inline Literal not_at(int32_t vertex) { return vertex; }
inline Literal at(int32_t vertex) { return ~vertex; }
inline int32_t vertex_of(Literal literal) { return literal < 0 ? ~literal : literal; }

class Explanation {
  public:
    explicit Explanation(const Store& store) : store(store) {}

    const Store& store;
    int32_t before = 0;  // only what comes earlier in the trail counts
    std::vector<Literal> literals;
    int64_t work = 0;  // operations evaluated to find them, until somebody counts them

    void begin(int32_t index) {
        before = index;
        literals.clear();
    }
    // The variable as it was then.
    bool had(int32_t y, int32_t position) const { return store.removed_at(store.vertex(y, position)) >= before; }
    bool was_fixed(int32_t y) const { return store.fixed(y) && store.fixed_at(y) < before; }

    // It had lost this position.
    void gone(int32_t y, int32_t position) {
        const int32_t vertex = store.vertex(y, position);
        if (store.removed_at(vertex) != Store::kAtRoot) literals.push_back(not_at(vertex));
    }
    // It was fixed.
    void fixed(int32_t y) {
        if (store.fixed_at(y) != Store::kAtRoot) literals.push_back(at(store.vertex(y, store.first(y))));
    }
    // All that had happened to it.
    void everything(int32_t y) {
        if (was_fixed(y)) return fixed(y);
        for (int32_t v = 0; v < store.problem().domain_size(y); ++v)
            if (!had(y, v)) gone(y, v);
    }
};

}  // namespace anycsp::propagation
