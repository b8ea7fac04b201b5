// Circuits: successors are all different, and fixed paths do not close early.
#include <algorithm>

#include "families/operations.h"
#include "propagation/propagator.h"

namespace anycsp::propagation {
namespace {

// i → successor of i is one circuit; nodes outside it point to themselves. A path that is fixed may close only where
// every node off it can stay out.
class CircuitPaths : public Propagator {
  public:
    CircuitPaths(int32_t constraint, std::vector<int32_t> successors, std::vector<int64_t> shift)
        : Propagator(constraint, kTable, kFixed, false), shift_(std::move(shift)) {
        scope = std::move(successors);
        std::vector<int32_t> sorted = scope;
        std::sort(sorted.begin(), sorted.end());
        repeats_ = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    }
    bool repeats() const { return repeats_; }

    bool propagate(Store& store) override {
        const auto n = static_cast<int32_t>(scope.size());
        before_.assign(n, -1);
        int32_t off_limits = 0;  // nodes that cannot stay out
        for (int32_t i = 0; i < n; ++i) {
            if (!store.at_least(scope[i], -shift_[i]) || !store.at_most(scope[i], n - 1 - shift_[i])) return false;
            off_limits += !stays_out(store, i);
            if (!store.fixed(scope[i])) continue;
            const auto next = static_cast<int32_t>(store.low(scope[i]) + shift_[i]);
            if (next == i) continue;
            if (before_[next] >= 0) return false;
            before_[next] = i;
        }
        for (int32_t start = 0; start < n; ++start) {
            if (before_[start] >= 0) continue;
            int32_t at = start, length = 1, must = !stays_out(store, start);
            while (store.fixed(scope[at])) {
                const auto next = static_cast<int32_t>(store.low(scope[at]) + shift_[at]);
                if (next == at) break;
                at = next;
                ++length;
                must += !stays_out(store, at);
            }
            if (length > 1 && at != start && must < off_limits && !store.remove_value(scope[at], start - shift_[at]))
                return false;
        }
        return no_small_cycle(store, off_limits);
    }

    // The nodes of the path, or of a cycle, pointed where they do, and some other node had to be visited.
    void explain(int32_t x, int32_t position, Explanation& why) const override {
        if (repeats_) return Propagator::explain(x, position, why);
        if (x >= 0) {
            const auto start = static_cast<int32_t>(why.store.value(x, position) + shift_[node_of(x)]);
            if (blame_path(start, node_of(x), why)) return;
            return Propagator::explain(x, position, why);
        }
        for (int32_t i = 0; i < static_cast<int32_t>(scope.size()); ++i)
            if (blame_path(i, i, why)) return;
        Propagator::explain(x, position, why);
    }

  private:
    int32_t node_of(int32_t x) const {
        return static_cast<int32_t>(std::find(scope.begin(), scope.end(), x) - scope.begin());
    }
    int32_t next_of(const Store& store, int32_t i) const {
        return static_cast<int32_t>(store.low(scope[i]) + shift_[i]);
    }
    // From one node to another over those fixed then, and a node off the path that had to be visited; or back to itself.
    bool blame_path(int32_t from, int32_t to, Explanation& why) const {
        const auto n = static_cast<int32_t>(scope.size());
        if (from < 0 || from >= n) return false;
        on_path_.assign(n, 0);
        int32_t at = from;
        do {
            if (on_path_[at] || !why.was_fixed(scope[at]) || next_of(why.store, at) == at) return false;
            on_path_[at] = 1;
            at = next_of(why.store, at);
        } while (at != to);
        on_path_[to] = 1;
        int32_t visited = -1;
        for (int32_t i = 0; i < n; ++i) {
            if (on_path_[i]) continue;
            const int32_t position = why.store.position_of(scope[i], i - shift_[i]);
            if (position >= 0 && why.had(scope[i], position)) continue;
            visited = i;
            if (position < 0 || why.store.removed_at(why.store.vertex(scope[i], position)) == Store::kAtRoot) break;
        }
        if (visited < 0) return false;
        for (int32_t i = 0; i < n; ++i)
            if (on_path_[i] && (i != to || from == to)) why.fixed(scope[i]);
        const int32_t position = why.store.position_of(scope[visited], visited - shift_[visited]);
        if (position >= 0) why.gone(scope[visited], position);
        return true;
    }
    bool stays_out(const Store& store, int32_t i) const {
        const int32_t position = store.position_of(scope[i], i - shift_[i]);
        return position >= 0 && store.has(scope[i], position);
    }
    // A closed cycle leaves no node that has to be visited elsewhere.
    bool no_small_cycle(const Store& store, int32_t off_limits) {
        const auto n = static_cast<int32_t>(scope.size());
        mark_.assign(n, 0);
        bool all_out = true;
        for (int32_t i = 0; i < n; ++i) {
            all_out &= store.fixed(scope[i]) && store.low(scope[i]) + shift_[i] == i;
            if (mark_[i]) continue;
            int32_t at = i;
            while (!mark_[at] && store.fixed(scope[at])) {
                mark_[at] = i + 1;
                at = static_cast<int32_t>(store.low(scope[at]) + shift_[at]);
            }
            if (mark_[at] != i + 1 || store.low(scope[at]) + shift_[at] == at) continue;
            int32_t on_cycle = 0, walk = at;
            do {
                on_cycle += !stays_out(store, walk);
                walk = static_cast<int32_t>(store.low(scope[walk]) + shift_[walk]);
            } while (walk != at);
            if (on_cycle < off_limits) return false;
        }
        return !all_out;
    }

