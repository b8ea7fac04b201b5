#include "invariants/state.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/comparison.h"
#include "families/operations.h"

namespace anycsp::invariants {

State::State(const Graph& graph, const std::vector<int32_t>& roots)
    : graph_(graph),
      cells_(graph.cells(), 0),
      before_(graph.size(), 0),
      root_(graph.size(), -1),
      rescan_(graph.size(), 0),
      stamp_(graph.size(), 0),
      waiting_(graph.levels()) {
    for (size_t r = 0; r < roots.size(); ++r)
        if (roots[r] >= 0) root_[roots[r]] = static_cast<int32_t>(r);
}

void State::place(const std::vector<std::pair<int32_t, int64_t>>& values) {
    std::fill(cells_.begin() + graph_.size(), cells_.end(), 0);
    for (const auto& [node, value] : values) cells_[node] = value;
    for (int32_t n = 0; n < graph_.size(); ++n) {
        const Node& node = graph_.node(n);
        if (node.op == Op::repeats || node.op == Op::distinct)
            for (int32_t i = node.first; i < node.first + node.count; ++i) {
                const int64_t bin = graph_.seen(i, cells_[graph_.operands(n)[i - node.first]]);
                if (bin >= 0) ++cells_[graph_.histogram_start(n) + bin];
            }
        if (node.op != Op::variable) cells_[n] = compute(n);
    }
    trail_.clear();
    changes_.clear();
    ++epoch_;
}

void State::notify(const Use& use, int64_t before, int64_t after) {
    const int32_t n = use.node;
    const Node& node = graph_.node(n);
    switch (node.op) {
        case Op::sum: {
            const int64_t change = graph_.seen(use.operand, after) - graph_.seen(use.operand, before);
            if (change == 0) return;
            touch(n);
            cells_[n] += change;
            return;
        }
        case Op::extremum: {
            const int64_t was = node.code * graph_.seen(use.operand, before);
            const int64_t is = node.code * graph_.seen(use.operand, after), best = node.code * cells_[n];
            if (is > best) {
                touch(n);
                cells_[n] = node.code * is;
            } else if (was == best && is < was) {
                touch(n);
                rescan_[n] = 1;
            }
            return;
        }
        case Op::repeats:
        case Op::distinct: {
            const int64_t from = graph_.seen(use.operand, before), to = graph_.seen(use.operand, after);
            if (from == to) return;
            touch(n);
            // A bin counts from its first operand on, or, for repeats, from its second.
            const bool free = node.op == Op::repeats;
            const int32_t start = graph_.histogram_start(n);
            if (from >= 0) {
                keep(start + static_cast<int32_t>(from));
                const int64_t left = --cells_[start + from];
                if (free ? left >= 1 : left == 0) --cells_[n];
            }
            if (to >= 0) {
                keep(start + static_cast<int32_t>(to));
                const int64_t had = cells_[start + to]++;
                if (free ? had >= 1 : had == 0) ++cells_[n];
            }
            return;
        }
        default: touch(n);
    }
}

void State::propagate() {
    changes_.clear();
    for (int32_t level = 0; level <= highest_; ++level) {
        auto& waiting = waiting_[level];
        for (size_t k = 0; k < waiting.size(); ++k) {
            const int32_t n = waiting[k];
            switch (graph_.node(n).op) {
                case Op::variable:
                case Op::sum:
                case Op::repeats:
                case Op::distinct: break;
                case Op::extremum:
                    if (rescan_[n]) cells_[n] = compute(n);
                    rescan_[n] = 0;
                    break;
                default: cells_[n] = compute(n);
            }
            const int64_t before = before_[n], after = cells_[n];
            if (before == after) continue;
            if (root_[n] >= 0) changes_.push_back({root_[n], before, after});
            for (const Use *use = graph_.uses_begin(n), *end = graph_.uses_end(n); use != end; ++use)
                notify(*use, before, after);
        }
        waiting.clear();
    }
    highest_ = 0;
}

void State::commit() {
    trail_.clear();
    ++epoch_;
}

void State::roll_back() {
    for (size_t i = trail_.size(); i-- > 0;) cells_[trail_[i].cell] = trail_[i].value;
    commit();
}

int64_t State::compute(int32_t n) const {
    const Node& node = graph_.node(n);
    const int32_t* operand = graph_.operands(n);
    switch (node.op) {
        case Op::constant: return node.a;
        case Op::variable: return cells_[n];
        case Op::sum: {
            int64_t sum = node.a;
            for (int32_t i = 0; i < node.count; ++i) sum += graph_.seen(node.first + i, cells_[operand[i]]);
            return sum;
        }
        case Op::extremum: {
            int64_t best = node.code * graph_.seen(node.first, cells_[operand[0]]);
            for (int32_t i = 1; i < node.count; ++i)
                best = std::max(best, node.code * graph_.seen(node.first + i, cells_[operand[i]]));
            return node.code * best;
        }
        case Op::lookup: return graph_.seen(node.first, cells_[operand[0]]);
        case Op::operation: {
            uint8_t bad = 0;
            return apply(node.code, cells_.data(), operand, node.count, bad);
        }
        case Op::undefined: {
            uint8_t bad = 0;
            apply(node.code, cells_.data(), operand, node.count, bad);
            return bad;
        }
        case Op::distance: return anycsp::distance(node.code, cells_[operand[0]] - node.a);
        case Op::repeats:
        case Op::distinct: {  // from the histogram of the operands as they are now
            std::vector<int64_t> bins;
            for (int32_t i = 0; i < node.count; ++i) {
                const int64_t bin = graph_.seen(node.first + i, cells_[operand[i]]);
                if (bin >= 0) bins.push_back(bin);
            }
            std::sort(bins.begin(), bins.end());
            const int64_t different = std::unique(bins.begin(), bins.end()) - bins.begin();
            return node.op == Op::distinct ? different : static_cast<int64_t>(bins.size()) - different;
        }
        case Op::circuit: return circuit_distance(node, operand);
        case Op::tuples: return row_distance(node, operand, graph_.rows(n));
        case Op::nearest: {
            const Problem& p = graph_.problem();
            return p.value[p.value_start[node.code] + graph_.nearest_position(node.code, cells_[operand[0]])];
        }
        case Op::external: {
            const Problem& p = graph_.problem();
            const int32_t first = p.scope_start[node.code], last = p.scope_start[node.code + 1];
            std::vector<int32_t> positions;
            for (int32_t i = 0; i < node.count; ++i)
                positions.push_back(static_cast<int32_t>(graph_.seen(node.first + i, cells_[operand[i]])));
            std::vector<uint8_t> labels(p.edge_start[last] - p.edge_start[first]);
            graph_.external_labels()(node.code, positions.data(), labels.data());
            return !labels[positions[0]];
        }
    }
    return 0;
}

// Nodes that point nowhere or are pointed at by nobody, and circuits beyond the first; those outside point to themselves.
int64_t State::circuit_distance(const Node& node, const int32_t* operand) const {
    thread_local std::vector<int32_t> mark;
    const int32_t count = node.count;
    mark.assign(count, -1);
    int64_t wrong = 0, circuits = 0;
    for (int32_t start = 0; start < count; ++start) {
        int64_t at = start;
        while (at >= 0 && at < count && mark[at] < 0) {
            mark[at] = start;
            at = cells_[operand[at]];
        }
        if (at < 0 || at >= count) {
            ++wrong;
        } else if (mark[at] != start) {
            wrong += at != start;  // runs into an earlier path
        } else if (at != start) {
            ++wrong, ++circuits;  // a tail that ends in a circuit
        } else {
            circuits += cells_[operand[start]] != start;
        }
    }
    return wrong + (circuits == 0 ? 1 : circuits - 1);
}

// In how many places the nearest row differs, where one is asked for; 1 for a row that is forbidden. In a long list,
// which is sorted, it is only looked up whether the row is there.
int64_t State::row_distance(const Node& node, const int32_t* operand, const Rows& rows) const {
    constexpr int64_t kShort = 4096;  // cells that are gone through
    thread_local std::vector<int32_t> now;
    now.resize(rows.arity);
    for (int32_t i = 0; i < rows.arity; ++i)
        now[i] = static_cast<int32_t>(graph_.seen(node.first + i, cells_[operand[i]]));
    if (rows.high == rows.low && int64_t(rows.rows) * rows.arity > kShort) {
        int32_t first = 0, last = rows.rows;
        while (first < last) {
            const int32_t middle = (first + last) / 2;
            const int32_t* row = rows.low + int64_t(middle) * rows.arity;
            if (std::lexicographical_compare(row, row + rows.arity, now.data(), now.data() + rows.arity))
                first = middle + 1;
            else
                last = middle;
        }
        const bool listed =
            first < rows.rows && std::equal(now.begin(), now.end(), rows.low + int64_t(first) * rows.arity);
        return listed != rows.allowed;
    }
    int32_t nearest = rows.arity;
    for (int32_t r = 0; r < rows.rows && nearest > 0; ++r) {
        const int32_t *low = rows.low + int64_t(r) * rows.arity, *high = rows.high + int64_t(r) * rows.arity;
        int32_t differing = 0;
        for (int32_t i = 0; i < rows.arity && differing < nearest; ++i)
            differing += now[i] < low[i] || now[i] > high[i];
        nearest = std::min(nearest, differing);
    }
    return rows.allowed ? (rows.rows ? nearest : 1) : nearest == 0;
}

void State::verify() const {
    for (int32_t n = 0; n < graph_.size(); ++n)
        if (cells_[n] != compute(n)) throw std::logic_error("node " + std::to_string(n) + " differs from a recount");
}

}  // namespace anycsp::invariants
