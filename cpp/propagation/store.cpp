#include "propagation/store.h"

#include <algorithm>

namespace anycsp::propagation {

Store::Store(const Problem& problem) : problem_(problem) {
    const int32_t n = problem.variables;
    domain_.assign(n + 1, 0);
    for (int32_t x = 0; x < n; ++x) domain_[x + 1] = domain_[x] + (problem.domain_size(x) + 63) / 64;
    cells_.assign(domain_[n], 0);
    extent_.resize(n);
    ascending_.assign(n, 1);
    order_.resize(n);
    place_.resize(n);
    events_.assign(n, 0);
    changed_by_.assign(n, -1);
    for (int32_t x = 0; x < n; ++x) {
        const int32_t size = problem.domain_size(x);
        for (int32_t v = 0; v < size; ++v) cells_[domain_[x] + (v >> 6)] |= uint64_t(1) << (v & 63);
        for (int32_t v = 1; v < size; ++v)
            if (value(x, v - 1) > value(x, v)) ascending_[x] = 0;
        extent_[x] = {size, 0, size - 1};
        order_[x] = place_[x] = x;
    }
    unfixed_count_ = n;
    cell_stamp_.assign(cells_.size(), 0);
    extent_stamp_.assign(n, 0);
    for (int32_t x = 0; x < n; ++x) note(x, kDomain | kBound | (extent_[x].size == 1 ? kFixed : 0));
}

int64_t Store::extreme(int32_t x, bool greatest) const {
    int64_t result = value(x, first(x));
    for_each(*this, x,
             [&](int32_t v) { result = greatest ? std::max(result, value(x, v)) : std::min(result, value(x, v)); });
    return result;
}

int32_t Store::next(int32_t x, int32_t position) const {
    if (position >= last(x)) return -1;
    const uint64_t* word = bits(x);
    int32_t w = (position + 1) >> 6;
    uint64_t rest = word[w] & (~uint64_t(0) << ((position + 1) & 63));
    while (!rest) rest = word[++w];
    return w * 64 + __builtin_ctzll(rest);
}

void Store::note(int32_t x, uint8_t events) {
    if (!events_[x]) {
        changed_.push_back(x);
        changed_by_[x] = running;
    } else if (changed_by_[x] != running) {
        changed_by_[x] = -1;
    }
    events_[x] |= events;
    if (events & kFixed) {
        const int32_t last = order_[--unfixed_count_], hole = place_[x];
        std::swap(order_[hole], order_[unfixed_count_]);
        place_[last] = hole;
        place_[x] = unfixed_count_;
    }
}

void Store::record(bool wanted) {
    recording_ = wanted;
    trail_.clear();
    passed_on = 0;
    if (!wanted) return;
    const int32_t n = problem_.variables;
    if (variable_of_.empty()) {
        variable_of_.resize(problem_.values());
        for (int32_t x = 0; x < n; ++x)
            std::fill(variable_of_.begin() + problem_.value_start[x],
                      variable_of_.begin() + problem_.value_start[x + 1], x);
    }
    fixed_at_.assign(n, kAtRoot);
    removed_at_.resize(problem_.values());
    for (int32_t x = 0; x < n; ++x)
        for (int32_t v = 0; v < problem_.domain_size(x); ++v) removed_at_[vertex(x, v)] = has(x, v) ? kNever : kAtRoot;
}

void Store::record_removals(int32_t x, int32_t word, uint64_t gone) {
    const bool root = levels_.empty();
    for (; gone; gone &= gone - 1) {
        const int32_t v = vertex(x, word * 64 + __builtin_ctzll(gone));
        removed_at_[v] = root ? kAtRoot : static_cast<int32_t>(trail_.size());
        trail_.push_back({v, level(), reason});
    }
}

// The bits are as they should be: bring size, first and last up to date.
bool Store::shrunk(int32_t x, int32_t size) {
    save_extent(x);
    Extent& extent = extent_[x];
    extent.size = size;
    if (size == 0) {
        emptied_ = x;
        return false;
    }
    uint8_t events = kDomain;
    const uint64_t* word = bits(x);
    if (!has(x, extent.first)) {
        int32_t w = extent.first >> 6;
        while (!word[w]) ++w;
        extent.first = w * 64 + __builtin_ctzll(word[w]);
        events |= kBound;
    }
    if (!has(x, extent.last)) {
        int32_t w = extent.last >> 6;
        while (!word[w]) --w;
        extent.last = w * 64 + 63 - __builtin_clzll(word[w]);
        events |= kBound;
    }
    if (!ascending_[x]) events |= kBound;
    if (size == 1) {
        events |= kFixed;
        if (recording_) fixed_at_[x] = levels_.empty() ? kAtRoot : static_cast<int32_t>(trail_.size()) - 1;
    }
    note(x, events);
    return true;
}

bool Store::remove(int32_t x, int32_t position) {
    if (!has(x, position)) return true;
    const int32_t i = domain_[x] + (position >> 6);
    save(i);
    const uint64_t gone = uint64_t(1) << (position & 63);
    cells_[i] &= ~gone;
    if (recording_) record_removals(x, position >> 6, gone);
    return shrunk(x, extent_[x].size - 1);
}

bool Store::fix(int32_t x, int32_t position) {
    if (!has(x, position)) return false;
    if (extent_[x].size == 1) return true;
    for (int32_t w = first(x) >> 6; w <= last(x) >> 6; ++w) {
        const uint64_t kept = w == position >> 6 ? uint64_t(1) << (position & 63) : 0;
        const uint64_t before = cells_[domain_[x] + w];
        if (before == kept) continue;
        set_cell(domain_[x] + w, kept);
        if (recording_) record_removals(x, w, before & ~kept);
    }
    return shrunk(x, 1);
}

bool Store::keep(int32_t x, const uint64_t* mask) {
    int32_t size = 0;
    bool changed = false;
    for (int32_t w = first(x) >> 6; w <= last(x) >> 6; ++w) {
        const int32_t i = domain_[x] + w;
        const uint64_t kept = cells_[i] & mask[w];
        if (kept != cells_[i]) {
            if (recording_) record_removals(x, w, cells_[i] & ~kept);
            set_cell(i, kept);
            changed = true;
        }
        size += __builtin_popcountll(kept);
    }
    return changed ? shrunk(x, size) : true;
}

template <class Drop>
bool Store::drop_where(int32_t x, Drop drop) {
    int32_t size = extent_[x].size;
    const int32_t from = first(x) >> 6, to = last(x) >> 6;
    for (int32_t w = from; w <= to; ++w) {
        uint64_t kept = cells_[domain_[x] + w];
        for (uint64_t rest = kept; rest; rest &= rest - 1) {
            const int32_t v = w * 64 + __builtin_ctzll(rest);
            if (drop(v)) {
                kept &= ~(rest & -rest);
                --size;
            }
        }
        const uint64_t before = cells_[domain_[x] + w];
        if (kept == before) continue;
        set_cell(domain_[x] + w, kept);
        if (recording_) record_removals(x, w, before & ~kept);
    }
    return size == extent_[x].size ? true : shrunk(x, size);
}

// Remove the positions from … to − 1, not all that are left.
bool Store::clear(int32_t x, int32_t from, int32_t to) {
    int32_t size = extent_[x].size;
    for (int32_t w = from >> 6; w <= (to - 1) >> 6; ++w) {
        uint64_t mask = ~uint64_t(0);
        if (w == from >> 6) mask &= ~uint64_t(0) << (from & 63);
        if (w == (to - 1) >> 6) mask &= ~uint64_t(0) >> (63 - ((to - 1) & 63));
        const int32_t i = domain_[x] + w;
        const uint64_t gone = cells_[i] & mask;
        if (!gone) continue;
        size -= __builtin_popcountll(gone);
        set_cell(i, cells_[i] & ~gone);
        if (recording_) record_removals(x, w, gone);
    }
    return size == extent_[x].size ? true : shrunk(x, size);
}

bool Store::between(int32_t x, int32_t from, int32_t to) {
    if (from > last(x) || to <= first(x) || from >= to) return false;
    if (from > first(x)) {
        if (next(x, from - 1) >= to || next(x, from - 1) < 0) return false;
        if (!clear(x, first(x), from)) return false;
    }
    if (to > last(x)) return true;
    if (first(x) >= to) return false;
    return clear(x, to, last(x) + 1);
}

bool Store::at_least(int32_t x, int64_t bound) {
    if (low(x) >= bound) return true;
    if (high(x) < bound) return false;
    if (!ascending_[x]) return drop_where(x, [&](int32_t v) { return value(x, v) < bound; });
    const int64_t* own = problem_.value.data() + problem_.value_start[x];
    return clear(x, first(x), static_cast<int32_t>(std::lower_bound(own + first(x), own + last(x) + 1, bound) - own));
}

bool Store::at_most(int32_t x, int64_t bound) {
    if (high(x) <= bound) return true;
    if (low(x) > bound) return false;
    if (!ascending_[x]) return drop_where(x, [&](int32_t v) { return value(x, v) > bound; });
    const int64_t* own = problem_.value.data() + problem_.value_start[x];
    return clear(x, static_cast<int32_t>(std::upper_bound(own + first(x), own + last(x) + 1, bound) - own),
                 last(x) + 1);
}

int32_t Store::position_of(int32_t x, int64_t integer) const {
    const int64_t* begin = problem_.value.data() + problem_.value_start[x];
    const int64_t* end = problem_.value.data() + problem_.value_start[x + 1];
    const int64_t* found = ascending_[x] ? std::lower_bound(begin, end, integer) : std::find(begin, end, integer);
    return found != end && *found == integer ? static_cast<int32_t>(found - begin) : -1;
}

bool Store::remove_value(int32_t x, int64_t integer) {
    const int32_t position = position_of(x, integer);
    return position < 0 || remove(x, position);
}

int32_t Store::new_cells(int32_t count, uint64_t content) {
    const int32_t first = static_cast<int32_t>(cells_.size());
    cells_.resize(cells_.size() + count, content);
    cell_stamp_.resize(cells_.size(), 0);
    return first;
}

void Store::push() {
    if (levels_.empty()) {  // the root is never undone
        saved_cells_.clear();
        saved_extents_.clear();
        trail_.clear();
        passed_on = 0;
    }
    levels_.push_back({saved_cells_.size(), saved_extents_.size(), trail_.size(), unfixed_count_});
    stamp_ = next_stamp_++;
}

void Store::pop() {
    const Level level = levels_.back();
    levels_.pop_back();
    while (saved_cells_.size() > level.cells) {
        cells_[saved_cells_.back().index] = saved_cells_.back().content;
        saved_cells_.pop_back();
    }
    while (saved_extents_.size() > level.extents) {
        extent_[saved_extents_.back().variable] = saved_extents_.back().content;
        saved_extents_.pop_back();
    }
    for (; trail_.size() > level.trail; trail_.pop_back()) removed_at_[trail_.back().vertex] = kNever;
    passed_on = std::min(passed_on, trail_.size());
    unfixed_count_ = level.unfixed;
    emptied_ = -1;
    stamp_ = next_stamp_++;  // what the level below has saved is not known any more: saving twice is harmless
    forget_changes();
}

Store::Change Store::take_change() {
    const int32_t x = changed_.back();
    changed_.pop_back();
    const Change change{x, changed_by_[x], events_[x]};
    events_[x] = 0;
    return change;
}

void Store::forget_changes() {
    for (int32_t x : changed_) events_[x] = 0;
    changed_.clear();
}

}  // namespace anycsp::propagation
