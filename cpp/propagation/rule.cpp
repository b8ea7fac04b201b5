// Rules by intervals: every node of the expression gets the least and the greatest it can be, from the leaves up, then
// what the root demands is handed down again (HC4-revise, Benhamou et al. 1999). Where at most two variables are open
// and few values are left, what remains is tried out.
#include <algorithm>
#include <cmath>

#include "families/evaluator.h"
#include "families/operations.h"
#include "propagation/propagator.h"

namespace anycsp::propagation {
namespace {

constexpr int64_t kFar = int64_t(1) << 62;

struct Interval {
    int64_t low, high;
    bool fixed() const { return low == high; }
    bool has(int64_t v) const { return low <= v && v <= high; }
    bool meets(Interval other) const { return low <= other.high && other.low <= high; }
    bool is_true() const { return low > 0 || high < 0; }
    bool is_false() const { return low == 0 && high == 0; }
};

// No expression reaches 2^62 (model/expressions.py), so that a bound beyond it says nothing.
int64_t clamped(__int128 v) { return v > kFar ? kFar : v < -kFar ? -kFar : static_cast<int64_t>(v); }
int64_t plus(int64_t a, int64_t b) { return clamped(__int128(a) + b); }

Interval difference(Interval a, Interval b) { return {plus(a.low, -b.high), plus(a.high, -b.low)}; }

Interval product(Interval a, Interval b) {
    const __int128 corners[4] = {__int128(a.low) * b.low, __int128(a.low) * b.high, __int128(a.high) * b.low,
                                 __int128(a.high) * b.high};
    return {clamped(*std::min_element(corners, corners + 4)), clamped(*std::max_element(corners, corners + 4))};
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

int64_t floor_root(int64_t v) {
    auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(v)));
    while (root * root > v) --root;
    while ((root + 1) * (root + 1) <= v) ++root;
    return root;
}

// What the slots of a rule could be: now.
struct Now {
    const Store& store;
    const std::vector<int32_t>& scope;

    Interval bounds(int32_t slot) const { return {store.low(scope[slot]), store.high(scope[slot])}; }
    bool has(int32_t slot, int64_t value) const {
        const int32_t position = store.position_of(scope[slot], value);
        return position >= 0 && store.has(scope[slot], position);
    }
};

// What they could be at a moment of the trail, or a slot that is not to blame in all of the search.
struct Then {
    Explanation& why;
    const std::vector<int32_t>& scope;
    struct Part {
        Interval then, ever;  // its bounds
        bool low, high;       // which of them are to blame; with both its holes are too
        Interval bounds() const { return {low ? then.low : ever.low, high ? then.high : ever.high}; }
    };
    std::vector<Part> slots;

    Then(Explanation& why, const std::vector<int32_t>& scope, int32_t x, int32_t position) : why(why), scope(scope) {
        const Store& store = why.store;
        for (int32_t y : scope) {
            if (y == x) {
                const int64_t v = store.value(x, position);
                slots.push_back({{v, v}, {v, v}, false, false});
                continue;
            }
            Part slot{{kFar, -kFar}, {kFar, -kFar}, true, true};
            for (int32_t p = 0; p < store.problem().domain_size(y); ++p) {
                const int64_t v = store.value(y, p);
                if (store.removed_at(store.vertex(y, p)) != Store::kAtRoot)
                    slot.ever = {std::min(slot.ever.low, v), std::max(slot.ever.high, v)};
                if (why.had(y, p)) slot.then = {std::min(slot.then.low, v), std::max(slot.then.high, v)};
            }
            slots.push_back(slot);
        }
    }