    std::vector<int64_t> shift_;
    bool repeats_;  // a variable is the successor of several nodes
    std::vector<int32_t> before_, mark_;
    mutable std::vector<uint8_t> on_path_;
};

// Nobody is entered twice; a node off the circuit is entered by itself.
void add_permutation(Store& store, int32_t c, const std::vector<int32_t>& successors, const std::vector<int64_t>& shift,
                     Propagators& out) {
    const Problem& problem = store.problem();
    const auto n = static_cast<int32_t>(successors.size());
    int32_t outside = n;  // values that are no node: each a bin of its own
    std::vector<std::vector<int32_t>> bin_of;
    for (int32_t i = 0; i < n; ++i) {
        bin_of.emplace_back();
        for (int32_t v = 0; v < problem.domain_size(successors[i]); ++v) {
            const int64_t node = store.value(successors[i], v) + shift[i];
            bin_of.back().push_back(node >= 0 && node < n ? static_cast<int32_t>(node) : outside++);
        }
    }
    add_all_different(store, c, successors, std::move(bin_of), out);
}

}  // namespace

void add_circuit(Store& store, const FamilyArrays& arrays, int32_t c, int32_t row, Propagators& out) {
    const Problem& problem = store.problem();
    const int32_t p = arrays.int32("program")[row];
    const auto node_start = arrays.int32("node_start"), code = arrays.int32("code");
    const auto count = arrays.int32("operand_count"), operand = arrays.int32("operand");
    const auto parameter_start = arrays.int64("parameter_start"), parameter = arrays.int64("parameter");
    std::vector<int64_t> at{0};
    for (size_t i = 0; i < count.size(); ++i) at.push_back(at.back() + count[i]);
    const int32_t root = node_start[p + 1] - 1;
    std::vector<int32_t> successors;
    std::vector<int64_t> shift;
    const auto variable = [&](int32_t node) { return problem.scope[problem.scope_start[c] + operand[at[node]]]; };
    const auto constant = [&](int32_t node) { return parameter[parameter_start[row] + operand[at[node]]]; };
    for (int32_t k = 0; k < count[root]; ++k) {
        const int32_t node = node_start[p] + operand[at[root] + k];
        if (code[node] == Slot) {
            successors.push_back(variable(node));
            shift.push_back(0);
            continue;
        }
        const bool sum = (code[node] == Add || code[node] == Sub) && count[node] == 2;
        const int32_t a = sum ? node_start[p] + operand[at[node]] : 0,
                      b = sum ? node_start[p] + operand[at[node] + 1] : 0;
        if (sum && code[a] == Slot && code[b] == Constant) {
            successors.push_back(variable(a));
            shift.push_back(code[node] == Add ? constant(b) : -constant(b));
        } else if (sum && code[node] == Add && code[a] == Constant && code[b] == Slot) {
            successors.push_back(variable(b));
            shift.push_back(constant(a));
        } else {
            return;
        }
    }
    auto paths = std::make_unique<CircuitPaths>(c, successors, shift);
    if (!paths->repeats()) add_permutation(store, c, successors, shift, out);
    out.push_back(std::move(paths));
}

}  // namespace anycsp::propagation
