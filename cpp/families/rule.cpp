// Rules: programs over the values of a scope; see model/program.py, whose arrays these are.
//
// A slot's labels need the program once for every value, but only the nodes above that slot's leaves change: they are
// listed per slot, and long sums are updated by what changed below them. So a value costs the length of the path from
// its leaf to the root, however long the rule. Each of these nodes is computed for all values before the next.
#include <algorithm>
#include <cstdlib>

#include "core/comparison.h"
#include "families/evaluator.h"
#include "families/operations.h"

namespace anycsp {
namespace {

// clang-format off
int32_t fixed_arity(int32_t code) {
    switch (code) {
        case Slot: case Constant: case Neg: case Abs: case Sqr: case Not: return 1;
        case Sub: case Div: case Mod: case FloorDiv: case FloorMod: case Pow: case Dist: return 2;
        case Lt: case Le: case Ge: case Gt: case Ne: case Imp: return 2;
        case If: return 3;
        default: return -1;
    }
}
// clang-format on

// A node that depends on a slot, and which of its operands do.
struct Dependent {
    int32_t node, first_changed, last_changed;
};

struct Program {
    std::vector<int32_t> code, operand_start, operand;
    std::vector<std::vector<Dependent>> dependents;  // by slot, in postfix order
    std::vector<int32_t> changed;

    int32_t nodes() const { return static_cast<int32_t>(code.size()); }
};

struct Scratch {
    int32_t constraint = -1;
    std::vector<int64_t> base, now;  // by node: at the assignment, and with one slot moved
    std::vector<uint8_t> base_bad;   // by node: undefined
    int64_t bad_count = 0;
    std::vector<int64_t> columns;        // the dependents of a slot, each for all values
    std::vector<const int64_t*> column;  // by node: its column, or null where the slot does not matter
    std::vector<int32_t> bad;            // by value: undefined nodes
};
thread_local Scratch scratch;

class Rule : public Evaluator {
  public:
    Rule(const Problem& problem, const Family& family, const Arrays& arrays) : Evaluator(problem, family) {
        program_ = arrays.copy<int32_t>("program", rows());
        parameter_start_ = arrays.copy<int64_t>("parameter_start", rows() + 1);
        parameter_ = arrays.copy<int64_t>("parameter");
        require_start(parameter_start_, parameter_.size(), "rule: parameters not covered");
        read_programs(arrays);
        for (int32_t c = first_constraint_; c < last_constraint_; ++c) {
            require(program_[row(c)] >= 0 && size_t(program_[row(c)]) < programs_.size(), "rule: unknown program");
            const Program& program = programs_[program_[row(c)]];
            const int32_t arity = problem.scope_start[c + 1] - problem.scope_start[c];
            const int64_t parameters = parameter_start_[row(c) + 1] - parameter_start_[row(c)];
            require(program.dependents.size() == size_t(arity), "rule: scope and slots differ in length");
            for (int32_t n = 0; n < program.nodes(); ++n)
                if (program.code[n] == Constant)
                    require(program.operand[program.operand_start[n]] < parameters, "rule: unknown parameter");
        }
    }

    void prepare(int32_t c, const int32_t* positions) const override {
        const Program& program = programs_[program_[row(c)]];
        const int64_t* parameter = parameter_.data() + parameter_start_[row(c)];
        scratch.constraint = c;
        scratch.base.resize(program.nodes());
        scratch.base_bad.resize(program.nodes());
        scratch.bad_count = 0;
        for (int32_t n = 0; n < program.nodes(); ++n) {
            const int32_t* operand = program.operand.data() + program.operand_start[n];
            uint8_t bad = 0;
            if (program.code[n] == Slot) {
                const int32_t x = problem_.scope[problem_.scope_start[c] + operand[0]];
                scratch.base[n] = problem_.value[problem_.value_start[x] + positions[x]];
            } else if (program.code[n] == Constant) {
                scratch.base[n] = parameter[operand[0]];
            } else {
                const int32_t count = program.operand_start[n + 1] - program.operand_start[n];
                scratch.base[n] = apply(program.code[n], scratch.base.data(), operand, count, bad);
            }
            scratch.base_bad[n] = bad;
            scratch.bad_count += bad;
        }
        scratch.now = scratch.base;
        scratch.column.assign(program.nodes(), nullptr);
    }