    Interval bounds(int32_t slot) const { return slots[slot].bounds(); }
    bool has(int32_t slot, int64_t value) const {
        if (!bounds(slot).has(value)) return false;
        const int32_t position = why.store.position_of(scope[slot], value);
        if (position < 0) return false;
        if (slots[slot].low && slots[slot].high) return why.had(scope[slot], position);
        return why.store.removed_at(why.store.vertex(scope[slot], position)) != Store::kAtRoot;
    }
    void blame(int32_t slot, bool holes) const {
        const Part& of = slots[slot];
        const int32_t y = scope[slot];
        if (!of.low && !of.high) return;
        const Interval bounds = of.bounds();
        holes = holes && of.low && of.high;
        if (why.was_fixed(y) && of.low && of.high) return why.fixed(y);
        for (int32_t p = 0; p < why.store.problem().domain_size(y); ++p)
            if (!why.had(y, p) && (holes || !bounds.has(why.store.value(y, p)))) why.gone(y, p);
    }
};

class Rule : public Propagator {
  public:
    Rule(Store& store, const Family& family, const FamilyArrays& arrays, int32_t c)
        : Propagator(c, kTable, wakes(store.problem(), family, arrays, c), false), evaluator_(*family.evaluator) {
        const Problem& problem = store.problem();
        holds_ = store.new_cells(1, 0);
        const int32_t begin = problem.scope_start[c], row = c - family.first_constraint;
        first_slot_ = begin;
        scope.assign(problem.scope.begin() + begin, problem.scope.begin() + problem.scope_start[c + 1]);
        const auto program = arrays.int32("program");
        const auto node_start = arrays.int32("node_start"), code = arrays.int32("code");
        const auto count = arrays.int32("operand_count"), operand = arrays.int32("operand");
        const auto parameter_start = arrays.int64("parameter_start"), parameter = arrays.int64("parameter");
        const int32_t p = program[row];
        int64_t at = 0;
        for (int32_t i = 0; i < node_start[p]; ++i) at += count[i];
        operand_start_.push_back(0);
        for (int32_t i = node_start[p]; i < node_start[p + 1]; ++i) {
            code_.push_back(code[i]);
            for (int32_t k = 0; k < count[i]; ++k) operand_.push_back(operand[at++]);
            operand_start_.push_back(static_cast<int32_t>(operand_.size()));
        }
        parameter_.assign(parameter.begin() + parameter_start[row], parameter.begin() + parameter_start[row + 1]);
        node_.resize(code_.size());
        for (int32_t k : code_) {
            if (k == Element) indexed_ = true;
            if (k == Div || k == Mod || k == FloorDiv || k == FloorMod || k == Pow || k == Element) partial_ = true;
            const bool straight = k == Slot || k == Constant || k == Neg || k == Add || k == Sub ||
                                  (k >= Lt && k <= Gt) || (k >= Not && k <= Imp);
            if (!straight) straight_ = false;
        }
    }

    bool propagate(Store& store) override {
        if (store.cell(holds_)) return true;
        for (int round = 0; round < 4; ++round) {
            if (!up(Now{store, scope})) return false;
            const int32_t root = static_cast<int32_t>(code_.size()) - 1;
            if (node_[root].is_true() && !partial_) {
                store.set_cell(holds_, 1);
                return true;
            }
            changed_ = false;
            if (!be_true(root) || !down(store)) return false;
            if (!changed_) break;
        }
        return try_out(store);
    }

    // Bounds that make the rule false from the leaves up, as few as suffice. Where they do not make it false the last
    // variables were tried out, or it took several rounds.
    void explain(int32_t x, int32_t position, Explanation& why) const override {
        Then then(why, scope, x, position);
        if (!refuted(then)) return explain_try(x, position, why);
        release(then, 0, static_cast<int32_t>(scope.size()));
        for (int32_t i = 0; i < static_cast<int32_t>(scope.size()); ++i) {
            auto& slot = then.slots[i];
            for (bool Then::Part::* bound : {&Then::Part::low, &Then::Part::high}) {
                if (!slot.low || !slot.high) continue;
                slot.*bound = false;
                if (!refuted(then)) slot.*bound = true;
            }
            then.blame(i, indexed_);
        }
    }

  private:
    bool refuted(const Then& then) const {
        then.why.work += static_cast<int64_t>(code_.size());
        return !up(then) || node_.back().is_false();
    }
    // The slots of a range are not to blame, all together or half by half.
    void release(Then& then, int32_t from, int32_t to) const {
        std::vector<Then::Part> before(then.slots.begin() + from, then.slots.begin() + to);
        if (std::none_of(before.begin(), before.end(), [](const auto& slot) { return slot.low; })) return;
        for (int32_t i = from; i < to; ++i) then.slots[i].low = then.slots[i].high = false;
        if (refuted(then)) return;
        std::copy(before.begin(), before.end(), then.slots.begin() + from);
        if (to - from == 1) return;
        release(then, from, (from + to) / 2);
        release(then, (from + to) / 2, to);
    }
    // All others were fixed, or all but one that had lost every value that would do.
    void explain_try(int32_t x, int32_t position, Explanation& why) const {
        const Problem& problem = why.store.problem();
        static thread_local std::vector<int32_t> positions;
        static thread_local std::vector<int64_t> distances;
        positions.resize(problem.variables);
        int32_t open = -1, many = 0;
        for (int32_t i = 0; i < static_cast<int32_t>(scope.size()); ++i) {
            const int32_t y = scope[i];
            positions[y] = y == x ? position : why.store.first(y);
            if (y != x && !why.was_fixed(y)) open = i, ++many;
        }
        if (x < 0 || many != 1) return Propagator::explain(x, position, why);
        const int32_t y = scope[open];
        distances.resize(problem.domain_size(y));
        positions[y] = 0;
        why.work += static_cast<int64_t>(code_.size()) * problem.domain_size(y);
        evaluator_.prepare(constraint, positions.data());
        evaluator_.slot(first_slot_ + open, positions.data(), distances.data());
        for (int32_t v = 0; v < problem.domain_size(y); ++v)
            if (distances[v] == 0 && why.had(y, v)) return Propagator::explain(x, position, why);
        for (int32_t each : scope)
            if (each != x && each != y) why.fixed(each);
        for (int32_t v = 0; v < problem.domain_size(y); ++v)
            if (distances[v] == 0) why.gone(y, v);
    }

