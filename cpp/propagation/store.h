// Domains that shrink and come back: what propagation removes, a search undoes level by level.
//
// A domain is a row of bits over the positions of its variable, with its size and its first and last position beside it.
// Every 64-bit cell, also those that a propagator keeps for itself, is saved once per level before it changes. Where a
// search learns from its conflicts, every removed value is recorded with its reason.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.h"

namespace anycsp::propagation {

enum Event : uint8_t { kDomain = 1, kBound = 2, kFixed = 4 };

// Why a value went.
enum class Cause : uint8_t {
    decision,    // its variable was decided to be elsewhere
    propagator,  // `of` in the network
    clause,      // `of` among those of the problem
    learnt,      // `of` among those learnt
    value,       // the value vertex `of` was taken
};
struct Reason {
    Cause cause = Cause::decision;
    int32_t of = -1;
};
struct Removal {
    int32_t vertex;  // of the value
    int32_t level;
    Reason reason;
};

class Store {
  public:
    explicit Store(const Problem& problem);
    Store(const Store&) = delete;

    const Problem& problem() const { return problem_; }

    // ── domains ──────────────────────────────────────────────────────────────────────────────────────────────────
    int32_t size(int32_t x) const { return extent_[x].size; }
    bool fixed(int32_t x) const { return extent_[x].size == 1; }
    int32_t first(int32_t x) const { return extent_[x].first; }
    int32_t last(int32_t x) const { return extent_[x].last; }
    bool has(int32_t x, int32_t position) const { return cells_[domain_[x] + (position >> 6)] >> (position & 63) & 1; }
    int32_t words(int32_t x) const { return domain_[x + 1] - domain_[x]; }
    const uint64_t* bits(int32_t x) const { return cells_.data() + domain_[x]; }
    int64_t value(int32_t x, int32_t position) const { return problem_.value[problem_.value_start[x] + position]; }
    // The least and the greatest integer left.
    int64_t low(int32_t x) const { return ascending_[x] ? value(x, first(x)) : extreme(x, false); }
    int64_t high(int32_t x) const { return ascending_[x] ? value(x, last(x)) : extreme(x, true); }
    // The next position left after `position`, or −1.
    int32_t next(int32_t x, int32_t position) const;

    // Each returns false where nothing would be left; then the level has to be undone.
    bool remove(int32_t x, int32_t position);
    bool fix(int32_t x, int32_t position);
    bool at_least(int32_t x, int64_t bound);
    bool at_most(int32_t x, int64_t bound);
    // Keep only the positions set in `mask`, words(x) long.
    bool keep(int32_t x, const uint64_t* mask);
    // Keep only the positions from … to − 1.
    bool between(int32_t x, int32_t from, int32_t to);
    // Remove the position that stands for an integer, if there is one.
    bool remove_value(int32_t x, int64_t integer);
    // The position of an integer in the whole domain, or −1.
    int32_t position_of(int32_t x, int64_t integer) const;

    // ── cells of propagators ─────────────────────────────────────────────────────────────────────────────────────
    int32_t new_cells(int32_t count, uint64_t content);
    uint64_t cell(int32_t i) const { return cells_[i]; }
    const uint64_t* cells(int32_t i) const { return cells_.data() + i; }
    void set_cell(int32_t i, uint64_t content) {
        save(i);
        cells_[i] = content;
    }

    // ── levels ───────────────────────────────────────────────────────────────────────────────────────────────────
    int32_t level() const { return static_cast<int32_t>(levels_.size()); }
    void push();
    void pop();

    // ── what changed ─────────────────────────────────────────────────────────────────────────────────────────────
    bool any_changed() const { return !changed_.empty(); }
    struct Change {
        int32_t variable, by;  // `by`: the propagator that alone changed it, or −1
        uint8_t events;
    };
    Change take_change();
    void forget_changes();
    int32_t running = -1;  // the propagator at work

