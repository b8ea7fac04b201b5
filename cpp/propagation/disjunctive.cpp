#include "propagation/disjunctive.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "families/operations.h"

namespace anycsp::propagation {
namespace {

constexpr int32_t kFewestTimes = 24;          // below, a binary table says more than an order
constexpr size_t kMostDisjunctions = 30'000;  // beyond, the orders cost more than they decide

// ── reading rules ────────────────────────────────────────────────────────────────────────────────────────────────

// The program of one rule over two slots, as arrays of all programs.
class PairRule {
  public:
    PairRule(const Problem& problem, const Family& family, const FamilyArrays& arrays,
             const std::vector<int64_t>& operand_start, int32_t c)
        : code_(arrays.int32("code")),
          count_(arrays.int32("operand_count")),
          operand_(arrays.int32("operand")),
          parameter_(arrays.int64("parameter")),
          operand_start_(operand_start) {
        const int32_t row = c - family.first_constraint, p = arrays.int32("program")[row];
        first_ = arrays.int32("node_start")[p];
        root_ = arrays.int32("node_start")[p + 1] - 1;
        parameter_start_ = arrays.int64("parameter_start")[row];
        const int32_t begin = problem.scope_start[c];
        found_ = {c, {problem.scope[begin], problem.scope[begin + 1]}, {0, 0}};
    }

    // Whether it says that one of two tasks ends before the other begins.
    bool read(Disjunction& out) {
        if (code_[root_] != Or || count_[root_] != 2) return false;
        bool said[2] = {false, false};
        for (int32_t i = 0; i < 2; ++i) {
            Linear difference;
            if (!comparison(child(root_, i), difference)) return false;
            const int first = difference.factor[0] == 1 ? 0 : 1;
            if (difference.factor[first] != 1 || difference.factor[1 - first] != -1 || said[first]) return false;
            found_.length[first] = difference.constant;
            said[first] = true;
        }
        if (found_.length[0] < 0 || found_.length[1] < 0) return false;
        out = found_;
        return true;
    }

  private:
    struct Linear {
        int64_t factor[2] = {0, 0}, constant = 0;
    };
    int32_t child(int32_t node, int32_t i) const { return first_ + operand_[operand_start_[node] + i]; }

    // left ≤ right as difference ≤ 0.
    bool comparison(int32_t node, Linear& difference) const {
        const int32_t code = code_[node];
        if (code < Lt || code > Gt) return false;
        const int64_t sign = code == Lt || code == Le ? 1 : -1;
        difference.constant = code == Lt || code == Gt;
        return add(child(node, 0), sign, difference) && add(child(node, 1), -sign, difference);
    }
    bool add(int32_t node, int64_t factor, Linear& sum) const {
        switch (code_[node]) {
            case Slot: sum.factor[operand_[operand_start_[node]]] += factor; return true;
            case Constant:
                sum.constant += factor * parameter_[parameter_start_ + operand_[operand_start_[node]]];
                return true;
            case Neg: return add(child(node, 0), -factor, sum);
            case Sub: return add(child(node, 0), factor, sum) && add(child(node, 1), -factor, sum);
            case Add:
                for (int32_t i = 0; i < count_[node]; ++i)
                    if (!add(child(node, i), factor, sum)) return false;
                return true;
            default: return false;
        }
    }

    SharedArray<int32_t> code_, count_, operand_;
    SharedArray<int64_t> parameter_;
    const std::vector<int64_t>& operand_start_;
    int32_t first_, root_;
    int64_t parameter_start_;
    Disjunction found_;
};

// ── one pair ─────────────────────────────────────────────────────────────────────────────────────────────────────

class Precedence : public Propagator {
  public:
    Precedence(const Disjunction& d, int32_t order)
        : Propagator(d.constraint, kBinary, kBound | kFixed, true), length_{d.length[0], d.length[1]} {
        scope = {d.task[0], d.task[1], order};
    }
    bool propagate(Store& store) override {
        const int32_t order = scope[2];
        if (!store.fixed(order)) {
            const bool can[2] = {fits(store, 0), fits(store, 1)};
            if (can[0] && can[1]) return true;
            if ((!can[0] && !can[1]) || !store.fix(order, can[0] ? 0 : 1)) return false;
        }
        const int32_t first = store.first(order), a = scope[first], b = scope[1 - first];
        return store.at_least(b, store.low(a) + length_[first]) && store.at_most(a, store.high(b) - length_[first]);
    }