    // Bounds move least often; holes matter to short rules, which are tried out, and to elements.
    static uint8_t wakes(const Problem& problem, const Family& family, const FamilyArrays& arrays, int32_t c) {
        if (problem.scope_start[c + 1] - problem.scope_start[c] <= 3) return kDomain;
        const auto node_start = arrays.int32("node_start"), code = arrays.int32("code");
        const int32_t p = arrays.int32("program")[c - family.first_constraint];
        for (int32_t i = node_start[p]; i < node_start[p + 1]; ++i)
            if (code[i] == Element) return kDomain;
        return kBound;
    }
    int32_t at(int32_t node, int32_t i) const { return operand_[operand_start_[node] + i]; }
    int32_t count(int32_t node) const { return operand_start_[node + 1] - operand_start_[node]; }
    Interval& child(int32_t node, int32_t i) const { return node_[at(node, i)]; }

    // ── from the leaves up ───────────────────────────────────────────────────────────────────────────────────────
    // False where some node has no value left, an index outside its list or a division by zero.
    template <class View>
    bool up(const View& view) const {
        for (int32_t n = 0; n < static_cast<int32_t>(code_.size()); ++n) {
            node_[n] = value_of(view, n);
            if (node_[n].low > node_[n].high) return false;
        }
        return true;
    }

    static Interval truth(bool surely, bool never) { return {surely ? 1 : 0, never ? 0 : 1}; }

    template <class View>
    Interval value_of(const View& view, int32_t n) const {
        const int32_t k = count(n);
        switch (code_[n]) {
            case Slot: return view.bounds(operand_[operand_start_[n]]);
            case Constant: {
                const int64_t v = parameter_[operand_[operand_start_[n]]];
                return {v, v};
            }
            case Neg: return {-child(n, 0).high, -child(n, 0).low};
            case Abs: return magnitude(child(n, 0));
            case Add: {
                __int128 low = 0, high = 0;
                for (int32_t i = 0; i < k; ++i) low += child(n, i).low, high += child(n, i).high;
                return {clamped(low), clamped(high)};
            }
            case Sub: return difference(child(n, 0), child(n, 1));
            case Mul: {
                Interval result{1, 1};
                for (int32_t i = 0; i < k; ++i) result = product(result, child(n, i));
                return result;
            }
            case Div:
            case FloorDiv: return quotient(child(n, 0), child(n, 1), code_[n] == FloorDiv);
            case Mod:
            case FloorMod: return remainder(child(n, 0), child(n, 1), code_[n] == FloorMod);
            case Sqr: {
                const Interval m = magnitude(child(n, 0));
                return {clamped(__int128(m.low) * m.low), clamped(__int128(m.high) * m.high)};
            }
            case Pow: return power(child(n, 0), child(n, 1));
            case Min:
            case Max: {
                Interval result = child(n, 0);
                for (int32_t i = 1; i < k; ++i) {
                    const Interval c = child(n, i);
                    result = code_[n] == Min ? Interval{std::min(result.low, c.low), std::min(result.high, c.high)}
                                             : Interval{std::max(result.low, c.low), std::max(result.high, c.high)};
                }
                return result;
            }
            case Dist: return magnitude(difference(child(n, 0), child(n, 1)));
            case Lt: return truth(child(n, 0).high < child(n, 1).low, child(n, 0).low >= child(n, 1).high);
            case Le: return truth(child(n, 0).high <= child(n, 1).low, child(n, 0).low > child(n, 1).high);
            case Gt: return truth(child(n, 0).low > child(n, 1).high, child(n, 0).high <= child(n, 1).low);
            case Ge: return truth(child(n, 0).low >= child(n, 1).high, child(n, 0).high < child(n, 1).low);
            case Eq: {
                Interval meet = child(n, 0);
                bool fixed = meet.fixed();
                for (int32_t i = 1; i < k; ++i) {
                    meet = {std::max(meet.low, child(n, i).low), std::min(meet.high, child(n, i).high)};
                    fixed &= child(n, i).fixed();
                }
                return truth(fixed && meet.low == meet.high, meet.low > meet.high);
            }
            case Ne: {
                const Interval a = child(n, 0), b = child(n, 1);
                const bool apart = a.high < b.low || b.high < a.low;
                return truth(apart, a.fixed() && b.fixed() && a.low == b.low);
            }
            case In: {
                const Interval a = child(n, 0);
                bool some = false, surely = false;
                for (int32_t i = 1; i < k; ++i) {
                    some |= a.meets(child(n, i));
                    surely |= a.fixed() && child(n, i).fixed() && a.low == child(n, i).low;
                }
                return truth(surely, !some);
            }
            case Not: return truth(child(n, 0).is_false(), child(n, 0).is_true());
            case And:
            case Or: {
                int32_t yes = 0, no = 0;
                for (int32_t i = 0; i < k; ++i) yes += child(n, i).is_true(), no += child(n, i).is_false();
                return code_[n] == And ? truth(yes == k, no > 0) : truth(yes > 0, no == k);
            }
            case Xor:
            case Iff: {
                int32_t yes = 0, no = 0;
                for (int32_t i = 0; i < k; ++i) yes += child(n, i).is_true(), no += child(n, i).is_false();
                if (code_[n] == Iff) return truth(yes == k || no == k, yes > 0 && no > 0);
                return yes + no == k ? truth(yes % 2 == 1, yes % 2 == 0) : Interval{0, 1};
            }
            case Imp:
                return truth(child(n, 0).is_false() || child(n, 1).is_true(),
                             child(n, 0).is_true() && child(n, 1).is_false());
            case If: {
                const Interval a = child(n, 1), b = child(n, 2);
                if (child(n, 0).is_true()) return a;
                if (child(n, 0).is_false()) return b;
                return {std::min(a.low, b.low), std::max(a.high, b.high)};
            }
            case Element: {
                Interval result{kFar, -kFar};
                const int64_t from = std::max<int64_t>(child(n, 0).low, 0),
                              to = std::min<int64_t>(child(n, 0).high, k - 2);
                for (int64_t i = from; i <= to; ++i) {
                    if (!may_be(view, at(n, 0), i)) continue;
                    const Interval c = child(n, static_cast<int32_t>(i) + 1);
                    result = {std::min(result.low, c.low), std::max(result.high, c.high)};
                }
                return result;  // empty where no index is left
            }
            case Distinct: return {1, k};
            default: return {0, 1};
        }
    }

