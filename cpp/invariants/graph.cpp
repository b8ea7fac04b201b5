#include "invariants/graph.h"

#include <algorithm>
#include <numeric>

#include "families/operations.h"

namespace anycsp::invariants {
namespace {

constexpr int64_t kFar = int64_t(1) << 61;  // beyond every value that expressions may have
constexpr Interval kAnything{-kFar, kFar}, kTruth{0, 1};

int64_t bounded(__int128 value) { return value > kFar ? kFar : value < -kFar ? -kFar : static_cast<int64_t>(value); }

Interval product(Interval a, Interval b) {
    const __int128 corners[] = {__int128(a.low) * b.low, __int128(a.low) * b.high, __int128(a.high) * b.low,
                                __int128(a.high) * b.high};
    return {bounded(*std::min_element(corners, corners + 4)), bounded(*std::max_element(corners, corners + 4))};
}

Interval hull(Interval a, Interval b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

}  // namespace

Graph::Graph(std::shared_ptr<const Problem> problem, ExternalLabels external)
    : problem_(std::move(problem)), external_(std::move(external)), sorted_(problem_->values()) {
    for (int32_t x = 0; x < problem_->variables; ++x) {
        const int32_t size = problem_->domain_size(x);
        const int64_t* values = problem_->value.data() + problem_->value_start[x];
        int32_t* order = sorted_.data() + problem_->value_start[x];
        std::iota(order, order + size, 0);
        std::sort(order, order + size, [&](int32_t a, int32_t b) { return values[a] < values[b]; });
        range_.push_back({values[order[0]], values[order[size - 1]]});
        bool consecutive = true;
        for (int32_t v = 0; v < size; ++v) consecutive &= values[v] == values[0] + v;
        consecutive_.push_back(consecutive);
    }
}

int32_t Graph::add(Node node, const std::vector<Operand>& operands, Interval interval) {
    node.first = static_cast<int32_t>(operand_.size());
    node.count = static_cast<int32_t>(operands.size());
    for (const Operand& operand : operands) {
        operand_.push_back(operand.node);
        coefficient_.push_back(operand.coefficient);
        function_.push_back(operand.function);
        node.level = std::max(node.level, nodes_[operand.node].level + 1);
    }
    levels_ = std::max(levels_, node.level + 1);
    nodes_.push_back(node);
    interval_.push_back(interval);
    return size() - 1;
}

int32_t Graph::constant(int64_t value) { return add({Op::constant, 0, 0, 0, value}, {}, {value, value}); }

int32_t Graph::variable(int32_t x, Interval values) { return add({Op::variable, x}, {}, values); }

int32_t Graph::sum(std::vector<Operand> operands, int64_t constant) {
    std::vector<Operand> kept;
    Interval interval{constant, constant};
    for (const Operand& operand : operands) {
        const Interval seen = seen_interval(operand);
        interval = {bounded(__int128(interval.low) + seen.low), bounded(__int128(interval.high) + seen.high)};
        if (seen.low == seen.high)
            constant += seen.low;
        else
            kept.push_back(operand);
    }
    if (kept.empty()) return this->constant(constant);
    if (kept.size() == 1 && constant == 0 && kept[0].function < 0 && kept[0].coefficient == 1) return kept[0].node;
    return add({Op::sum, 0, 0, 0, constant}, kept, interval);
}

int32_t Graph::extremum(int32_t sign, const std::vector<Operand>& operands) {
    Interval interval = seen_interval(operands[0]);
    for (const Operand& operand : operands) {
        const Interval seen = seen_interval(operand);
        interval = sign > 0 ? Interval{std::max(interval.low, seen.low), std::max(interval.high, seen.high)}
                            : Interval{std::min(interval.low, seen.low), std::min(interval.high, seen.high)};
    }
    if (operands.size() == 1 && operands[0].function < 0 && operands[0].coefficient == 1) return operands[0].node;
    return add({Op::extremum, sign}, operands, interval);
}

int32_t Graph::lookup(int32_t node, int32_t function) {
    const Operand operand{node, 1, function};
    return add({Op::lookup}, {operand}, seen_interval(operand));
}

int32_t Graph::operation(int32_t code, const std::vector<int32_t>& operands) {
    std::vector<Operand> all;
    bool constant = true;
    for (int32_t node : operands) {
        all.push_back({node});
        constant &= is_constant(node);
    }
    const Interval a = interval_[operands[0]], b = interval_[operands[operands.size() > 1]];
    if (constant) {
        std::vector<int64_t> values;
        std::vector<int32_t> at;
        for (int32_t node : operands) {
            at.push_back(static_cast<int32_t>(values.size()));
            values.push_back(nodes_[node].a);
        }
        uint8_t bad = 0;
        return this->constant(apply(code, values.data(), at.data(), static_cast<int32_t>(at.size()), bad));
    }
    Interval interval = kAnything;
    switch (code) {
        case Lt:
        case Le:
        case Ge:
        case Gt:
        case Eq:
        case Ne:
        case In:
        case Not:
        case And:
        case Or:
        case Xor:
        case Iff:
        case Imp:
        case Circuit: interval = kTruth; break;
        case Abs: interval = {0, std::max(std::abs(a.low), std::abs(a.high))}; break;
        case Dist: interval = {0, std::max(std::abs(a.high - b.low), std::abs(b.high - a.low))}; break;
        case Sqr: interval = {0, product(a, a).high}; break;
        case Mul:
            interval = {1, 1};
            for (int32_t node : operands) interval = product(interval, interval_[node]);
            break;
        case If: interval = hull(b, interval_[operands[2]]); break;
        case Element:
            interval = b;
            for (size_t i = 1; i < operands.size(); ++i) interval = hull(interval, interval_[operands[i]]);
            interval = hull(interval, {0, 0});  // where it is undefined
            break;
        case Distinct: interval = {1, static_cast<int64_t>(operands.size())}; break;
        default: break;
    }
    return add({Op::operation, code}, all, interval);
}

int32_t Graph::undefined(int32_t code, const std::vector<int32_t>& operands) {
    std::vector<Operand> all;
    for (int32_t node : operands) all.push_back({node});
    return add({Op::undefined, code}, all, kTruth);
}

int32_t Graph::distance(int32_t comparison, int32_t node, int64_t bound) {
    return add({Op::distance, comparison, 0, 0, bound}, {{node}}, {0, kFar});
}

int32_t Graph::histogram(Op op, const std::vector<Operand>& operands, int32_t bins) {
    const int32_t first = histogram_cells_;
    histogram_cells_ += bins;
    return add({op, 0, 0, 0, first}, operands, {0, static_cast<int64_t>(operands.size())});
}

int32_t Graph::circuit(const std::vector<int32_t>& successors) {
    std::vector<Operand> all;
    for (int32_t node : successors) all.push_back({node});
    return add({Op::circuit}, all, {0, static_cast<int64_t>(all.size())});
}

int32_t Graph::tuples(const std::vector<Operand>& operands, const Rows& rows) {
    rows_.push_back(rows);
    return add({Op::tuples, 0, 0, 0, static_cast<int64_t>(rows_.size()) - 1}, operands, {0, rows.arity});
}

int32_t Graph::nearest(int32_t x, int32_t node) { return add({Op::nearest, x}, {{node}}, range_[x]); }

int32_t Graph::external(int32_t constraint, const std::vector<Operand>& positions) {
    return add({Op::external, constraint}, positions, kTruth);
}

int32_t Graph::copy(int32_t node) { return add({Op::sum}, {{node}}, interval_[node]); }

const int64_t* Graph::keep(std::vector<int64_t> table) {
    kept_.push_back(std::move(table));
    return kept_.back().data();
}

int32_t Graph::by_position(int32_t x, const int64_t* table) {
    functions_.push_back({consecutive_[x] ? -1 : x, range_[x].low, problem_->domain_size(x), table});
    return static_cast<int32_t>(functions_.size()) - 1;
}

int32_t Graph::by_value(int64_t low, std::vector<int64_t> table) {
    const int32_t size = static_cast<int32_t>(table.size());
    functions_.push_back({-1, low, size, keep(std::move(table))});
    return static_cast<int32_t>(functions_.size()) - 1;
}

int32_t Graph::position(int32_t x) {
    if (position_function_.empty()) position_function_.assign(problem_->variables, -1);
    if (position_function_[x] < 0) {
        std::vector<int64_t> table(problem_->domain_size(x));
        for (size_t v = 0; v < table.size(); ++v) table[v] = static_cast<int64_t>(v);
        position_function_[x] = by_position(x, std::move(table));
    }
    return position_function_[x];
}

int32_t Graph::search_position(int32_t x, int64_t value) const {
    const int64_t* values = problem_->value.data() + problem_->value_start[x];
    const int32_t *begin = sorted_.data() + problem_->value_start[x], *end = begin + problem_->domain_size(x);
    const int32_t* at = std::lower_bound(begin, end, value, [&](int32_t p, int64_t v) { return values[p] < v; });
    // Distances are up to 2^64.
    auto distance = [](int64_t low, int64_t high) { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low); };
    if (at == end || (at != begin && distance(values[at[-1]], value) < distance(value, values[*at]))) --at;
    return *at;
}

Interval Graph::seen_interval(const Operand& operand) const {
    const Interval own = interval_[operand.node];
    if (operand.function < 0) return product(own, {operand.coefficient, operand.coefficient});
    const Function& f = functions_[operand.function];
    if (is_constant(operand.node)) {
        const int64_t value = entry(f, nodes_[operand.node].a);
        return {value, value};
    }
    return {*std::min_element(f.table, f.table + f.size), *std::max_element(f.table, f.table + f.size)};
}

void Graph::finish() {
    use_start_.assign(size() + 1, 0);
    for (int32_t node : operand_) ++use_start_[node + 1];
    for (int32_t n = 0; n < size(); ++n) use_start_[n + 1] += use_start_[n];
    use_.resize(operand_.size());
    std::vector<int32_t> next(use_start_.begin(), use_start_.end() - 1);
    for (int32_t n = 0; n < size(); ++n)
        for (int32_t i = nodes_[n].first; i < nodes_[n].first + nodes_[n].count; ++i)
            use_[next[operand_[i]]++] = {n, i};
}

}  // namespace anycsp::invariants
