// Which constraints every move keeps, and the variables that move together for it.

#include <algorithm>
#include <set>

#include "families/operations.h"
#include "invariants/matching.h"
#include "invariants/model.h"

namespace anycsp::invariants {
namespace {

constexpr size_t kShortestSum = 3;          // variables: of two, one is as well defined by the other
constexpr int64_t kLargestGroup = 500'000;  // edges of a matching, which is found at every start

}  // namespace

bool Model::free_for_group(const std::vector<int32_t>& variables) const {
    for (int32_t x : variables)
        if (definition_[x].constraint >= 0 || group_of_[x] >= 0 || x == bounded_) return false;
    return variables.size() >= 2;
}

void Model::take(Group group) {
    for (int32_t x : group.variables) group_of_[x] = static_cast<int32_t>(groups_.size());
    for (int32_t c : group.constraints) implicit_[c] = 1;
    groups_.push_back(std::move(group));
}

// Circuits through all nodes, any of which may follow any other.
void Model::add_circuits() {
    for (int32_t c = 0; c < problem_->constraints; ++c) {
        if (!enforced_[c] || !is(c, "rule")) continue;
        const Rule r = rule(c);
        const int32_t nodes = r.code(r.root()) == Circuit ? r.count(r.root()) : 0;
        Group group{Group::circuit, {}, {c}};
        bool complete = nodes >= 4;
        for (int32_t k = 0; k < nodes && complete; ++k) {
            const int32_t x = r.variable(r.child(r.root(), k));
            complete = x >= 0 && r.occurrences(x) == 1 && !allows(x, k);
            for (int32_t to = 0; to < nodes && complete; ++to) complete = to == k || allows(x, to);
            group.variables.push_back(x);
        }
        if (complete && free_for_group(group.variables)) take(std::move(group));
    }
}

// The longest first. What is fixed takes no part; its value is no choice of the others any more.
void Model::add_different() {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < problem_->constraints; ++c)
        if (enforced_[c] && family(c).kind == Kind::all_different) order.push_back(c);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return end(a) - begin(a) > end(b) - begin(b); });
    for (int32_t c : order) {
        const Family& f = family(c);
        Group group{Group::different, {}, {c}};
        std::vector<int64_t> taken;
        bool plain = true, within = true;
        int32_t own = -2;
        for (int32_t s = begin(c); s < end(c) && plain; ++s) {
            const int32_t x = problem_->scope[s];
            for (int32_t v = 0; v < problem_->domain_size(x); ++v)
                plain &= f.bin_counts[f.edge_bin[family_edge(c, s) + v]];
            if (fixed(x))
                taken.push_back(value(x, choices_[x][0]));
            else
                group.variables.push_back(x);
            if (own == -2) own = group_of_[x];
            within &= own >= 0 && group_of_[x] == own;
        }
        if (plain && within && own >= 0 && groups_[own].kind != Group::counted) {  // a circuit's own
            groups_[own].constraints.push_back(c);
            implicit_[c] = 1;
            continue;
        }
        for (int64_t v : taken)
            for (int32_t x : group.variables) plain &= !allows(x, v);
        std::sort(taken.begin(), taken.end());
        plain &= std::unique(taken.begin(), taken.end()) == taken.end();
        if (!plain || problem_->edge_start[end(c)] - problem_->edge_start[begin(c)] > kLargestGroup) continue;
        if (!free_for_group(group.variables)) continue;
        std::vector<int64_t> values;
        if (match_different(*this, group, nullptr, values)) take(std::move(group));
    }
}

// Σ times · [x = value] = bound, over one value.
bool Model::counts_one_value(int32_t c, int64_t& counted, int64_t& times) const {
    const Family& f = family(c);
    if ((f.kind != Kind::linear && f.kind != Kind::sum) || comparison(c) != EQ) return false;
    times = 0;
    std::vector<int32_t> uncounted;
    for (int32_t s = begin(c); s < end(c); ++s) {
        const int32_t x = problem_->scope[s];
        int32_t nonzero = 0;
        for (int32_t v = 0; v < problem_->domain_size(x); ++v) {
            const int64_t term =
                f.kind == Kind::linear ? f.coefficient[family_slot(c, s)] * value(x, v) : f.term[family_edge(c, s) + v];
            if (term == 0) continue;
            if (times == 0) times = term, counted = value(x, v);
            if (++nonzero > 1 || term != times || value(x, v) != counted) return false;
        }
        if (nonzero == 0) uncounted.push_back(x);
    }
    for (int32_t x : uncounted)  // the group would count it: it may not have the value
        for (int32_t v = 0; v < problem_->domain_size(x); ++v)
            if (value(x, v) == counted) return false;
    return times != 0 && bound(c) % times == 0;
}

// Values that occur a given number of times in the same variables.
void Model::add_counted() {
    std::map<std::vector<int32_t>, Group> by_scope;
    std::vector<std::vector<int32_t>> order;
    for (int32_t c = 0; c < problem_->constraints; ++c) {
        int64_t counted = 0, times = 0;
        if (!enforced_[c] || defines_[c] || !counts_one_value(c, counted, times)) continue;
        std::vector<int32_t> scope(problem_->scope.begin() + begin(c), problem_->scope.begin() + end(c));
        std::sort(scope.begin(), scope.end());
        int64_t needed = bound(c) / times;
        std::vector<int32_t> open;
        for (int32_t x : scope) {
            if (fixed(x))
                needed -= value(x, choices_[x][0]) == counted;
            else
                open.push_back(x);
        }
        if (needed < 0 || needed > int64_t(open.size())) continue;
        auto [at, fresh] = by_scope.try_emplace(scope, Group{Group::counted, open, {}});
        if (fresh) order.push_back(scope);
        if (at->second.occurs.count(counted)) continue;
        at->second.occurs[counted] = static_cast<int32_t>(needed);
        at->second.constraints.push_back(c);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const auto& scope : order) {
        Group& group = by_scope.at(scope);
        std::vector<int64_t> values;
        if (free_for_group(group.variables) && match_counted(*this, group, nullptr, values)) take(std::move(group));
    }
}

// x + y + … = total, the longest first. With other signs a sum rather says what one of its variables is.
void Model::add_sums() {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < problem_->constraints; ++c)
        if (enforced_[c] && !defines_[c] && !implicit_[c] && family(c).kind == Kind::linear && comparison(c) == EQ)
            order.push_back(c);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return end(a) - begin(a) > end(b) - begin(b); });
    for (int32_t c : order) {
        const int64_t unit = family(c).coefficient[family_slot(c, begin(c))];
        Group group{Group::sum, {}, {c}};
        bool plain = unit != 0 && bound(c) % unit == 0;
        group.total = plain ? bound(c) / unit : 0;
        std::set<int32_t> seen;
        for (int32_t s = begin(c); s < end(c) && plain; ++s) {
            const int32_t x = problem_->scope[s];
            plain = family(c).coefficient[family_slot(c, s)] == unit && seen.insert(x).second;
            if (fixed(x))
                group.total -= value(x, choices_[x][0]);
            else
                group.variables.push_back(x);
        }
        if (!plain || group.variables.size() < kShortestSum || !free_for_group(group.variables)) continue;
        std::vector<int64_t> values;
        if (match_sum(*this, group, nullptr, values)) take(std::move(group));
    }
}

}  // namespace anycsp::invariants