    // Whether a node within its bounds can be this value; a leaf's domain may have holes.
    template <class View>
    bool may_be(const View& view, int32_t node, int64_t value) const {
        return code_[node] != Slot || view.has(operand_[operand_start_[node]], value);
    }

    static Interval magnitude(Interval a) {
        if (a.low >= 0) return a;
        if (a.high <= 0) return {-a.high, -a.low};
        return {0, std::max(-a.low, a.high)};
    }
    // Quotients lie between those of the corners, the divisor's nearest to zero among them.
    static Interval quotient(Interval a, Interval b, bool floors) {
        int64_t divisors[4], many = 0;
        for (int64_t d : {b.low, b.high, int64_t(1), int64_t(-1)})
            if (d != 0 && b.has(d)) divisors[many++] = d;
        if (many == 0) return {kFar, -kFar};
        Interval result{kFar, -kFar};
        for (int64_t i = 0; i < many; ++i)
            for (int64_t v : {a.low, a.high}) {
                const int64_t q = floors ? floor_div(v, divisors[i]) : v / divisors[i];
                result = {std::min(result.low, q), std::max(result.high, q)};
            }
        if (a.has(0)) result = {std::min<int64_t>(result.low, 0), std::max<int64_t>(result.high, 0)};
        return result;
    }
    static Interval remainder(Interval a, Interval b, bool floors) {
        const int64_t most = std::max(std::abs(b.low), std::abs(b.high)) - 1;
        if (most < 0) return {kFar, -kFar};
        if (floors) return {b.low < 0 ? -most : 0, b.high > 0 ? most : 0};
        if (a.low >= 0 && a.high <= most && b.fixed()) return a;
        return {a.low < 0 ? std::max(-most, a.low) : 0, a.high > 0 ? std::min(most, a.high) : 0};
    }
    static Interval power(Interval a, Interval b) {
        if (!b.fixed() || b.low < 0) return {-kFar, kFar};
        Interval result{1, 1};
        if (b.low == 0) return result;
        if (b.low % 2 == 0) a = magnitude(a);
        for (int64_t i = 0; i < b.low && i < 64; ++i)
            result = {clamped(__int128(result.low) * a.low), clamped(__int128(result.high) * a.high)};
        return result;
    }

