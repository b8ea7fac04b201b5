#include "local/strategies/focused_coloring.h"

#include <algorithm>
#include <cmath>

namespace anycsp::local {
namespace {

constexpr uint32_t kCountBits = 56;    // of a word; the highest byte says where a vertex's own colour is counted
constexpr uint32_t kMostColors = 8;    // with seven bits each
constexpr uint32_t kWidestCount = 10;  // bits, so that the table of chances is small

struct Range {
    int64_t least, most;
};

Range range_of_values(const Problem& problem) {
    Range range{INT64_MAX, INT64_MIN};
    for (int64_t v : problem.value) range = {std::min(range.least, v), std::max(range.most, v)};
    return range;
}

uint32_t bits_for(uint32_t colors) { return std::min(kWidestCount, kCountBits / colors); }

}  // namespace

bool FocusedColoring::fits(const MoveIndex& index) {
    const Problem& p = *index.problem;
    if (p.constraints == 0 || !index.simple || !index.clauses_at.empty() || !index.tables.empty()) return false;
    for (Weight w : index.score.of)
        if (w != index.score.of[0] || w <= 0) return false;
    const Range range = range_of_values(p);
    if (range.most - range.least >= int64_t(kMostColors)) return false;
    const int64_t most_neighbours = int64_t(1) << (bits_for(uint32_t(range.most - range.least) + 1) - 2);
    for (int32_t x = 0; x < p.variables; ++x) {
        if (index.matchings.end(x) - index.matchings.begin(x) >= most_neighbours) return false;
        for (const Partner* at = index.matchings.begin(x); at != index.matchings.end(x); ++at)
            for (int32_t v = 0; v < p.domain_size(x); ++v) {
                const int64_t* theirs = p.value.data() + at->first_value;
                const int64_t* equal = std::find(theirs, theirs + at->size, p.value[p.value_start[x] + v]);
                const int32_t conflicting = equal == theirs + at->size ? -1 : static_cast<int32_t>(equal - theirs);
                if (index.conflict[at->line + v] != conflicting) return false;
            }
    }
    return true;
}

FocusedColoring::FocusedColoring(Run& run, double eta)
    : Strategy(run),
      problem_(*run.state.index().problem),
      least_(range_of_values(problem_).least),
      colors_(static_cast<uint32_t>(range_of_values(problem_).most - least_) + 1),
      bits_(bits_for(colors_)),
      ends_(problem_.constraints),
      free_(problem_.variables),
      word_(problem_.variables),
      violated_(problem_.constraints),
      place_(problem_.constraints),
      changed_(problem_.variables) {
    const MoveIndex& index = state_.index();
    size_t most = 0;
    start_.push_back(0);
    for (int32_t x = 0; x < problem_.variables; ++x) {
        for (const Partner* at = index.matchings.begin(x); at != index.matchings.end(x); ++at) {
            neighbours_.push_back({uint32_t(at->variable), uint32_t(at->constraint)});
            if (x < at->variable) ends_[at->constraint] = uint64_t(x) | uint64_t(at->variable) << 32;
        }
        most = std::max(most, neighbours_.size() - start_.back());
        start_.push_back(static_cast<int32_t>(neighbours_.size()));
        // A colour that the vertex must not have looks as if twice as many neighbours had it as any vertex has.
        const uint64_t barrier = uint64_t(1) << (bits_ - 1);
        for (uint32_t color = 0; color < colors_; ++color) free_[x] |= barrier << (color * bits_);
        for (int32_t v = 0; v < problem_.domain_size(x); ++v) free_[x] ^= barrier << shift(x, v);
    }
    mended_.resize(most + 1);
    broken_.resize(most + 1);
    const int32_t widest = 1 << bits_;
    for (int32_t worse = -widest; worse < widest; ++worse) {
        const double chance = worse > int32_t(most) ? 0.0 : std::pow(eta, std::max(worse, 0));
        chance_.push_back(static_cast<uint32_t>(std::min(chance * 0x1p32, 0x1p32 - 1)));
    }
}

// Where in a word the neighbours of this colour are counted.
uint32_t FocusedColoring::shift(int32_t x, int32_t position) const {
    return static_cast<uint32_t>(problem_.value[problem_.value_start[x] + position] - least_) * bits_;
}

void FocusedColoring::begin() {
    for (int32_t x = 0; x < problem_.variables; ++x)
        word_[x] = free_[x] | uint64_t(shift(x, state_.position(x))) << kCountBits;
    for (int32_t x = 0; x < problem_.variables; ++x)
        for (int32_t i = start_[x]; i < start_[x + 1]; ++i)
            word_[neighbours_[i].vertex] += uint64_t(1) << shift(x, state_.position(x));
    violations_ = 0;
    for (int32_t k = 0; k < state_.violated().size(); ++k) {
        const uint32_t edge = state_.violated()[k];
        place_[edge] = violations_;
        violated_[violations_++] = edge;
    }
    fewest_ = violations_;
    changes_ = 0;
}

void FocusedColoring::advance(int64_t count) {
    const uint64_t field = (uint64_t(1) << bits_) - 1;
    const uint32_t* chance = chance_.data() + (int64_t(1) << bits_);
    for (int64_t done = 0; done < count && violations_ > 0; ++done) {
        ++run_.moves;
        // One draw for the edge (its upper half), and the end, the colour and the chance (its lower half).
        const uint64_t drawn = random_.next();
        const uint32_t edge = violated_[((drawn >> 32) * violations_) >> 32], rest = static_cast<uint32_t>(drawn);
        const uint32_t x = static_cast<uint32_t>(ends_[edge] >> ((rest & 1) << 5));
        const uint64_t choice = uint64_t(rest >> 1) * (colors_ - 1), word = word_[x];
        const uint32_t from = static_cast<uint32_t>(word >> kCountBits);
        uint32_t to = static_cast<uint32_t>(choice >> 31) * bits_;
        to += to >= from ? bits_ : 0;
        const int32_t worse = int32_t((word >> to) & field) - int32_t((word >> from) & field);
        if ((static_cast<uint32_t>(choice) << 1) >= chance[worse]) continue;
        recolor(x, from, to);
        if (violations_ < fewest_) {
            fewest_ = violations_;
            settle();
            if (run_.solved()) return;  // or on the way there
        }
    }
}

inline void FocusedColoring::recolor(uint32_t x, uint32_t from, uint32_t to) {
    changed_[changes_ < changed_.size() ? changes_ : 0] = x;
    changes_ += changes_ <= changed_.size();
    word_[x] ^= uint64_t(from ^ to) << kCountBits;
    // Which neighbours have the colour is hard to predict, so both lists are written without a branch.
    const uint64_t change = (uint64_t(1) << to) - (uint64_t(1) << from);
    uint32_t *mended = mended_.data(), *broken = broken_.data();
    for (int32_t i = start_[x], end = start_[x + 1]; i < end; ++i) {
        const Neighbour at = neighbours_[i];
        const uint64_t word = word_[at.vertex];
        word_[at.vertex] = word + change;
        const uint32_t color = static_cast<uint32_t>(word >> kCountBits);
        *mended = *broken = at.edge;
        mended += color == from;
        broken += color == to;
    }
    for (const uint32_t* edge = mended_.data(); edge != mended; ++edge) {
        const uint32_t hole = place_[*edge], last = violated_[--violations_];
        violated_[hole] = last;
        place_[last] = hole;
    }
    for (const uint32_t* edge = broken_.data(); edge != broken; ++edge) {
        place_[*edge] = violations_;
        violated_[violations_++] = *edge;
    }
}

void FocusedColoring::settle() {
    const auto bring = [&](int32_t x) {
        const int64_t value = least_ + int64_t(word_[x] >> kCountBits) / bits_;
        if (problem_.value[problem_.value_start[x] + state_.position(x)] == value) return;
        for (int32_t v = 0; v < problem_.domain_size(x); ++v)
            if (problem_.value[problem_.value_start[x] + v] == value) run_.move<kCounts | kViolated>(x, v);
    };
    if (changes_ > changed_.size())
        for (int32_t x = 0; x < problem_.variables; ++x) bring(x);
    else
        for (size_t k = 0; k < changes_; ++k) bring(static_cast<int32_t>(changed_[k]));
    changes_ = 0;
}

}  // namespace anycsp::local