  private:
    bool fits(const Store& store, int32_t first) const {
        return store.low(scope[first]) + length_[first] <= store.high(scope[1 - first]);
    }
    const int64_t length_[2];
};

// ── a machine ────────────────────────────────────────────────────────────────────────────────────────────────────

// Tasks that run one at a time: detectable precedences, and edge finding in O(n²) (Baptiste, Le Pape and Nuijten,
// Constraint-Based Scheduling, 2001, section 2.1), forwards in time and backwards.
class Machine : public Propagator {
  public:
    Machine(int32_t constraint, std::vector<int32_t> tasks, std::vector<int64_t> lengths)
        : Propagator(constraint, kDear, kBound, false), length_(std::move(lengths)) {
        scope = std::move(tasks);
        for (auto* array : {&earliest_, &latest_end_, &better_, &completion_}) array->resize(scope.size());
        order_.resize(scope.size());
    }

    bool propagate(Store& store) override {
        for (const bool backwards : {false, true}) {
            const int64_t sign = backwards ? -1 : 1;
            for (size_t i = 0; i < scope.size(); ++i) {
                const int64_t low = store.low(scope[i]), high = store.high(scope[i]);
                earliest_[i] = backwards ? -(high + length_[i]) : low;
                latest_end_[i] = backwards ? -low : high + length_[i];
            }
            if (!tighten()) return false;
            for (size_t i = 0; i < scope.size(); ++i) {
                if (better_[i] <= earliest_[i]) continue;
                const bool possible = backwards ? store.at_most(scope[i], sign * better_[i] - length_[i])
                                                : store.at_least(scope[i], better_[i]);
                if (!possible) return false;
            }
        }
        return true;
    }

  private:
    static constexpr int64_t kNever = -(int64_t(1) << 60);

    // Later beginnings that follow from the others; false where all tasks do not fit.
    bool tighten() {
        const auto n = static_cast<int32_t>(scope.size());
        std::iota(order_.begin(), order_.end(), 0);
        std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return earliest_[a] < earliest_[b]; });
        better_ = earliest_;
        for (int32_t i = 0; i < n; ++i) {  // those that cannot come after i come before it, one at a time
            int64_t busy_until = kNever;
            for (int32_t j : order_)
                if (j != i && earliest_[i] + length_[i] > latest_end_[j] - length_[j])
                    busy_until = std::max(busy_until, earliest_[j]) + length_[j];
            better_[i] = std::max(better_[i], busy_until);
        }
        for (int32_t k = 0; k < n; ++k)
            if (!edge_finding(latest_end_[k])) return false;
        return true;
    }

    // The tasks that end by `end`: do they fit, and who comes after all of them?
    bool edge_finding(int64_t end) {
        int64_t work = 0, completion = kNever, hurry = kNever;
        for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
            const int32_t i = *it;
            if (latest_end_[i] <= end) {
                work += length_[i];
                completion = std::max(completion, earliest_[i] + work);
                if (completion > end) return false;
            }
            completion_[i] = completion;
        }
        for (int32_t i : order_) {
            if (latest_end_[i] <= end) {
                hurry = std::max(hurry, earliest_[i] + work);
                work -= length_[i];
                continue;
            }
            if (earliest_[i] + work + length_[i] > end) better_[i] = std::max(better_[i], completion_[i]);
            if (hurry + length_[i] > end) better_[i] = std::max(better_[i], completion);
        }
        return true;
    }

    const std::vector<int64_t> length_;
    std::vector<int64_t> earliest_, latest_end_, better_, completion_;
    std::vector<int32_t> order_;
};

}  // namespace