    // ── and down again ───────────────────────────────────────────────────────────────────────────────────────────
    bool meet(int32_t n, int64_t low, int64_t high) {
        Interval& own = node_[n];
        if (low > own.low) own.low = low;
        if (high < own.high) own.high = high;
        return own.low <= own.high;
    }
    bool be_true(int32_t n) {
        if (node_[n].low == 0) return meet(n, 1, kFar);
        if (node_[n].high == 0) return meet(n, -kFar, -1);
        return true;
    }
    bool be_false(int32_t n) { return meet(n, 0, 0); }
    bool be(int32_t n, bool value) { return value ? be_true(n) : be_false(n); }

    bool down(Store& store) {
        for (int32_t n = static_cast<int32_t>(code_.size()) - 1; n >= 0; --n)
            if (node_[n].low > node_[n].high || !hand_down(store, n)) return false;
        return true;
    }

    bool leaf(Store& store, int32_t n) {
        const int32_t x = scope[operand_[operand_start_[n]]];
        const int32_t before = store.size(x);
        if (!store.at_least(x, node_[n].low) || !store.at_most(x, node_[n].high)) return false;
        changed_ |= store.size(x) != before;
        return true;
    }
    bool without(Store& store, int32_t n, int64_t value) {
        if (code_[n] == Slot) {
            const int32_t x = scope[operand_[operand_start_[n]]], before = store.size(x);
            if (!store.remove_value(x, value)) return false;
            changed_ |= store.size(x) != before;
        }
        if (node_[n].low == value) ++node_[n].low;
        if (node_[n].high == value) --node_[n].high;
        return node_[n].low <= node_[n].high;
    }

    bool less(int32_t a, int32_t b, int64_t gap) {  // a + gap ≤ b
        return meet(a, -kFar, node_[b].high - gap) && meet(b, node_[a].low + gap, kFar);
    }
    bool equal(int32_t a, int32_t b) {
        return meet(a, node_[b].low, node_[b].high) && meet(b, node_[a].low, node_[a].high);
    }
    bool differ(Store& store, int32_t a, int32_t b) {
        if (node_[b].fixed() && !without(store, a, node_[b].low)) return false;
        return !node_[a].fixed() || without(store, b, node_[a].low);
    }

    bool hand_down(Store& store, int32_t n) {
        const Interval own = node_[n];
        const int32_t k = count(n);
        const bool yes = own.is_true(), no = own.is_false();
        switch (code_[n]) {
            case Slot: return leaf(store, n);
            case Constant: return true;
            case Neg: return meet(at(n, 0), -own.high, -own.low);
            case Abs: return outside(at(n, 0), own);
            case Add: {
                __int128 low = 0, high = 0;
                for (int32_t i = 0; i < k; ++i) low += child(n, i).low, high += child(n, i).high;
                for (int32_t i = 0; i < k; ++i) {
                    const Interval c = child(n, i);
                    if (!meet(at(n, i), clamped(own.low - (high - c.high)), clamped(own.high - (low - c.low))))
                        return false;
                }
                return true;
            }
            case Sub: {
                const Interval a = child(n, 0), b = child(n, 1);
                return meet(at(n, 0), plus(own.low, b.low), plus(own.high, b.high)) &&
                       meet(at(n, 1), plus(a.low, -own.high), plus(a.high, -own.low));
            }
            case Mul: return factors(n);
            case Div:
            case Mod:
            case FloorDiv:
            case FloorMod: return divisor(store, n);
            case Sqr: {
                if (own.high < 0) return false;
                const int64_t low = own.low <= 0 ? 0 : floor_root(own.low - 1) + 1;
                return outside(at(n, 0), {low, floor_root(own.high)});
            }
            case Min:
            case Max: return extremes(n);
            case Dist: {
                const Interval a = child(n, 0), b = child(n, 1);
                if (own.high < 0) return false;
                return meet(at(n, 0), plus(b.low, -own.high), plus(b.high, own.high)) &&
                       meet(at(n, 1), plus(a.low, -own.high), plus(a.high, own.high));
            }
            case Lt: return yes ? less(at(n, 0), at(n, 1), 1) : !no || less(at(n, 1), at(n, 0), 0);
            case Le: return yes ? less(at(n, 0), at(n, 1), 0) : !no || less(at(n, 1), at(n, 0), 1);
            case Gt: return yes ? less(at(n, 1), at(n, 0), 1) : !no || less(at(n, 0), at(n, 1), 0);
            case Ge: return yes ? less(at(n, 1), at(n, 0), 0) : !no || less(at(n, 0), at(n, 1), 1);
            case Eq:
                if (yes) {
                    for (int32_t i = 1; i < k; ++i)
                        if (!equal(at(n, 0), at(n, i))) return false;
                    return true;
                }
                return !no || k != 2 || differ(store, at(n, 0), at(n, 1));
            case Ne: return yes ? differ(store, at(n, 0), at(n, 1)) : !no || equal(at(n, 0), at(n, 1));
            case In: return membership(store, n, yes, no);
            case Not: return yes ? be_false(at(n, 0)) : !no || be_true(at(n, 0));
            case And:
            case Or: return connective(n, yes, no);
            case Xor:
            case Iff: return parity(n, yes, no);
            case Imp:
                if (no) return be_true(at(n, 0)) && be_false(at(n, 1));
                if (!yes) return true;
                if (child(n, 0).is_true()) return be_true(at(n, 1));
                return !child(n, 1).is_false() || be_false(at(n, 0));
            case If: return choice(n, own);
            case Element: return element(store, n, own);
            default: return true;
        }
    }

