// The operations of rules: their codes, and the value of one on the values of its operands.
//
// In an anonymous namespace: its users are few, and each wants them inlined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace anycsp {
namespace {

// clang-format off
// The order of OPERATIONS in model/expressions.py.
enum Code : int32_t {
    Slot, Constant,
    Neg, Abs, Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Sqr, Pow, Min, Max, Dist,
    Lt, Le, Ge, Gt, Eq, Ne, In,
    Not, And, Or, Xor, Iff, Imp, If,
    Element, Distinct, Circuit,
    Codes,
};
// clang-format on

inline int64_t floor_div(int64_t a, int64_t b) {
    const int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

inline bool circuit(const int64_t* value, const int32_t* operand, int32_t count) {
    int32_t active = 0, start = -1;
    for (int32_t i = 0; i < count; ++i) {
        const int64_t next = value[operand[i]];
        if (next < 0 || next >= count) return false;
        if (next == i) continue;
        ++active;
        if (start < 0) start = i;
    }
    if (active < 2) return false;
    int64_t at = start;
    for (int32_t step = 1; step <= count; ++step) {
        at = value[operand[at]];
        if (at == start) return step == active;
    }
    return false;
}

// The value of one operation; `bad` where it is undefined.
inline int64_t apply(int32_t code, const int64_t* value, const int32_t* o, int32_t count, uint8_t& bad) {
    auto at = [&](int32_t i) { return value[o[i]]; };
    bad = 0;
    switch (code) {
        case Neg: return -at(0);
        case Abs: return std::abs(at(0));
        case Add: {
            int64_t sum = 0;
            for (int32_t i = 0; i < count; ++i) sum += at(i);
            return sum;
        }
        case Sub: return at(0) - at(1);
        case Mul: {
            int64_t product = 1;
            for (int32_t i = 0; i < count; ++i) product *= at(i);
            return product;
        }
        case Div: return (bad = at(1) == 0) ? 0 : at(0) / at(1);
        case Mod: return (bad = at(1) == 0) ? 0 : at(0) % at(1);
        case FloorDiv: return (bad = at(1) == 0) ? 0 : floor_div(at(0), at(1));
        case FloorMod: return (bad = at(1) == 0) ? 0 : at(0) - at(1) * floor_div(at(0), at(1));
        case Sqr: return at(0) * at(0);
        case Pow: {
            if ((bad = at(1) < 0)) return 0;
            const int64_t base = at(0);
            if (base == 0 || base == 1 || base == -1) return base == -1 && at(1) % 2 == 0 ? 1 : at(1) == 0 ? 1 : base;
            int64_t result = 1;
            for (int64_t i = 0; i < at(1); ++i) result *= base;
            return result;
        }
        case Min: {
            int64_t best = at(0);
            for (int32_t i = 1; i < count; ++i) best = std::min(best, at(i));
            return best;
        }
        case Max: {
            int64_t best = at(0);
            for (int32_t i = 1; i < count; ++i) best = std::max(best, at(i));
            return best;
        }
        case Dist: return std::abs(at(0) - at(1));
        case Lt: return at(0) < at(1);
        case Le: return at(0) <= at(1);
        case Ge: return at(0) >= at(1);
        case Gt: return at(0) > at(1);
        case Eq:
            for (int32_t i = 1; i < count; ++i)
                if (at(i) != at(0)) return 0;
            return 1;
        case Ne: return at(0) != at(1);
        case In:
            for (int32_t i = 1; i < count; ++i)
                if (at(i) == at(0)) return 1;
            return 0;
        case Not: return at(0) == 0;
        case And:
            for (int32_t i = 0; i < count; ++i)
                if (at(i) == 0) return 0;
            return 1;
        case Or:
            for (int32_t i = 0; i < count; ++i)
                if (at(i) != 0) return 1;
            return 0;
        case Xor: {
            int64_t odd = 0;
            for (int32_t i = 0; i < count; ++i) odd ^= at(i) != 0;
            return odd;
        }
        case Iff:
            for (int32_t i = 1; i < count; ++i)
                if ((at(i) != 0) != (at(0) != 0)) return 0;
            return 1;
        case Imp: return at(0) == 0 || at(1) != 0;
        case If: return at(0) != 0 ? at(1) : at(2);
        case Element: return (bad = at(0) < 0 || at(0) >= count - 1) ? 0 : at(static_cast<int32_t>(at(0)) + 1);
        case Distinct: {
            thread_local std::vector<int64_t> work;
            work.clear();
            for (int32_t i = 0; i < count; ++i) work.push_back(at(i));
            std::sort(work.begin(), work.end());
            return std::unique(work.begin(), work.end()) - work.begin();
        }
        case Circuit: return circuit(value, o, count);
        default: return 0;
    }
}

}  // namespace
}  // namespace anycsp
