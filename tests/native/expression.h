// Expressions drawn as trees, evaluated one number at a time, and written as the programs that rules are read from.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bytes.h"

namespace fuzzing {

// The order of OPERATIONS in model/expressions.py.
enum Operation : int32_t {
    kSlot,
    kConstant,
    kNeg,
    kAbs,
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMod,
    kFloorDiv,
    kFloorMod,
    kSqr,
    kPow,
    kMin,
    kMax,
    kDist,
    kLt,
    kLe,
    kGe,
    kGt,
    kEq,
    kNe,
    kIn,
    kNot,
    kAnd,
    kOr,
    kXor,
    kIff,
    kImp,
    kIf,
    kElement,
    kDistinct,
    kCircuit,
};

struct Expression {
    int32_t operation = kConstant;
    int64_t leaf = 0;  // a slot's number, or a constant
    std::vector<Expression> operands;

    // Nothing where it is undefined: a division by zero, a negative exponent, an index outside its list.
    std::optional<int64_t> evaluate(const std::vector<int64_t>& slots) const;
    void renumber(std::vector<int32_t>& used);  // slots in the order in which they first occur, listed in `used`
};

// Over slots below `slots`; at most `depth` operations deep.
Expression draw_expression(Bytes& bytes, int32_t slots, int32_t depth);

struct Program {
    std::vector<int32_t> code, count, operand;
    std::vector<int64_t> parameter;
};
void write_program(const Expression& expression, Program& to);

}  // namespace fuzzing