    // |operand| lies in `size`.
    bool outside(int32_t n, Interval size) {
        if (size.high < 0 || !meet(n, -size.high, size.high)) return false;
        if (size.low <= 0) return true;
        if (node_[n].low > -size.low && !meet(n, size.low, kFar)) return false;
        return node_[n].high >= size.low || meet(n, -kFar, -size.low);
    }

    bool factors(int32_t n) {
        const Interval own = node_[n];
        const int32_t k = count(n);
        for (int32_t i = 0; i < k; ++i) {
            Interval others{1, 1};
            for (int32_t j = 0; j < k; ++j)
                if (j != i) others = product(others, child(n, j));
            if (others.has(0)) {
                const int64_t most = std::max(std::abs(own.low), std::abs(own.high));
                if (!own.has(0) && !meet(at(n, i), -most, most)) return false;
                if (!own.has(0) && child(n, i).low == 0) child(n, i).low = 1;
                if (!own.has(0) && child(n, i).high == 0) child(n, i).high = -1;
                if (child(n, i).low > child(n, i).high) return false;
                continue;
            }
            int64_t low = kFar, high = -kFar;
            for (int64_t v : {own.low, own.high})
                for (int64_t d : {others.low, others.high}) {
                    low = std::min(low, ceil_div(v, d));
                    high = std::max(high, floor_div(v, d));
                }
            // Between the corners a quotient may be zero.
            if (own.has(0)) low = std::min<int64_t>(low, 0), high = std::max<int64_t>(high, 0);
            if (!meet(at(n, i), low, high)) return false;
        }
        return true;
    }

    bool divisor(Store& store, int32_t n) {
        if (!without(store, at(n, 1), 0)) return false;
        const Interval own = node_[n], b = child(n, 1);
        if (code_[n] == FloorDiv && b.fixed() && b.low > 0)
            return meet(at(n, 0), clamped(__int128(own.low) * b.low), clamped(__int128(own.high) * b.low + b.low - 1));
        if (code_[n] == Div && b.fixed() && b.low > 0) {
            const int64_t d = b.low;
            const __int128 low = own.low > 0 ? __int128(own.low) * d : __int128(own.low) * d - (d - 1);
            const __int128 high = own.high < 0 ? __int128(own.high) * d : __int128(own.high) * d + (d - 1);
            return meet(at(n, 0), clamped(low), clamped(high));
        }
        return true;
    }

    bool extremes(int32_t n) {
        const Interval own = node_[n];
        const int32_t k = count(n);
        const bool least = code_[n] == Min;
        int32_t only = -1, many = 0;
        for (int32_t i = 0; i < k; ++i) {
            if (!(least ? meet(at(n, i), own.low, kFar) : meet(at(n, i), -kFar, own.high))) return false;
            if (least ? child(n, i).low <= own.high : child(n, i).high >= own.low) only = i, ++many;
        }
        if (many == 0) return false;
        if (many > 1) return true;
        return least ? meet(at(n, only), -kFar, own.high) : meet(at(n, only), own.low, kFar);
    }

    bool membership(Store& store, int32_t n, bool yes, bool no) {
        const int32_t k = count(n), node = at(n, 0);
        if (no) {
            for (int32_t i = 1; i < k; ++i)
                if (!differ(store, node, at(n, i))) return false;
            return true;
        }
        if (!yes) return true;
        int64_t low = kFar, high = -kFar;
        for (int32_t i = 1; i < k; ++i) {
            const Interval item = child(n, i);
            if (!node_[node].meets(item)) continue;
            low = std::min(low, item.low), high = std::max(high, item.high);
        }
        if (!meet(node, low, high)) return false;
        if (code_[node] != Slot) return true;
        const int32_t x = scope[operand_[operand_start_[node]]];
        for (int32_t v = store.first(x); v >= 0;) {
            const int32_t next = store.next(x, v);
            bool listed = false;
            for (int32_t i = 1; i < k && !listed; ++i) listed = child(n, i).has(store.value(x, v));
            if (!listed) {
                if (!store.remove(x, v)) return false;
                changed_ = true;
            }
            v = next;
        }
        return true;
    }