    void slot(int32_t s, const int32_t*, int64_t* out) const override {
        const int32_t c = scratch.constraint, x = problem_.scope[s], size = problem_.domain_size(x);
        const Program& program = programs_[program_[row(c)]];
        const auto& dependents = program.dependents[s - problem_.scope_start[c]];
        int64_t bad_elsewhere = scratch.bad_count;
        for (const Dependent& d : dependents) bad_elsewhere -= scratch.base_bad[d.node];
        scratch.bad.assign(size, static_cast<int32_t>(bad_elsewhere));
        scratch.columns.resize(dependents.size() * size);
        int64_t* column = scratch.columns.data();
        for (const Dependent& d : dependents) {
            if (program.code[d.node] == Slot)
                std::copy_n(problem_.value.data() + problem_.value_start[x], size, column);
            else
                fill(program, d, size, column);
            scratch.column[d.node] = column;
            column += size;
        }
        measure(program, size, out);
        for (const Dependent& d : dependents) scratch.column[d.node] = nullptr;
    }

  private:
    // An operand for every value: its column, or the one number it is.
    struct Operand {
        const int64_t* at;
        int32_t stride;
        int64_t operator[](int32_t v) const { return at[v * stride]; }
    };
    static Operand operand(int32_t node) {
        const int64_t* column = scratch.column[node];
        return column ? Operand{column, 1} : Operand{&scratch.base[node], 0};
    }

    template <class Function>
    static void map(const Program& program, int32_t node, int32_t size, int64_t* out, Function function) {
        const int32_t* o = program.operand.data() + program.operand_start[node];
        const Operand a = operand(o[0]), b = operand(o[1]);
        for (int32_t v = 0; v < size; ++v) out[v] = function(a[v], b[v]);
    }

    // One node for all values of the slot.
    static void fill(const Program& program, const Dependent& d, int32_t size, int64_t* out) {
        const int32_t n = d.node, first = program.operand_start[n], count = program.operand_start[n + 1] - first;
        if (program.code[n] == Add) {
            std::fill_n(out, size, scratch.base[n]);
            for (int32_t i = d.first_changed; i < d.last_changed; ++i) {
                const int32_t child = program.changed[i];
                const int64_t before = scratch.base[child], *now = scratch.column[child];
                for (int32_t v = 0; v < size; ++v) out[v] += now[v] - before;
            }
            return;
        }
        if (count == 2) {
            switch (program.code[n]) {
                case Sub: return map(program, n, size, out, [](int64_t a, int64_t b) { return a - b; });
                case Mul: return map(program, n, size, out, [](int64_t a, int64_t b) { return a * b; });
                case Dist: return map(program, n, size, out, [](int64_t a, int64_t b) { return std::abs(a - b); });
                case Lt: return map(program, n, size, out, [](int64_t a, int64_t b) { return a < b; });
                case Le: return map(program, n, size, out, [](int64_t a, int64_t b) { return a <= b; });
                case Ge: return map(program, n, size, out, [](int64_t a, int64_t b) { return a >= b; });
                case Gt: return map(program, n, size, out, [](int64_t a, int64_t b) { return a > b; });
                case Eq: return map(program, n, size, out, [](int64_t a, int64_t b) { return a == b; });
                case Ne: return map(program, n, size, out, [](int64_t a, int64_t b) { return a != b; });
                case And: return map(program, n, size, out, [](int64_t a, int64_t b) { return (a != 0) & (b != 0); });
                case Or: return map(program, n, size, out, [](int64_t a, int64_t b) { return (a != 0) | (b != 0); });
                case Imp: return map(program, n, size, out, [](int64_t a, int64_t b) { return (a == 0) | (b != 0); });
                default: break;
            }
        }
        for (int32_t v = 0; v < size; ++v) {
            for (int32_t i = d.first_changed; i < d.last_changed; ++i)
                scratch.now[program.changed[i]] = scratch.column[program.changed[i]][v];
            uint8_t bad = 0;
            out[v] = apply(program.code[n], scratch.now.data(), program.operand.data() + first, count, bad);
            scratch.bad[v] += bad;
        }
        for (int32_t i = d.first_changed; i < d.last_changed; ++i)
            scratch.now[program.changed[i]] = scratch.base[program.changed[i]];
    }

