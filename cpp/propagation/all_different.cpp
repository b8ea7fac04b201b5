// All different: a value taken is nobody else's; then, where the scope is not too long, all values in no complete
// matching of variables and values are removed (Régin, AAAI 1994).
#include <algorithm>

#include "propagation/propagator.h"

namespace anycsp::propagation {
namespace {

// Which value (a bin) every position of every variable stands for, and back.
struct Bins {
    std::vector<int32_t> scope;
    int32_t count = 0;
    std::vector<const int32_t*> bin;    // by slot and position: the bin, counted from first_bin
    std::shared_ptr<const void> owner;  // of the bins, where the problem is not
    int32_t first_bin = 0;
    std::vector<std::vector<int32_t>> position;  // by slot and bin, −1 where a variable lacks the value
    std::vector<uint8_t> counts;                 // by bin: 0 for excepted values

    int32_t of(size_t slot, int32_t position_of_slot) const { return bin[slot][position_of_slot] - first_bin; }
    int32_t slot_of(int32_t x) const {
        return static_cast<int32_t>(std::find(scope.begin(), scope.end(), x) - scope.begin());
    }

    // Another variable had taken the value.
    bool explain_taken(int32_t x, int32_t position_of_x, Explanation& why) const {
        const int32_t own = of(slot_of(x), position_of_x);
        for (size_t s = 0; s < scope.size(); ++s) {
            const int32_t y = scope[s];
            if (y == x || !why.was_fixed(y) || of(s, why.store.first(y)) != own) continue;
            why.fixed(y);
            return true;
        }
        return false;
    }
};

class TakenValues : public Propagator {
  public:
    TakenValues(Store& store, int32_t constraint, std::shared_ptr<const Bins> bins)
        : Propagator(constraint, kCheap, kFixed, false), bins_(std::move(bins)) {
        scope = bins_->scope;
        order_.resize(scope.size());
        for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int32_t>(i);
        done_ = store.new_cells(1, 0);
    }

    // Slots order_[0 … done) are fixed and their values have been taken from the others.
    bool propagate(Store& store) override {
        auto done = static_cast<size_t>(store.cell(done_));
        const size_t before = done;
        for (bool more = true; more;) {
            more = false;
            for (size_t i = done; i < order_.size(); ++i) {
                const int32_t slot = order_[i], x = scope[slot];
                if (!store.fixed(x)) continue;
                std::swap(order_[i], order_[done++]);
                const int32_t bin = bins_->of(slot, store.first(x));
                if (!bins_->counts[bin]) continue;
                for (size_t k = done; k < order_.size(); ++k) {
                    const int32_t position = bins_->position[order_[k]][bin];
                    if (position >= 0 && !store.remove(scope[order_[k]], position)) return false;
                }
                more = true;
            }
        }
        if (done != before) store.set_cell(done_, done);
        return true;
    }

    void explain(int32_t x, int32_t position, Explanation& why) const override {
        if (x < 0 || !bins_->explain_taken(x, position, why)) Propagator::explain(x, position, why);
    }

  private:
    std::shared_ptr<const Bins> bins_;
    std::vector<int32_t> order_;
    int32_t done_;
};

class Matching : public Propagator {
  public:
    Matching(int32_t constraint, std::shared_ptr<const Bins> bins)
        : Propagator(constraint, kDear, kDomain, true), bins_(std::move(bins)) {
        scope = bins_->scope;
        taken_by_.assign(bins_->count, -1);
        takes_.assign(scope.size(), -1);
        longest_wait_ = bins_->count <= static_cast<int32_t>(scope.size()) ? 0 : kLongestWait;
    }

    // A matching seldom removes a value that taken values leave: where the last ones did not, the next waits longer. Where
    // there are no more values than variables it does so often, and decides whole squares (quasigroups with holes).
    bool propagate(Store& store) override {
        if (store.level() > 0 && waited_++ < interval_) return true;
        waited_ = 0;
        removed_ = false;
        const bool possible = match(store);
        interval_ = !possible || removed_ ? 0 : std::min(interval_ + 1, longest_wait_);
        return possible;
    }