    bool connective(int32_t n, bool yes, bool no) {
        const int32_t k = count(n);
        const bool all = code_[n] == And ? yes : no;   // every operand is decided
        const bool some = code_[n] == And ? no : yes;  // one of them is
        const bool wanted = code_[n] == And;           // what all would be
        if (all) {
            for (int32_t i = 0; i < k; ++i)
                if (!be(at(n, i), wanted)) return false;
            return true;
        }
        if (!some) return true;
        int32_t open = -1;
        for (int32_t i = 0; i < k; ++i) {
            if (wanted ? child(n, i).is_true() : child(n, i).is_false()) continue;
            if (open >= 0) return true;
            open = i;
        }
        return open >= 0 && be(at(n, open), !wanted);
    }

    bool parity(int32_t n, bool yes, bool no) {
        const int32_t k = count(n);
        if (!yes && !no) return true;
        int32_t open = -1, odd = 0, true_count = 0;
        for (int32_t i = 0; i < k; ++i) {
            if (child(n, i).is_true())
                odd ^= 1, ++true_count;
            else if (!child(n, i).is_false()) {
                if (open >= 0 && code_[n] == Xor) return true;
                open = i;
            }
        }
        if (code_[n] == Xor) return open < 0 || be(at(n, open), odd != static_cast<int32_t>(yes));
        if (yes) {
            int32_t false_count = 0;
            for (int32_t i = 0; i < k; ++i) false_count += child(n, i).is_false();
            if (true_count == 0 && false_count == 0) return true;
            if (true_count > 0 && false_count > 0) return false;
            for (int32_t i = 0; i < k; ++i)
                if (!be(at(n, i), true_count > 0)) return false;
            return true;
        }
        if (k != 2 || open < 0) return true;
        const int32_t other = 1 - open;
        if (child(n, other).is_true()) return be_false(at(n, open));
        return !child(n, other).is_false() || be_true(at(n, open));
    }

    bool choice(int32_t n, Interval own) {
        const Interval a = child(n, 1), b = child(n, 2);
        const bool a_can = a.low <= own.high && a.high >= own.low, b_can = b.low <= own.high && b.high >= own.low;
        if (!a_can && !be_false(at(n, 0))) return false;
        if (!b_can && !be_true(at(n, 0))) return false;
        if (child(n, 0).is_true()) return meet(at(n, 1), own.low, own.high);
        return !child(n, 0).is_false() || meet(at(n, 2), own.low, own.high);
    }

    bool element(Store& store, int32_t n, Interval own) {
        const int32_t k = count(n), index = at(n, 0);
        if (!meet(index, 0, k - 2)) return false;
        const Now now{store, scope};
        int64_t first = -1, last = -1;
        for (int64_t i = node_[index].low; i <= node_[index].high; ++i) {
            const Interval c = child(n, static_cast<int32_t>(i) + 1);
            const bool can = c.low <= own.high && c.high >= own.low && may_be(now, index, i) &&
                             (!own.fixed() || may_be(now, at(n, static_cast<int32_t>(i) + 1), own.low));
            if (can) {
                if (first < 0) first = i;
                last = i;
            } else if (code_[index] == Slot && i > node_[index].low && i < node_[index].high) {
                const int32_t x = scope[operand_[operand_start_[index]]];
                if (!store.remove_value(x, i)) return false;
            }
        }
        if (first < 0 || !meet(index, first, last)) return false;
        return !node_[index].fixed() || meet(at(n, static_cast<int32_t>(node_[index].low) + 1), own.low, own.high);
    }

