// The operations of a rule's program.
#pragma once

#include <cstdint>

namespace anycsp::propagation {

// The order of OPERATIONS in model/expressions.py.
enum Code : int32_t {
    Slot,
    Constant,
    Neg,
    Abs,
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    FloorDiv,
    FloorMod,
    Sqr,
    Pow,
    Min,
    Max,
    Dist,
    Lt,
    Le,
    Ge,
    Gt,
    Eq,
    Ne,
    In,
    Not,
    And,
    Or,
    Xor,
    Iff,
    Imp,
    If,
    Element,
    Distinct,
    Circuit,
};

}  // namespace anycsp::propagation
