#include "invariants/moves.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "invariants/matching.h"

namespace anycsp::invariants {
namespace {

constexpr int kTries = 8;              // partners looked at before a proposal is given up
constexpr size_t kManyChoices = 16;    // from here on every second value is drawn near the present one
constexpr uint32_t kNear = 4;          // positions
constexpr uint32_t kLongSegment = 50;  // nodes that a reversal turns round at most: each is a change to work out
constexpr uint32_t kShortSegment = 3;  // nodes that move together, as in Or-opt

}  // namespace

void Moves::repair(std::vector<int64_t>& values) {
    for (size_t g = 0; g < model_.groups().size(); ++g) {
        const Group& group = model_.groups()[g];
        if (group.kind == Group::circuit) {
            // Along the successors as far as they lead, then on from a node not visited yet.
            const int32_t nodes = static_cast<int32_t>(group.variables.size());
            std::vector<int32_t> order, left(nodes);
            std::vector<uint8_t> visited(nodes, 0);
            std::iota(left.begin(), left.end(), 0);
            for (int32_t i = nodes; i > 1; --i) std::swap(left[i - 1], left[random_.below(i)]);
            for (int32_t at : left)
                while (at >= 0 && at < nodes && !visited[at]) {
                    visited[at] = 1;
                    order.push_back(at);
                    at = static_cast<int32_t>(values[group.variables[at]]);
                }
            for (int32_t i = 0; i < nodes; ++i) values[group.variables[order[i]]] = order[(i + 1) % nodes];
            continue;
        }
        std::vector<int64_t> own;
        for (int32_t x : group.variables) own.push_back(values[x]);
        const auto match = group.kind == Group::different ? match_different
                           : group.kind == Group::counted ? match_counted
                                                          : match_sum;
        if (!match(model_, group, &random_, own)) {
            own.clear();
            match(model_, group, group.kind == Group::sum ? nullptr : &random_, own);  // there is one: it was found
        }
        for (size_t i = 0; i < own.size(); ++i) values[group.variables[i]] = own[i];
        spare_[g].clear();
        if (group.kind != Group::different) continue;
        std::set<int64_t> all;
        for (int32_t x : group.variables)
            for (int32_t position : model_.choices(x)) all.insert(model_.value(x, position));
        for (int64_t v : own) all.erase(v);
        spare_[g].assign(all.begin(), all.end());
    }
}

const std::vector<Assign>& Moves::propose(int32_t x, int64_t wanted) {
    proposal_.clear();
    spare_group_ = -1;
    const int32_t g = model_.group_of(x);
    if (g < 0) {
        if (wanted != 0) shift(x, wanted);
        if (proposal_.empty()) reassign(x);
        return proposal_;
    }
    const Group& group = model_.groups()[g];
    switch (group.kind) {
        case Group::circuit: reconnect(group, x); break;
        case Group::different:
            // Every value is as likely to come from a variable as from those that nobody has.
            if (random_.below(static_cast<uint32_t>(group.variables.size() + spare_[g].size())) < spare_[g].size())
                exchange(g, x);
            else
                swap(group, x);
            break;
        case Group::sum: transfer(group, x, wanted); break;
        case Group::counted:
            if (!group.occurs.count(value(x)) && random_.below(4) == 0)
                reassign(x);
            else
                swap(group, x);
    }
    return proposal_;
}

void Moves::made() {
    if (spare_group_ >= 0) spare_[spare_group_][spare_place_] = given_back_;
}

void Moves::reassign(int32_t x) {
    const std::vector<int32_t>& choices = model_.choices(x);
    const int64_t now = value(x);
    for (int k = 0; k < kTries; ++k) {
        uint32_t at = random_.below(static_cast<uint32_t>(choices.size()));
        if (choices.size() >= kManyChoices && random_.below(2)) {
            const int32_t own = model_.graph().nearest_position(x, now);
            const auto place = std::lower_bound(choices.begin(), choices.end(), own) - choices.begin();
            const int64_t step = 1 + random_.below(kNear), to = random_.below(2) ? place + step : place - step;
            if (to < 0 || to >= static_cast<int64_t>(choices.size())) continue;
            at = static_cast<uint32_t>(to);
        }
        const int64_t other = model_.value(x, choices[at]);
        const int32_t g = model_.group_of(x);
        if (other == now || (g >= 0 && model_.groups()[g].occurs.count(other))) continue;
        proposal_.push_back({x, other});
        return;
    }
}

void Moves::shift(int32_t x, int64_t wanted) {
    const std::vector<int32_t>& choices = model_.choices(x);
    const int32_t position = model_.graph().nearest_position(x, value(x) + wanted);
    auto at = std::lower_bound(choices.begin(), choices.end(), position);
    if (at == choices.end()) --at;
    if (model_.value(x, *at) != value(x)) proposal_.push_back({x, model_.value(x, *at)});
}

void Moves::swap(const Group& group, int32_t x) {
    const int64_t own = value(x);
    for (int k = 0; k < kTries; ++k) {
        const int32_t y = group.variables[random_.below(static_cast<uint32_t>(group.variables.size()))];
        const int64_t other = value(y);
        if (other == own || !model_.allows(x, other) || !model_.allows(y, own)) continue;
        proposal_.push_back({x, other});
        proposal_.push_back({y, own});
        return;
    }
}

// What one variable gains another gives.
void Moves::transfer(const Group& group, int32_t x, int64_t wanted) {
    if (wanted != 0) shift(x, wanted);
    if (proposal_.empty()) reassign(x);
    if (proposal_.empty()) return;
    const int64_t gain = proposal_[0].value - value(x);
    for (int k = 0; k < kTries; ++k) {
        const int32_t y = group.variables[random_.below(static_cast<uint32_t>(group.variables.size()))];
        const int64_t other = value(y) - gain;
        if (y == x || !model_.allows(y, other)) continue;
        proposal_.push_back({y, other});
        return;
    }
    proposal_.clear();
}

void Moves::exchange(int32_t g, int32_t x) {
    for (int k = 0; k < kTries; ++k) {
        const uint32_t place = random_.below(static_cast<uint32_t>(spare_[g].size()));
        if (!model_.allows(x, spare_[g][place])) continue;
        proposal_.push_back({x, spare_[g][place]});
        spare_group_ = g;
        spare_place_ = static_cast<int32_t>(place);
        given_back_ = value(x);
        return;
    }
}

void Moves::reconnect(const Group& group, int32_t x) {
    const int32_t before =
        static_cast<int32_t>(std::find(group.variables.begin(), group.variables.end(), x) - group.variables.begin());
    if (random_.below(2))
        move_segment(group, before);
    else
        reverse_segment(group, before);
}

// before → a … b → after becomes before → after, and the segment goes between two other neighbours.
void Moves::move_segment(const Group& group, int32_t before) {
    const auto successor = [&](int32_t node) { return static_cast<int32_t>(value(group.variables[node])); };
    const int32_t nodes = static_cast<int32_t>(group.variables.size());
    const uint32_t length = 1 + random_.below(std::min<uint32_t>(kShortSegment, nodes - 3));
    const int32_t first = successor(before);
    int32_t last = first;
    for (uint32_t k = 1; k < length; ++k) last = successor(last);
    const int32_t after = successor(last);
    for (int k = 0; k < kTries; ++k) {
        const int32_t to = static_cast<int32_t>(random_.below(nodes));
        bool inside = to == before;
        for (int32_t at = first; !inside; at = successor(at)) {
            inside = at == to;
            if (at == last) break;
        }
        if (inside) continue;
        proposal_.push_back({group.variables[before], after});
        proposal_.push_back({group.variables[last], successor(to)});
        proposal_.push_back({group.variables[to], first});
        return;
    }
}

// before → a … b → after becomes before → b … a → after.
void Moves::reverse_segment(const Group& group, int32_t before) {
    const auto successor = [&](int32_t node) { return static_cast<int32_t>(value(group.variables[node])); };
    const uint32_t nodes = static_cast<uint32_t>(group.variables.size());
    const uint32_t length = 2 + random_.below(std::min(kLongSegment, nodes - 2) - 1);
    const int32_t first = successor(before);
    int32_t last = first, next = successor(first);
    for (uint32_t k = 1; k < length; ++k) {
        proposal_.push_back({group.variables[next], last});
        last = next;
        next = successor(next);
    }
    proposal_.push_back({group.variables[before], last});
    proposal_.push_back({group.variables[first], next});
}

}  // namespace anycsp::invariants
