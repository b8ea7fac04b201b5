#include "expression.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace fuzzing {
namespace {

constexpr int64_t kLargest = int64_t(1) << 40;  // of what is drawn: products of a few leaves stay far below

int64_t rounded_down(int64_t a, int64_t b) {
    const int64_t quotient = std::abs(a) / std::abs(b);
    if ((a < 0) == (b < 0)) return quotient;
    return std::abs(a) % std::abs(b) == 0 ? -quotient : -quotient - 1;
}

bool is_circuit(const std::vector<int64_t>& next) {
    const auto nodes = static_cast<int64_t>(next.size());
    std::set<int64_t> away, seen;
    for (int64_t i = 0; i < nodes; ++i) {
        if (next[i] < 0 || next[i] >= nodes) return false;
        if (next[i] != i) away.insert(i);
    }
    if (away.size() < 2) return false;
    int64_t at = *away.begin();
    while (seen.insert(at).second) at = next[at];
    return at == *away.begin() && seen == away;
}

}  // namespace

std::optional<int64_t> Expression::evaluate(const std::vector<int64_t>& slots) const {
    if (operation == kSlot) return slots[leaf];
    if (operation == kConstant) return leaf;
    std::vector<int64_t> a;
    bool defined = true;  // every part counts, also one that would not matter
    for (const Expression& operand : operands) {
        const std::optional<int64_t> value = operand.evaluate(slots);
        defined = defined && value.has_value();
        a.push_back(value.value_or(0));
    }
    if (!defined) return {};
    const auto truths = std::count_if(a.begin(), a.end(), [](int64_t v) { return v != 0; });
    const auto many = static_cast<int64_t>(a.size());
    switch (operation) {
        case kNeg: return -a[0];
        case kAbs: return std::abs(a[0]);
        case kAdd: {
            int64_t sum = 0;
            for (int64_t v : a) sum += v;
            return sum;
        }
        case kSub: return a[0] - a[1];
        case kMul: {
            int64_t product = 1;
            for (int64_t v : a) product *= v;
            return product;
        }
        case kDiv:
            if (a[1] == 0) return {};
            return a[0] / a[1];
        case kMod:
            if (a[1] == 0) return {};
            return a[0] - a[1] * (a[0] / a[1]);
        case kFloorDiv:
            if (a[1] == 0) return {};
            return rounded_down(a[0], a[1]);
        case kFloorMod:
            if (a[1] == 0) return {};
            return a[0] - a[1] * rounded_down(a[0], a[1]);
        case kSqr: return a[0] * a[0];
        case kPow: {
            if (a[1] < 0) return {};
            int64_t power = 1;
            for (int64_t i = 0; i < a[1]; ++i) power *= a[0];
            return power;
        }
        case kMin: return *std::min_element(a.begin(), a.end());
        case kMax: return *std::max_element(a.begin(), a.end());
        case kDist: return std::abs(a[0] - a[1]);
        case kLt: return a[0] < a[1];
        case kLe: return a[0] <= a[1];
        case kGe: return a[0] >= a[1];
        case kGt: return a[0] > a[1];
        case kEq: return std::set<int64_t>(a.begin(), a.end()).size() == 1;
        case kNe: return a[0] != a[1];
        case kIn: return std::count(a.begin() + 1, a.end(), a[0]) > 0;
        case kNot: return truths == 0;
        case kAnd: return truths == many;
        case kOr: return truths > 0;
        case kXor: return truths % 2;
        case kIff: return truths == 0 || truths == many;
        case kImp: return a[0] == 0 || a[1] != 0;
        case kIf: return a[0] != 0 ? a[1] : a[2];
        case kElement:
            if (a[0] < 0 || a[0] >= many - 1) return {};
            return a[1 + a[0]];
        case kDistinct: return static_cast<int64_t>(std::set<int64_t>(a.begin(), a.end()).size());
        case kCircuit: return is_circuit(a);
        default: std::abort();
    }
}

void Expression::renumber(std::vector<int32_t>& used) {
    if (operation == kSlot) {
        auto found = std::find(used.begin(), used.end(), leaf);
        if (found == used.end()) found = used.insert(found, static_cast<int32_t>(leaf));
        leaf = found - used.begin();
    }
    for (Expression& operand : operands) operand.renumber(used);
}