    // With the value given to x, or at all, some of the others have fewer values between them than they are: what had
    // taken all further values from those.
    void explain(int32_t x, int32_t position, Explanation& why) const override {
        if (x >= 0 && bins_->explain_taken(x, position, why)) return;
        const auto slots = static_cast<int32_t>(scope.size());
        const int32_t own = x < 0 ? -1 : bins_->slot_of(x), given = x < 0 ? -1 : bins_->of(own, position);
        Hall hall{std::vector<int32_t>(slots, -1), std::vector<int32_t>(bins_->count, -1), {}, {}, {}};
        for (int32_t s = 0; s < slots; ++s) {  // the last matching, as far as it held then
            const int32_t bin = takes_[s];
            if (s == own || bin < 0 || bin == given || !why.had(scope[s], bins_->position[s][bin])) continue;
            hall.takes[s] = bin;
            hall.taken_by[bin] = s;
        }
        for (int32_t s = 0; s < slots; ++s) {
            if (s == own || hall.takes[s] >= 0 || find_place(hall, s, given, why)) continue;
            for (int32_t member : hall.queue) {
                const int32_t y = scope[member];
                if (why.was_fixed(y)) {
                    why.fixed(y);
                    continue;
                }
                for (int32_t v = 0; v < why.store.problem().domain_size(y); ++v) {
                    const int32_t bin = bins_->of(member, v);
                    if (bin != given && !hall.seen[bin]) why.gone(y, v);
                }
            }
            return;
        }
        Propagator::explain(x, position, why);
    }

  private:
    struct Hall {
        std::vector<int32_t> takes, taken_by, queue, came_from;
        std::vector<uint8_t> seen;
    };
    // A path to a free bin but `given`, in the domains of that time; else queue and seen hold those that are too many.
    bool find_place(Hall& hall, int32_t root, int32_t given, const Explanation& why) const {
        hall.queue.assign(1, root);
        hall.seen.assign(bins_->count, 0);
        hall.came_from.resize(bins_->count);
        for (size_t head = 0; head < hall.queue.size(); ++head) {
            const int32_t s = hall.queue[head];
            for (int32_t v = 0; v < why.store.problem().domain_size(scope[s]); ++v) {
                int32_t bin = bins_->of(s, v);
                if (bin == given || hall.seen[bin] || !why.had(scope[s], v)) continue;
                hall.seen[bin] = 1;
                hall.came_from[bin] = s;
                if (hall.taken_by[bin] >= 0) {
                    hall.queue.push_back(hall.taken_by[bin]);
                    continue;
                }
                for (;;) {
                    const int32_t slot = hall.came_from[bin], next = hall.takes[slot];
                    hall.takes[slot] = bin;
                    hall.taken_by[bin] = slot;
                    if (slot == root) return true;
                    bin = next;
                }
            }
        }
        return false;
    }

    bool match(Store& store) {
        const auto slots = static_cast<int32_t>(scope.size());
        // Keep of the last matching what still holds.
        for (int32_t s = 0; s < slots; ++s) {
            const int32_t bin = takes_[s];
            if (bin < 0) continue;
            const int32_t position = bins_->position[s][bin];
            if (position < 0 || !store.has(scope[s], position)) {
                taken_by_[bin] = -1;
                takes_[s] = -1;
            }
        }
        seen_.assign(bins_->count, 0);
        int32_t round = 0;
        for (int32_t s = 0; s < slots; ++s)
            if (takes_[s] < 0 && !augment(store, s, ++round)) return false;
        return prune(store);
    }

    // A path from a free slot to a free bin, breadth first.
    bool augment(const Store& store, int32_t root, int32_t round) {
        queue_.assign(1, root);
        came_from_.resize(bins_->count);
        for (size_t head = 0; head < queue_.size(); ++head) {
            const int32_t s = queue_[head];
            int32_t free_bin = -1;
            for_each(store, scope[s], [&](int32_t v) {
                const int32_t bin = bins_->of(s, v);
                if (free_bin >= 0 || seen_[bin] == round) return;
                seen_[bin] = round;
                came_from_[bin] = s;
                if (taken_by_[bin] < 0)
                    free_bin = bin;
                else
                    queue_.push_back(taken_by_[bin]);
            });
            if (free_bin < 0) continue;
            for (int32_t bin = free_bin;;) {
                const int32_t slot = came_from_[bin], next = takes_[slot];
                takes_[slot] = bin;
                taken_by_[bin] = slot;
                if (slot == root) return true;
                bin = next;
            }
        }
        return false;
    }

