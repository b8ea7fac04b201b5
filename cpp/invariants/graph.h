// The invariant graph: integers that follow from others, in an order in which each comes after what it follows from.
// Its leaves are the variables that a search may set; the penalties of constraints, the variables that others determine
// and the objective are nodes above them. In the manner of Comet, OscaR.cbls and Yuck.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/problem.h"
#include "families/penalties.h"

namespace anycsp::invariants {

enum class Op : uint8_t {
    constant,   // a
    variable,   // whatever the search sets it to
    sum,        // a + Σ of what is seen of the operands
    extremum,   // code +1: the largest seen, −1: the smallest
    lookup,     // what is seen of the one operand
    operation,  // families/operations.h, by code
    undefined,  // 1 where that operation has no value
    distance,   // how far the operand is from `∘ a`, ∘ being code
    repeats,    // how many operands share a bin with an earlier one; the histogram's cells begin at a
    distinct,   // in how many bins there are operands
    circuit,    // how far successors are from one circuit
    tuples,     // how far the operands are from a row of the list a
    nearest,    // the value of variable `code` nearest to the operand
    external,   // 1 where only Python can tell, and says that constraint `code` is violated
};

// What an operand is seen as: coefficient · value, or the entry of a table.
struct Function {
    int32_t variable;  // the table goes by this variable's positions; −1: by value − low
    int64_t low;
    int32_t size;
    const int64_t* table;
};

// Rows of positions that are allowed or forbidden; with `high` they are boxes from low to high.
struct Rows {
    const int32_t *low, *high;
    int32_t rows, arity;
    bool allowed;
    SharedArray<int32_t> kept[2] = {};  // what low and high point into, where it is nobody else's
};

struct Node {
    Op op;
    int32_t code = 0;
    int32_t first = 0, count = 0;  // operands
    int64_t a = 0;
    int32_t level = 0;  // above all operands
};

struct Operand {
    int32_t node;
    int64_t coefficient = 1;
    int32_t function = -1;  // −1: the coefficient counts
};

struct Use {
    int32_t node, operand;
};

struct Interval {
    int64_t low, high;
};

class Graph {
  public:
    Graph(std::shared_ptr<const Problem> problem, ExternalLabels external);

    int32_t constant(int64_t value);
    int32_t variable(int32_t x, Interval values);
    // Constants among the operands are folded; a sum of one operand as it is is that operand.
    int32_t sum(std::vector<Operand> operands, int64_t constant);
    int32_t extremum(int32_t sign, const std::vector<Operand>& operands);
    int32_t lookup(int32_t node, int32_t function);
    int32_t operation(int32_t code, const std::vector<int32_t>& operands);
    int32_t undefined(int32_t code, const std::vector<int32_t>& operands);
    int32_t distance(int32_t comparison, int32_t node, int64_t bound);
    int32_t repeats(const std::vector<Operand>& operands, int32_t bins) {
        return histogram(Op::repeats, operands, bins);
    }
    int32_t distinct(const std::vector<Operand>& operands, int32_t bins) {
        return histogram(Op::distinct, operands, bins);
    }
    int32_t circuit(const std::vector<int32_t>& successors);
    int32_t tuples(const std::vector<Operand>& operands, const Rows& rows);
    int32_t nearest(int32_t x, int32_t node);
    int32_t external(int32_t constraint, const std::vector<Operand>& positions);
    // A node of the same value that nothing else uses.
    int32_t copy(int32_t node);

    // Tables over the positions of a variable, one entry per position; the pointer must outlive the graph.
    int32_t by_position(int32_t x, const int64_t* table);
    int32_t by_position(int32_t x, std::vector<int64_t> table) { return by_position(x, keep(std::move(table))); }
    int32_t by_value(int64_t low, std::vector<int64_t> table);
    int32_t position(int32_t x);

    // No more nodes: who uses whom.
    void finish();

    int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
    int32_t cells() const { return size() + histogram_cells_; }
    int32_t levels() const { return levels_; }
    const Node& node(int32_t n) const { return nodes_[n]; }
    Interval interval(int32_t n) const { return interval_[n]; }
    bool is_constant(int32_t n) const { return nodes_[n].op == Op::constant; }
    const int32_t* operands(int32_t n) const { return operand_.data() + nodes_[n].first; }
    const Use* uses_begin(int32_t n) const { return use_.data() + use_start_[n]; }
    const Use* uses_end(int32_t n) const { return use_.data() + use_start_[n + 1]; }
    const Rows& rows(int32_t n) const { return rows_[nodes_[n].a]; }
    int32_t histogram_start(int32_t n) const { return size() + static_cast<int32_t>(nodes_[n].a); }
    const Problem& problem() const { return *problem_; }
    const ExternalLabels& external_labels() const { return external_; }

    // Of operand number i of all: whether it is seen as a multiple of its value, and as which.
    bool is_scaled(int32_t i) const { return function_[i] < 0 && coefficient_[i] != 0; }
    int64_t coefficient(int32_t i) const { return coefficient_[i]; }
    // What it shows of a value.
    int64_t seen(int32_t i, int64_t value) const {
        return function_[i] < 0 ? coefficient_[i] * value : entry(functions_[function_[i]], value);
    }
    int64_t entry(const Function& f, int64_t value) const {
        const int64_t at = f.variable < 0 ? value - f.low : nearest_position(f.variable, value);
        return f.table[at < 0 ? 0 : at >= f.size ? f.size - 1 : at];
    }
    // In the whole domain, as the problem has it.
    int32_t nearest_position(int32_t x, int64_t value) const {
        const Interval range = range_[x];
        if (consecutive_[x])
            return static_cast<int32_t>((value < range.low    ? range.low
                                         : value > range.high ? range.high
                                                              : value) -
                                        range.low);
        return search_position(x, value);
    }
    Interval range(int32_t x) const { return range_[x]; }
    // Whether position p has the value low + p.
    bool consecutive(int32_t x) const { return consecutive_[x]; }

  private:
    int32_t search_position(int32_t x, int64_t value) const;
    int32_t add(Node node, const std::vector<Operand>& operands, Interval interval);
    int32_t histogram(Op op, const std::vector<Operand>& operands, int32_t bins);
    Interval seen_interval(const Operand& operand) const;
    const int64_t* keep(std::vector<int64_t> table);

    std::shared_ptr<const Problem> problem_;
    ExternalLabels external_;
    std::vector<Interval> range_;  // by variable, of its whole domain
    std::vector<uint8_t> consecutive_;
    std::vector<int32_t> sorted_;  // the positions of every domain by their values
    std::vector<Node> nodes_;
    std::vector<Interval> interval_;
    std::vector<int32_t> operand_, function_;  // of all nodes, end to end
    std::vector<int64_t> coefficient_;
    std::vector<Function> functions_;
    std::vector<int32_t> position_function_;  // by variable
    std::deque<std::vector<int64_t>> kept_;
    std::vector<Rows> rows_;
    std::vector<int32_t> use_start_;
    std::vector<Use> use_;
    int32_t histogram_cells_ = 0, levels_ = 1;
};

}  // namespace anycsp::invariants