namespace {

// The most its value can be, either sign; what would grow beyond kLargest is not drawn. Leaves are at most 16.
int64_t reach(const Expression& e) {
    int64_t sum = 0, product = 1, most = 1;
    for (const Expression& operand : e.operands) {
        const int64_t own = reach(operand);
        sum += own;
        most = std::max(most, own);
        product = own != 0 && product > kLargest / own ? kLargest : product * own;
    }
    switch (e.operation) {
        case kSlot: return 16;
        case kConstant: return std::abs(e.leaf);
        case kMul: return product;
        case kSqr: return most > (1 << 20) ? kLargest : most * most;
        case kPow:
            if (e.operands[1].operation == kSlot) return 1 << 26;  // 3 to the 16
            return most > 64 ? kLargest : most * most * most;      // constant exponents are at most 3
        case kAdd:
        case kSub:
        case kDist: return sum;
        default: return most;
    }
}

Expression constant(int64_t value) {
    Expression e;
    e.leaf = value;
    return e;
}

Expression slot(Bytes& bytes, int32_t slots) {
    Expression e;
    e.operation = kSlot;
    e.leaf = bytes.below(slots);
    return e;
}

Expression leaf(Bytes& bytes, int32_t slots) {
    return bytes.rarely(3) ? constant(bytes.between(-3, 4)) : slot(bytes, slots);
}

}  // namespace

Expression draw_expression(Bytes& bytes, int32_t slots, int32_t depth) {
    if (depth == 0 || bytes.rarely(5)) return leaf(bytes, slots);
    Expression e;
    e.operation = bytes.between(kNeg, kCircuit);
    const auto add = [&](int32_t many, int32_t deep) {
        for (int32_t i = 0; i < many; ++i) e.operands.push_back(draw_expression(bytes, slots, deep));
    };
    switch (e.operation) {
        case kNeg:
        case kAbs:
        case kSqr:
        case kNot: add(1, depth - 1); break;
        case kIf: add(3, depth - 1); break;
        case kPow:
            if (bytes.rarely(3)) {
                e.operands = {constant(bytes.between(-2, 3)), slot(bytes, slots)};
                break;
            }
            add(1, depth - 1);
            e.operands.push_back(constant(bytes.between(-1, 3)));
            break;
        case kIn:
            add(1, depth - 1);
            if (bytes.rarely(3)) {
                add(bytes.between(1, 3), depth - 1);
                break;
            }
            for (int32_t i = bytes.between(1, 3); i > 0; --i) e.operands.push_back(constant(bytes.between(-3, 4)));
            break;
        case kElement: add(bytes.between(2, 5), depth - 1); break;
        case kCircuit:
            for (int32_t i = bytes.between(2, 4); i > 0; --i) {
                Expression next = leaf(bytes, slots);
                if (next.operation == kSlot && bytes.flag()) {
                    Expression moved;
                    moved.operation = bytes.flag() ? kAdd : kSub;
                    moved.operands = {next, constant(bytes.between(-3, 3))};
                    next = moved;
                }
                e.operands.push_back(next);
            }
            break;
        case kSub:
        case kDiv:
        case kMod:
        case kFloorDiv:
        case kFloorMod:
        case kDist:
        case kLt:
        case kLe:
        case kGe:
        case kGt:
        case kNe:
        case kImp: add(2, depth - 1); break;
        default: add(bytes.between(1, 3), depth - 1); break;
    }
    return reach(e) < kLargest ? e : leaf(bytes, slots);
}

void write_program(const Expression& e, Program& to) {
    std::vector<int32_t> operands;
    if (e.operation == kSlot) {
        operands.push_back(static_cast<int32_t>(e.leaf));
    } else if (e.operation == kConstant) {
        operands.push_back(static_cast<int32_t>(to.parameter.size()));
        to.parameter.push_back(e.leaf);
    } else {
        for (const Expression& operand : e.operands) {
            write_program(operand, to);
            operands.push_back(static_cast<int32_t>(to.code.size()) - 1);
        }
    }
    to.code.push_back(e.operation);
    to.count.push_back(static_cast<int32_t>(operands.size()));
    to.operand.insert(to.operand.end(), operands.begin(), operands.end());
}

}  // namespace fuzzing