    // ── the last two variables, value by value ───────────────────────────────────────────────────────────────────
    bool try_out(Store& store) {
        int32_t open[2] = {-1, -1}, many = 0;
        for (size_t i = 0; i < scope.size(); ++i) {
            if (store.fixed(scope[i])) continue;
            if (many == 2) return true;
            open[many++] = static_cast<int32_t>(i);
        }
        const Problem& problem = store.problem();
        if (many && straight_ && problem.domain_size(scope[open[many - 1]]) > kSmallDomain) return true;
        static thread_local std::vector<int32_t> positions;
        static thread_local std::vector<int64_t> distances;
        positions.resize(problem.variables);
        for (int32_t x : scope) positions[x] = store.first(x);
        int32_t last = many ? open[many - 1] : 0;
        if (!many)  // a check: any slot will do, the smallest domain is the cheapest
            for (size_t i = 1; i < scope.size(); ++i)
                if (problem.domain_size(scope[i]) < problem.domain_size(scope[last])) last = static_cast<int32_t>(i);
        const int32_t y = scope[last];
        distances.resize(problem.domain_size(y));
        if (many <= 1) {
            evaluator_.prepare(constraint, positions.data());
            evaluator_.slot(first_slot_ + last, positions.data(), distances.data());
            if (many == 0) return distances[positions[y]] == 0;
            return drop(store, y, [&](int32_t v) { return distances[v] != 0; });
        }
        const int32_t x = scope[open[0]];
        if (int64_t(store.size(x)) * problem.domain_size(y) > kMostPairs) return true;
        static thread_local std::vector<uint8_t> reached;
        reached.assign(problem.domain_size(y), 0);
        std::vector<int32_t> gone;
        for_each(store, x, [&](int32_t v) {
            positions[x] = v;
            evaluator_.prepare(constraint, positions.data());
            evaluator_.slot(first_slot_ + last, positions.data(), distances.data());
            bool any = false;
            for_each(store, y, [&](int32_t w) {
                any |= distances[w] == 0;
                reached[w] |= distances[w] == 0;
            });
            if (!any) gone.push_back(v);
        });
        for (int32_t v : gone)
            if (!store.remove(x, v)) return false;
        return drop(store, y, [&](int32_t w) { return !reached[w]; });
    }
    template <class Gone>
    static bool drop(Store& store, int32_t x, Gone gone) {
        for (int32_t v = store.first(x); v >= 0;) {
            const int32_t next = store.next(x, v);
            if (gone(v) && !store.remove(x, v)) return false;
            v = next;
        }
        return true;
    }
    static constexpr int32_t kSmallDomain = 64;  // where comparisons of sums are tried out too: bounds miss only holes
    static constexpr int64_t kMostPairs = 1024;  // beyond, trying out costs more than a failed branch

    const Evaluator& evaluator_;
    int32_t first_slot_;
    std::vector<int32_t> code_, operand_start_, operand_;
    std::vector<int64_t> parameter_;
    mutable std::vector<Interval> node_;
    bool changed_ = false;
    int32_t holds_;         // a cell: whether it is known to hold with all values left
    bool indexed_ = false;  // holes of an index count
    bool partial_ = false;  // an operation may be undefined, so that a true root is not enough
    bool straight_ = true;  // only sums, comparisons and connectives
};

}  // namespace

// Rules over two variables with at most so many pairs are looked up: about a millisecond to fill, once for all rules of
// one shape.
constexpr int64_t kLargestPairs = int64_t(1) << 17;

void add_rule(Store& store, const Family& f, const FamilyArrays& arrays, int32_t c, Tables& tables, Propagators& out) {
    const Problem& problem = store.problem();
    const int32_t row = c - f.first_constraint, p = arrays.int32("program")[row];
    const auto node_start = arrays.int32("node_start"), code = arrays.int32("code");
    if (code[node_start[p + 1] - 1] == Circuit) add_circuit(store, arrays, c, row, out);
    const int32_t begin = problem.scope_start[c];
    const int32_t x = problem.scope[begin], y = problem.scope[problem.scope_start[c + 1] - 1];
    if (problem.scope_start[c + 1] - begin == 2 && x != y &&
        int64_t(problem.domain_size(x)) * problem.domain_size(y) <= kLargestPairs) {
        const auto parameter_start = arrays.int64("parameter_start"), parameter = arrays.int64("parameter");
        std::vector<int64_t> key{-1 - int64_t(problem.family_of[c]), p};
        key.insert(key.end(), parameter.begin() + parameter_start[row], parameter.begin() + parameter_start[row + 1]);
        for (int32_t v : {x, y}) {
            key.push_back(problem.domain_size(v));
            key.insert(key.end(), problem.value.begin() + problem.value_start[v],
                       problem.value.begin() + problem.value_start[v + 1]);
        }
        std::vector<int32_t> positions(problem.variables, 0);
        std::vector<int64_t> distances(problem.domain_size(y));
        add_pairs(store, c, key, tables, out, [&](int32_t a, uint8_t* holds) {
            positions[x] = a;
            f.evaluator->prepare(c, positions.data());
            f.evaluator->slot(begin + 1, positions.data(), distances.data());
            for (size_t b = 0; b < distances.size(); ++b) holds[b] = distances[b] == 0;
        });
        return;
    }
    out.push_back(std::make_unique<Rule>(store, f, arrays, c));
}

}  // namespace anycsp::propagation
