// Clauses learnt from conflicts, over literals of both kinds, with two watched literals each.
#pragma once

#include <vector>

#include "propagation/explanation.h"

namespace anycsp::propagation {

class Learnt {
  public:
    explicit Learnt(const Store& store) : watching_(2 * size_t(store.problem().values())) {}

    // The first literal is about to be made true, the second the last of the others to have become false.
    // `levels`: how many decisions its literals depend on; fewer is better.
    int32_t add(const std::vector<Literal>& literals, int32_t levels);
    // What has become false since the last call is passed on. False: `failed` is the clause that cannot hold.
    bool propagate(Store& store, int32_t& failed);
    static bool make_true(Store& store, Literal literal);
    // At the root: without what holds anyway, without the worse half where there are more than `most`, and watched
    // anew. False where one cannot hold.
    bool renew(Store& store, size_t most);

    size_t size() const { return clauses_.size(); }
    // Its literals but those of a variable.
    void explain(int32_t clause, int32_t x, Explanation& why);
    bool says(int32_t clause, Literal literal) const;
    const std::vector<Literal>& literals(int32_t clause) const { return clauses_[clause].literals; }

  private:
    struct Clause {
        std::vector<Literal> literals;
        int32_t levels;
        double activity;
    };
    struct Watch {
        int32_t clause;
        Literal other;  // where it holds the clause need not be looked at
    };
    // What has to become true for a literal to be false.
    std::vector<Watch>& watching(Literal literal) { return watching_[2 * size_t(vertex_of(literal)) + (literal < 0)]; }
    bool became_false(Store& store, Literal literal, int32_t& failed);
    static bool is_true(const Store& store, Literal literal) {
        const int32_t q = vertex_of(literal), x = store.variable_of(q), v = q - store.vertex(x, 0);
        return literal < 0 ? store.fixed(x) && store.has(x, v) : !store.has(x, v);
    }
    static bool is_false(const Store& store, Literal literal) { return is_true(store, ~literal); }

    std::vector<Clause> clauses_;
    std::vector<std::vector<Watch>> watching_;
    double bump_ = 1;
};

}  // namespace anycsp::propagation
