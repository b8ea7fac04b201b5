// Tasks of which one ends before the other begins: a + length ≤ b or b + length ≤ a, as rules say it pair by pair.
//
// A tree that branches on starting times tries one time after another; what matters is the order. So each pair gets an
// order variable of two values that belongs to the network alone, and tasks that are all in pairs with one another are a
// machine, whose propagator sees them together.
#pragma once

#include <memory>
#include <vector>

#include "propagation/propagator.h"

namespace anycsp::propagation {

struct Disjunction {
    int32_t constraint;
    int32_t task[2];
    int64_t length[2];
};

// All that the required rules say. None where they are few-valued: those are looked up value by value.
std::vector<Disjunction> find_disjunctions(const Problem& problem, const std::vector<FamilyArrays>& arrays,
                                           const std::vector<uint8_t>& enforced);

// The problem with so many more variables of the values 0 and 1, in no constraint.
std::shared_ptr<const Problem> with_orders(std::shared_ptr<const Problem> problem, size_t count);

// Order 0: the first task before the second; 1: the second before the first.
std::unique_ptr<Propagator> make_precedence(const Disjunction& disjunction, int32_t order);

// A propagator for every machine of three tasks and more.
void add_machines(const std::vector<Disjunction>& disjunctions, Propagators& out);

}  // namespace anycsp::propagation