    // How far the root is from true: for a comparison the difference of its sides, else 0 or 1.
    static void measure(const Program& program, int32_t size, int64_t* out) {
        const int32_t root = program.nodes() - 1;
        const Operand truth = operand(root);
        const int32_t* o = program.operand.data() + program.operand_start[root];
        const int32_t count = program.operand_start[root + 1] - program.operand_start[root];
        int32_t op = -1;
        if (count == 2) switch (program.code[root]) {
                case Lt: op = LT; break;
                case Le: op = LE; break;
                case Ge: op = GE; break;
                case Gt: op = GT; break;
                case Eq: op = EQ; break;
                default: break;
            }
        for (int32_t v = 0; v < size; ++v) out[v] = scratch.bad[v] > 0 || truth[v] == 0;
        if (op < 0) return;
        const Operand left = operand(o[0]), right = operand(o[1]);
        for (int32_t v = 0; v < size; ++v)
            if (out[v] && scratch.bad[v] == 0) out[v] = distance(op, left[v] - right[v]);
    }

    void read_programs(const Arrays& arrays) {
        const auto node_start = arrays.copy<int32_t>("node_start");
        const auto code = arrays.copy<int32_t>("code");
        const auto operand_count = arrays.copy<int32_t>("operand_count", code.size());
        const auto operand = arrays.copy<int32_t>("operand");
        require_start(node_start, code.size(), "rule: nodes not covered");
        size_t at = 0;
        for (size_t p = 0; p + 1 < node_start.size(); ++p) {
            Program program;
            program.operand_start.push_back(0);
            require(node_start[p] < node_start[p + 1], "rule: an empty program");
            const int32_t nodes = node_start[p + 1] - node_start[p];
            int32_t slots = 0;
            for (int32_t i = node_start[p]; i < node_start[p + 1]; ++i) {
                const int32_t n = i - node_start[p], count = operand_count[i], fixed = fixed_arity(code[i]);
                require(code[i] >= 0 && code[i] < Codes, "rule: unknown operation");
                require(count >= 1 && (fixed < 0 || fixed == count), "rule: wrong number of operands");
                require(at + count <= operand.size(), "rule: operands not covered");
                // Slots are numbered as they occur, so that no number is beyond the program.
                const int32_t limit = code[i] == Slot ? nodes : code[i] == Constant ? INT32_MAX : n;
                for (int32_t k = 0; k < count; ++k) {
                    require(operand[at + k] >= 0 && operand[at + k] < limit,
                            "rule: an operand that is no earlier node");
                    program.operand.push_back(operand[at + k]);
                }
                if (code[i] == Slot) slots = std::max(slots, operand[at] + 1);
                at += count;
                program.code.push_back(code[i]);
                program.operand_start.push_back(static_cast<int32_t>(program.operand.size()));
            }
            list_dependents(program, slots);
            programs_.push_back(std::move(program));
        }
        require(at == operand.size(), "rule: operands not covered");
    }

    static void list_dependents(Program& program, int32_t slots) {
        program.dependents.resize(slots);
        // In a tree every node has one parent: walk from each leaf to the root, join the paths of a slot.
        std::vector<int32_t> parent(program.nodes(), -1);
        for (int32_t n = 0; n < program.nodes(); ++n) {
            if (program.code[n] == Slot || program.code[n] == Constant) continue;
            for (int32_t i = program.operand_start[n]; i < program.operand_start[n + 1]; ++i) {
                require(parent[program.operand[i]] < 0, "rule: a node with two parents");
                parent[program.operand[i]] = n;
            }
        }
        for (int32_t n = 0; n + 1 < program.nodes(); ++n) require(parent[n] >= 0, "rule: a node that nothing uses");
        std::vector<std::vector<int32_t>> nodes(slots);
        for (int32_t n = 0; n < program.nodes(); ++n)
            if (program.code[n] == Slot)
                for (int32_t up = n; up >= 0; up = parent[up])
                    nodes[program.operand[program.operand_start[n]]].push_back(up);
        std::vector<int32_t> seen(program.nodes(), -1);
        for (int32_t slot = 0; slot < slots; ++slot) {
            auto& list = nodes[slot];
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
            for (int32_t n : list) seen[n] = slot;
            for (int32_t n : list) {
                Dependent d{n, static_cast<int32_t>(program.changed.size()), 0};
                if (program.code[n] != Slot)
                    for (int32_t i = program.operand_start[n]; i < program.operand_start[n + 1]; ++i)
                        if (seen[program.operand[i]] == slot) program.changed.push_back(program.operand[i]);
                d.last_changed = static_cast<int32_t>(program.changed.size());
                program.dependents[slot].push_back(d);
            }
        }
    }

    std::vector<Program> programs_;
    std::vector<int32_t> program_;
    std::vector<int64_t> parameter_start_, parameter_;
};

}  // namespace

extern const FamilyDefinition rule_family = evaluated<Rule>("rule");

}  // namespace anycsp