std::vector<Disjunction> find_disjunctions(const Problem& problem, const std::vector<FamilyArrays>& arrays,
                                           const std::vector<uint8_t>& enforced) {
    std::vector<Disjunction> found;
    for (size_t family = 0; family < problem.families.size(); ++family) {
        const Family& f = problem.families[family];
        if (arrays[family].kind != "rule") continue;
        const auto count = arrays[family].int32("operand_count");
        std::vector<int64_t> operand_start{0};
        for (size_t i = 0; i < count.size(); ++i) operand_start.push_back(operand_start.back() + count[i]);
        for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
            const int32_t begin = problem.scope_start[c];
            if (!enforced[c] || problem.scope_start[c + 1] - begin != 2) continue;
            if (problem.domain_size(problem.scope[begin]) < kFewestTimes ||
                problem.domain_size(problem.scope[begin + 1]) < kFewestTimes)
                continue;
            Disjunction one;
            if (PairRule(problem, f, arrays[family], operand_start, c).read(one)) found.push_back(one);
        }
    }
    return found.size() <= kMostDisjunctions ? found : std::vector<Disjunction>{};
}

std::shared_ptr<const Problem> with_orders(std::shared_ptr<const Problem> problem, size_t count) {
    if (count == 0) return problem;
    auto extended = std::make_shared<Problem>(*problem);
    auto start = std::make_shared<std::vector<int32_t>>(problem->value_start.begin(), problem->value_start.end());
    auto value = std::make_shared<std::vector<int64_t>>(problem->value.begin(), problem->value.end());
    for (size_t i = 0; i < count; ++i) {
        value->insert(value->end(), {0, 1});
        start->push_back(static_cast<int32_t>(value->size()));
        extended->variable_slot_start.push_back(extended->variable_slot_start.back());
    }
    extended->variables += static_cast<int32_t>(count);
    extended->value_start = SharedArray<int32_t>(start, start->data(), start->size());
    extended->value = SharedArray<int64_t>(value, value->data(), value->size());
    return extended;
}

std::unique_ptr<Propagator> make_precedence(const Disjunction& disjunction, int32_t order) {
    return std::make_unique<Precedence>(disjunction, order);
}

void add_machines(const std::vector<Disjunction>& disjunctions, Propagators& out) {
    std::map<std::pair<int32_t, int32_t>, std::pair<int64_t, int64_t>> lengths;  // of both tasks, by pair
    std::map<int32_t, std::vector<int32_t>> around;
    for (const Disjunction& d : disjunctions) {
        for (int i = 0; i < 2; ++i) {
            lengths[{d.task[i], d.task[1 - i]}] = {d.length[i], d.length[1 - i]};
            around[d.task[i]].push_back(d.task[1 - i]);
        }
    }
    std::map<std::pair<int32_t, int32_t>, bool> covered;
    for (const Disjunction& d : disjunctions) {
        if (covered[{d.task[0], d.task[1]}]) continue;
        std::vector<int32_t> tasks{d.task[0], d.task[1]};
        std::vector<int64_t> length{d.length[0], d.length[1]};
        for (int32_t other : around[d.task[0]]) {  // whoever is in a pair with all so far
            int64_t own = -1;
            bool fits = true;
            for (size_t i = 0; i < tasks.size() && fits; ++i) {
                const auto pair = lengths.find({tasks[i], other});
                fits =
                    pair != lengths.end() && pair->second.first == length[i] && (own < 0 || own == pair->second.second);
                if (fits) own = pair->second.second;
            }
            if (!fits || other == d.task[1]) continue;
            tasks.push_back(other);
            length.push_back(own);
        }
        for (int32_t a : tasks)
            for (int32_t b : tasks) covered[{a, b}] = true;
        if (tasks.size() > 2) out.push_back(std::make_unique<Machine>(d.constraint, tasks, length));
    }
}

}  // namespace anycsp::propagation