    // Strongly connected components of: bin → slot that takes it, slot → its other bins, every free bin ↔ a sink.
    // A value survives if it is matched, or in one component with its slot.
    bool prune(Store& store) {
        open_.clear();
        for (size_t s = 0; s < scope.size(); ++s)
            if (!store.fixed(scope[s])) open_.push_back(static_cast<int32_t>(s));
        return open_.size() < kWordOfSlots ? prune_by_words(store) : prune_by_components(store);
    }

    // The same for few open slots, with rows of bits: the component of a slot is what it reaches and is reached from.
    bool prune_by_words(Store& store) {
        const auto sink = static_cast<int32_t>(open_.size());
        node_of_.resize(scope.size());
        for (int32_t i = 0; i < sink; ++i) node_of_[open_[i]] = i;
        const auto owner = [&](int32_t bin) { return taken_by_[bin] < 0 ? sink : node_of_[taken_by_[bin]]; };
        ahead_.assign(sink + 1, 0);
        behind_.assign(sink + 1, uint64_t(1) << sink);
        ahead_[sink] = (uint64_t(1) << sink) - 1;
        for (int32_t i = 0; i < sink; ++i)
            for_each(store, scope[open_[i]], [&](int32_t v) {
                const int32_t of = owner(bins_->of(open_[i], v));
                ahead_[i] |= uint64_t(1) << of;
                behind_[of] |= uint64_t(1) << i;
            });
        for (uint64_t left = ahead_[sink] | uint64_t(1) << sink; left;) {
            const uint64_t first = left & (~left + 1);
            const uint64_t together = closure(ahead_, first, left) & closure(behind_, first, left);
            left &= ~together;
            for (uint64_t rest = together & ahead_[sink]; rest; rest &= rest - 1) {
                const int32_t i = __builtin_ctzll(rest);
                if ((ahead_[i] & ~together) == 0) continue;
                if (!keep_together(store, i, together | uint64_t(1) << i, owner)) return false;
            }
        }
        return true;
    }
    // All that lies on ways from `from` within `among`.
    static uint64_t closure(const std::vector<uint64_t>& rows, uint64_t from, uint64_t among) {
        uint64_t reached = from;
        for (uint64_t next = from; next;) {
            uint64_t found = 0;
            for (; next; next &= next - 1) found |= rows[__builtin_ctzll(next)];
            next = found & among & ~reached;
            reached |= next;
        }
        return reached;
    }
    // The values whose owners are in the component of an open slot.
    template <class Owner>
    bool keep_together(Store& store, int32_t i, uint64_t together, Owner owner) {
        const int32_t x = scope[open_[i]];
        for (int32_t v = store.first(x); v >= 0;) {
            const int32_t next = store.next(x, v);
            if (!(together >> owner(bins_->of(open_[i], v)) & 1)) {
                removed_ = true;
                if (!store.remove(x, v)) return false;
            }
            v = next;
        }
        return true;
    }

    bool prune_by_components(Store& store) {
        const auto slots = static_cast<int32_t>(scope.size());
        const int32_t sink = slots, nodes = slots + 1;
        // Slots only: slot s → slot t where t takes a bin s could; s → sink where s could take a free bin; the sink →
        // every slot that takes a bin (which it could give up).
        index_.assign(nodes, -1);
        low_.assign(nodes, 0);
        component_.assign(nodes, -1);
        stack_.clear();
        count_ = components_ = 0;
        for (int32_t s = 0; s < slots; ++s)
            if (index_[s] < 0) visit(store, s, sink);
        for (int32_t s = 0; s < slots; ++s) {
            const int32_t x = scope[s];
            if (store.fixed(x)) continue;
            for (int32_t v = store.first(x); v >= 0;) {
                const int32_t next = store.next(x, v), bin = bins_->of(s, v);
                const int32_t owner = taken_by_[bin] < 0 ? sink : taken_by_[bin];
                if (owner != s && component_[owner] != component_[s]) {
                    removed_ = true;
                    if (!store.remove(x, v)) return false;
                }
                v = next;
            }
        }
        return true;
    }

    struct Frame {
        int32_t node, position;
    };

    void enter(const Store& store, int32_t node, int32_t sink) {
        index_[node] = low_[node] = count_++;
        stack_.push_back(node);
        frames_.push_back({node, node == sink ? 0 : store.first(scope[node])});
    }