    // ── why values went ──────────────────────────────────────────────────────────────────────────────────────────
    // From now on, or no longer; at the root only.
    void record(bool wanted);
    bool recording() const { return recording_; }
    Reason reason;  // of what is removed next
    const std::vector<Removal>& trail() const { return trail_; }
    size_t passed_on = 0;  // so many of them are known to the clauses
    // Where a value's removal is in the trail; kAtRoot where it needs no reason, kNever where it is left.
    static constexpr int32_t kAtRoot = -1, kNever = INT32_MAX;
    int32_t removed_at(int32_t vertex) const { return removed_at_[vertex]; }
    // Of a fixed variable: the removal that fixed it.
    int32_t fixed_at(int32_t x) const { return fixed_at_[x]; }
    int32_t variable_of(int32_t vertex) const { return variable_of_[vertex]; }
    int32_t vertex(int32_t x, int32_t position) const { return problem_.value_start[x] + position; }
    // Where in the trail a level begins.
    int32_t trail_start(int32_t level) const { return static_cast<int32_t>(levels_[level - 1].trail); }
    // The variable that has no value left, or −1.
    int32_t emptied() const { return emptied_; }

    // The variables not fixed are unfixed(0) … unfixed(unfixed_count() − 1).
    int32_t unfixed_count() const { return unfixed_count_; }
    int32_t unfixed(int32_t i) const { return order_[i]; }

  private:
    struct Extent {
        int32_t size, first, last;
    };
    struct SavedCell {
        int32_t index;
        uint64_t content;
    };
    struct SavedExtent {
        int32_t variable;
        Extent content;
    };
    struct Level {
        size_t cells, extents, trail;
        int32_t unfixed;
    };

    void save(int32_t i) {
        if (cell_stamp_[i] == stamp_) return;
        cell_stamp_[i] = stamp_;
        saved_cells_.push_back({i, cells_[i]});
    }
    void save_extent(int32_t x) {
        if (extent_stamp_[x] == stamp_) return;
        extent_stamp_[x] = stamp_;
        saved_extents_.push_back({x, extent_[x]});
    }
    int64_t extreme(int32_t x, bool greatest) const;
    void record_removals(int32_t x, int32_t word, uint64_t gone);
    bool shrunk(int32_t x, int32_t size);
    bool clear(int32_t x, int32_t from, int32_t to);
    void note(int32_t x, uint8_t events);
    template <class Drop>
    bool drop_where(int32_t x, Drop drop);

    const Problem& problem_;
    std::vector<int32_t> domain_;  // [variables + 1] the first cell of a domain
    std::vector<uint8_t> ascending_;
    std::vector<Extent> extent_;
    std::vector<uint64_t> cells_;
    std::vector<uint32_t> cell_stamp_, extent_stamp_;
    uint32_t stamp_ = 1, next_stamp_ = 2;
    std::vector<SavedCell> saved_cells_;
    std::vector<SavedExtent> saved_extents_;
    std::vector<Level> levels_;
    std::vector<int32_t> changed_, changed_by_;
    std::vector<uint8_t> events_;
    std::vector<int32_t> order_, place_;
    int32_t unfixed_count_ = 0;
    bool recording_ = false;
    std::vector<Removal> trail_;
    std::vector<int32_t> removed_at_, variable_of_;  // [values], while recording
    std::vector<int32_t> fixed_at_;                  // [variables], while recording
    int32_t emptied_ = -1;
};

// All positions left of a variable, in order.
template <class Visit>
inline void for_each(const Store& store, int32_t x, Visit visit) {
    const uint64_t* bits = store.bits(x);
    const int32_t end = store.last(x) >> 6;
    for (int32_t w = store.first(x) >> 6; w <= end; ++w)
        for (uint64_t rest = bits[w]; rest; rest &= rest - 1) visit(w * 64 + __builtin_ctzll(rest));
}

}  // namespace anycsp::propagation
