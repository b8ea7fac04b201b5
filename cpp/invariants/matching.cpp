#include "invariants/matching.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "invariants/model.h"

namespace anycsp::invariants {
namespace {

constexpr int32_t kNobody = -1;

void shuffle(std::vector<int32_t>& items, local::Random* random) {
    if (!random) return;
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random->below(static_cast<uint32_t>(i))]);
}

// Each of the left finds a partner on the right, whoever is in the way finds another. `partner`: by right.
class Matching {
  public:
    Matching(std::vector<std::vector<int32_t>> edges, size_t rights)
        : edges_(std::move(edges)), partner(rights, kNobody) {}

    bool place(int32_t left) {
        seen_.assign(partner.size(), 0);
        return augment(left);
    }

  private:
    // Iterative: a path may be as long as the group. Breadth first, so that it is short.
    bool augment(int32_t left) {
        std::vector<int32_t> queue{left}, came_from(partner.size(), kNobody);
        for (size_t k = 0; k < queue.size(); ++k)
            for (int32_t right : edges_[queue[k]]) {
                if (seen_[right]) continue;
                seen_[right] = 1;
                came_from[right] = queue[k];
                if (partner[right] != kNobody) {
                    queue.push_back(partner[right]);
                    continue;
                }
                for (int32_t at = right; at != kNobody;) {
                    const int32_t owner = came_from[at];
                    int32_t before = kNobody;
                    for (size_t r = 0; r < partner.size() && owner != left; ++r)
                        if (partner[r] == owner) before = static_cast<int32_t>(r);
                    partner[at] = owner;
                    at = before;
                }
                return true;
            }
        return false;
    }

    std::vector<std::vector<int32_t>> edges_;
    std::vector<uint8_t> seen_;

  public:
    std::vector<int32_t> partner;
};

}  // namespace

bool match_different(const Model& model, const Group& group, local::Random* random, std::vector<int64_t>& values) {
    std::map<int64_t, int32_t> index;
    std::vector<int64_t> value_of;
    std::vector<std::vector<int32_t>> edges;
    for (int32_t x : group.variables) {
        edges.emplace_back();
        for (int32_t position : model.choices(x)) {
            const int64_t value = model.value(x, position);
            const auto [at, fresh] = index.try_emplace(value, static_cast<int32_t>(value_of.size()));
            if (fresh) value_of.push_back(value);
            edges.back().push_back(at->second);
        }
        shuffle(edges.back(), random);
    }
    Matching matching(edges, value_of.size());
    std::vector<int32_t> order(group.variables.size());
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, random);
    std::vector<uint8_t> placed(order.size(), 0);
    if (!values.empty())
        for (int32_t i : order) {
            const auto at = index.find(values[i]);
            if (at == index.end() || matching.partner[at->second] != kNobody) continue;
            if (!model.allows(group.variables[i], values[i])) continue;
            matching.partner[at->second] = i;
            placed[i] = 1;
        }
    for (int32_t i : order)
        if (!placed[i] && !matching.place(i)) return false;
    values.assign(order.size(), 0);
    for (size_t r = 0; r < value_of.size(); ++r)
        if (matching.partner[r] != kNobody) values[matching.partner[r]] = value_of[r];
    return true;
}

bool match_counted(const Model& model, const Group& group, local::Random* random, std::vector<int64_t>& values) {
    std::vector<int64_t> copies;  // as often as each value is to occur
    for (const auto& [value, times] : group.occurs) copies.insert(copies.end(), times, value);
    std::vector<int32_t> order(group.variables.size());
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, random);
    // Those first that can take nothing but a counted value.
    std::vector<std::vector<int64_t>> others(order.size());
    for (size_t i = 0; i < order.size(); ++i)
        for (int32_t position : model.choices(group.variables[i])) {
            const int64_t value = model.value(group.variables[i], position);
            if (!group.occurs.count(value)) others[i].push_back(value);
        }
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return others[a].empty() > others[b].empty(); });
    std::vector<std::vector<int32_t>> edges(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        for (size_t k = 0; k < copies.size(); ++k)
            if (model.allows(group.variables[i], copies[k])) edges[i].push_back(static_cast<int32_t>(k));
        shuffle(edges[i], random);
    }
    Matching matching(edges, copies.size());
    size_t placed = 0;
    std::vector<uint8_t> done(order.size(), 0);
    if (!values.empty())
        for (int32_t i : order)
            for (size_t k = 0; k < copies.size() && !done[i]; ++k)
                if (copies[k] == values[i] && matching.partner[k] == kNobody &&
                    model.allows(group.variables[i], values[i])) {
                    matching.partner[k] = i;
                    done[i] = 1;
                    ++placed;
                }
    for (int32_t i : order) {
        if (done[i]) continue;
        const bool found = placed < copies.size() && matching.place(i);
        placed += found;
        if (!found && others[i].empty()) return false;
    }
    if (placed < copies.size()) return false;
    std::vector<int64_t> before = values;
    values.assign(order.size(), 0);
    std::vector<uint8_t> counted(order.size(), 0);
    for (size_t k = 0; k < copies.size(); ++k) {
        values[matching.partner[k]] = copies[k];
        counted[matching.partner[k]] = 1;
    }
    for (size_t i = 0; i < order.size(); ++i) {
        if (counted[i]) continue;
        const bool stays =
            !before.empty() && std::find(others[i].begin(), others[i].end(), before[i]) != others[i].end();
        if (others[i].empty()) return false;
        values[i] = stays ? before[i] : others[i][random ? random->below(static_cast<uint32_t>(others[i].size())) : 0];
    }
    return true;
}

// Every variable in turn takes what is nearest to making up for the rest.
bool match_sum(const Model& model, const Group& group, local::Random* random, std::vector<int64_t>& values) {
    std::vector<int32_t> order(group.variables.size());
    std::iota(order.begin(), order.end(), 0);
    const auto nearest = [&](int32_t i, int64_t wanted) {
        int64_t best = model.value(group.variables[i], model.choices(group.variables[i])[0]);
        for (int32_t position : model.choices(group.variables[i])) {
            const int64_t value = model.value(group.variables[i], position);
            if (std::abs(value - wanted) < std::abs(best - wanted)) best = value;
        }
        return best;
    };
    int64_t rest = group.total;
    values.resize(order.size(), 0);
    for (int32_t i : order) {
        values[i] = nearest(i, values[i]);
        rest -= values[i];
    }
    constexpr int kRounds = 3;  // over holes a later variable may leave what an earlier one can make up for
    for (int round = 0; round < kRounds && rest != 0; ++round) {
        shuffle(order, random);
        for (int32_t i : order) {
            const int64_t now = nearest(i, values[i] + rest);
            if (std::abs(rest - (now - values[i])) >= std::abs(rest)) continue;
            rest -= now - values[i];
            values[i] = now;
        }
    }
    return rest == 0;
}

}  // namespace anycsp::invariants
