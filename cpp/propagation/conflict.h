// What a failure teaches: the clause of its first unique implication point (Marques-Silva & Sakallah 1999), found by
// replacing literals with their explanations from the end of the trail until one of the last level is left. Constraints
// explain themselves lazily, as in lazy clause generation (Ohrimenko, Stuckey & Codish 2009), but over domains of bits.
#pragma once

#include <vector>

#include "propagation/network.h"

namespace anycsp::propagation {

class Conflict {
  public:
    explicit Conflict(Network& network);

    // After a propagation that failed, with all that failed still in place. False: nothing is left whatever is decided.
    // The levels that had no part in it are undone.
    bool analyse();

    std::vector<Literal> clause;     // the first literal is the one to make true, the second of the level to go back to
    int32_t level = 0;               // where all literals but the first are false
    int32_t levels = 0;              // its literals depend on so many
    std::vector<int32_t> variables;  // that had a part in it
    int64_t effort = 0;              // literals looked at, over all conflicts

  private:
    int32_t index_of(Literal literal) const;
    void see(Literal literal);
    void replace_by_reasons(Literal literal);
    void count_effort();
    void finish(Literal last);
    bool is_redundant(Literal literal);
    void blame_decisions();

    Network& network_;
    Store& store_;
    Explanation why_;
    std::vector<uint8_t> seen_[2];  // [values]: "not there" and "there"
    std::vector<uint8_t> met_;      // [variables]
    std::vector<Literal> marked_, lower_, first_;
    int32_t open_ = 0;  // literals of the last level yet to be replaced
    std::vector<uint32_t> level_stamp_;
    uint32_t stamp_ = 0;
};

}  // namespace anycsp::propagation
