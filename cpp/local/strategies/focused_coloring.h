// Focused search (focused.cpp) on a graph to be coloured: nothing but `≠` of equal weight and few colours. Near the
// threshold of random graphs it takes 10⁹ proposals, so a vertex is one word: how many neighbours have each colour, and
// its own. The whole graph of some thousand vertices stays in the first-level cache.
#pragma once

#include <cstdint>
#include <vector>

#include "local/run.h"

namespace anycsp::local {

class FocusedColoring : public Strategy {
  public:
    // Whether the problem is one: every constraint is between two variables, weighs the same and is violated where
    // both have the same value, and the words can count the neighbours.
    static bool fits(const MoveIndex& index);

    FocusedColoring(Run& run, double eta);

    void begin() override;
    void advance(int64_t count) override;
    void settle() override;

  private:
    struct Neighbour {
        uint32_t vertex, edge;
    };

    uint32_t shift(int32_t x, int32_t position) const;
    void recolor(uint32_t x, uint32_t from, uint32_t to);

    const Problem& problem_;
    const int64_t least_;    // the value of the first colour
    const uint32_t colors_;  // from there on
    const uint32_t bits_;    // of a word, for each of them

    std::vector<int32_t> start_;  // [vertices + 1] into neighbours_
    std::vector<Neighbour> neighbours_;
    std::vector<uint64_t> ends_;  // [edges] both vertices, 32 bits each
    std::vector<uint64_t> free_;  // [vertices] the word without any neighbour or colour
    // By vertex: from the lowest bits on the neighbours of each colour, in the highest byte the place of its own.
    std::vector<uint64_t> word_;
    std::vector<uint32_t> violated_, place_;  // edges of one colour, and where each is among them
    uint32_t violations_ = 0, fewest_ = 0;
    std::vector<uint32_t> mended_, broken_;  // edges, while a vertex is recoloured
    std::vector<uint32_t> changed_;          // vertices that may differ from the run's state, unless there are too many
    size_t changes_ = 0;
    std::vector<uint32_t> chance_;  // of a move by what it adds to the violations, in 2⁻³²; the middle one of 0
};

}  // namespace anycsp::local