    // Tarjan's algorithm without recursion.
    void visit(const Store& store, int32_t root, int32_t sink) {
        frames_.clear();
        enter(store, root, sink);
        while (!frames_.empty()) {
            Frame& frame = frames_.back();
            const int32_t node = frame.node;
            int32_t next = -1;
            if (node == sink) {
                // The free bins can be taken from the sink's side by any slot that gives its own bin up.
                while (frame.position < sink && next < 0) next = frame.position++;
            } else {
                while (frame.position >= 0 && next < 0) {
                    const int32_t bin = bins_->of(node, frame.position);
                    frame.position = store.next(scope[node], frame.position);
                    const int32_t owner = taken_by_[bin] < 0 ? sink : taken_by_[bin];
                    if (owner != node) next = owner;
                }
            }
            if (next >= 0) {
                if (index_[next] < 0)
                    enter(store, next, sink);
                else if (component_[next] < 0)
                    low_[node] = std::min(low_[node], index_[next]);
                continue;
            }
            if (low_[node] == index_[node]) {
                for (int32_t member = -1; member != node;) {
                    member = stack_.back();
                    stack_.pop_back();
                    component_[member] = components_;
                }
                ++components_;
            }
            frames_.pop_back();
            if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
        }
    }

    std::shared_ptr<const Bins> bins_;
    std::vector<int32_t> taken_by_, takes_, seen_, came_from_, queue_, index_, low_, component_, stack_;
    std::vector<Frame> frames_;
    int32_t count_ = 0, components_ = 0;
    int32_t waited_ = 0, interval_ = 0, longest_wait_;
    bool removed_ = false;
    std::vector<int32_t> open_, node_of_;
    std::vector<uint64_t> ahead_, behind_;      // by open slot, and the sink
    static constexpr size_t kWordOfSlots = 64;  // with the sink they fit a word
    static constexpr int32_t kLongestWait = 8;
};

constexpr int64_t kLargestMatching =
    200'000;  // slots · bins: beyond, a matching at every node costs more than it saves

void add_different(Store& store, int32_t c, std::shared_ptr<Bins> bins, Propagators& out) {
    const Problem& problem = store.problem();
    bool all_count = true;
    for (size_t i = 0; i < bins->scope.size(); ++i) {
        bins->position.emplace_back(bins->count, -1);
        for (int32_t v = 0; v < problem.domain_size(bins->scope[i]); ++v) {
            bins->position[i][bins->of(i, v)] = v;
            all_count &= bins->counts[bins->of(i, v)] != 0;
        }
    }
    out.push_back(std::make_unique<TakenValues>(store, c, bins));
    if (all_count && bins->scope.size() > 2 && int64_t(bins->count) * int64_t(bins->scope.size()) <= kLargestMatching)
        out.push_back(std::make_unique<Matching>(c, bins));
}

}  // namespace

void add_all_different(Store& store, const Family& f, int32_t c, Propagators& out) {
    const Problem& problem = store.problem();
    const int32_t begin = problem.scope_start[c], end = problem.scope_start[c + 1];
    const int64_t first_edge = problem.edge_start[problem.scope_start[f.first_constraint]];
    auto bins = std::make_shared<Bins>();
    int32_t low = INT32_MAX, high = -1;
    for (int32_t s = begin; s < end; ++s) {
        const int32_t* bin = f.edge_bin.data() + (problem.edge_start[s] - first_edge);
        bins->scope.push_back(problem.scope[s]);
        bins->bin.push_back(bin);
        for (int32_t v = 0; v < problem.domain_size(problem.scope[s]); ++v)
            low = std::min(low, bin[v]), high = std::max(high, bin[v]);
    }
    bins->first_bin = low;
    bins->count = high - low + 1;
    bins->counts.assign(f.bin_counts.begin() + low, f.bin_counts.begin() + high + 1);
    add_different(store, c, std::move(bins), out);
}

void add_all_different(Store& store, int32_t c, std::vector<int32_t> scope, std::vector<std::vector<int32_t>> bin_of,
                       Propagators& out) {
    auto bins = std::make_shared<Bins>();
    bins->scope = std::move(scope);
    const auto owned = std::make_shared<std::vector<std::vector<int32_t>>>(std::move(bin_of));
    bins->owner = owned;
    for (const auto& own : *owned) {
        bins->bin.push_back(own.data());
        for (int32_t bin : own) bins->count = std::max(bins->count, bin + 1);
    }
    bins->counts.assign(bins->count, 1);
    add_different(store, c, std::move(bins), out);
}

}  // namespace anycsp::propagation
