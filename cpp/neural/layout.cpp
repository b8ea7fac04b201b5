#include "neural/layout.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace anycsp {
namespace {

constexpr int32_t kChunk = 4096;        // constraints relabelled at a time
constexpr int32_t kGroupVariables = 8;  // gathered for at a time in exceptional families, where blocks hold fewer

// Messages of constraints are gathered at random, so those kept at once should fit the second-level cache. But every
// tile also reads and writes what each variable has received so far; with several slots a variable and tile that is
// the smaller part. One tile is best for what is not much larger than the cache, or smaller than what values receive.
constexpr int64_t kCacheBytes = 1 << 19, kSlotsOfVariable = 4;

// A part of several is worked through in the second-level cache, which holds 1 MB or more, beside weights and buffers.
constexpr int64_t kPartBytes = 5 << 17;

// Rows of a block: enough to reuse the weights fetched into the first-level cache, few enough that a block's
// activations (about ten rows of d floats each) stay in the second.
int32_t block_rows(int32_t hidden) { return hidden <= 64 ? 72 : 48; }

// Products of d×d per step, in units of d² multiply-adds. The linear form trades M_C's three products per
// constraint for half a product (a triangular one), against two more per value and two per variable.
Form choose_form(const Problem& p, Aggregation aggregation, const std::string& wanted) {
    if (wanted != "auto" && wanted != "direct" && wanted != "linear")
        throw std::invalid_argument("unknown form " + wanted);
    if (aggregation == Aggregation::max) {
        if (wanted == "linear") throw std::invalid_argument("MAX has no linear form");
        return Form::direct;
    }
    if (wanted != "auto") return wanted == "linear" ? Form::linear : Form::direct;
    double saved = 2.5 * p.constraints, added = 2.0 * p.values() + 2.0 * p.variables;
    return saved > added ? Form::linear : Form::direct;
}

std::vector<float> relative_weights(const Problem& p) {
    std::vector<double> total(p.instances, 0), count(p.instances, 0);
    for (int32_t c = 0; c < p.constraints; ++c) {
        total[p.constraint_instance[c]] += double(p.weight[c]);
        count[p.constraint_instance[c]] += 1;
    }
    std::vector<float> result(p.constraints);
    for (int32_t c = 0; c < p.constraints; ++c) {
        int32_t i = p.constraint_instance[c];
        result[c] = static_cast<float>(double(p.weight[c]) / (total[i] / count[i]));
    }
    return result;
}

// The columns of KIND in tensors.py.
constexpr int32_t kKinds = 6;

int32_t kind_column(Kind kind) {
    switch (kind) {
        case Kind::clause: return 0;
        case Kind::matching: return 1;
        case Kind::dense:
        case Kind::tuples: return 2;
        case Kind::linear:
        case Kind::sum: return 3;
        case Kind::all_different: return 4;
        default: return 5;
    }
}

}  // namespace

Layout::Layout(const Problem& p, Aggregation aggregation, int32_t hidden, bool weighted, bool kinds, const char* wanted,
               int64_t tile_bytes, bool in_parts)
    : form(choose_form(p, aggregation, wanted)), relative_weight(relative_weights(p)) {
    constraint_edges.resize(p.constraints);
    for (int32_t c = 0; c < p.constraints; ++c)
        constraint_edges[c] = static_cast<float>(p.edge_start[p.scope_start[c + 1]] - p.edge_start[p.scope_start[c]]);
    describe_constraints(p, weighted, kinds);

    // Labels are stored for families that are not exceptional, one family after another.
    bool any_labelled = false, any_exceptional = false;
    for (const Family& f : p.families) (f.exceptional() ? any_exceptional : any_labelled) = true;
    if (any_labelled) label_start.assign(p.slots(), -1);
    for (const Family& f : p.families) {
        if (f.exceptional()) continue;
        for (int32_t s = p.scope_start[f.first_constraint]; s < p.scope_start[f.last_constraint]; ++s) {
            label_start[s] = labels;
            labels += p.domain_size(p.scope[s]);
        }
    }

    degree.resize(p.variables);
    for (int32_t x = 0; x < p.variables; ++x)
        degree[x] = static_cast<float>(p.variable_slot_start[x + 1] - p.variable_slot_start[x]);
    parts = {{{0, p.variables}, {0, p.constraints}, {}, {}, {}}};
    if (in_parts && !tile_bytes) cut_parts(p, hidden);
    cut_blocks(p, hidden);
    cut_tiles(p, hidden, tile_bytes);
    sort_slots(p);

    topology.variables = p.variables;
    topology.values = p.values();
    for (int32_t x = 0; x < p.variables; ++x)
        topology.largest_domain = std::max(topology.largest_domain, p.domain_size(x));
    topology.constraints = p.constraints;
    topology.value_start = p.value_start.data();
    topology.scope_start = p.scope_start.data();
    topology.scope = p.scope.data();
    topology.constraint_edges = constraint_edges.data();
    const bool differ = std::any_of(relative_weight.begin(), relative_weight.end(), [](float w) { return w != 1.f; });
    topology.constraint_weight = differ ? relative_weight.data() : nullptr;
    topology.features = features.empty() ? nullptr : features.data();
    topology.label_start = label_start.data();
    topology.degree = degree.data();
    topology.tiles = tiles.data();
    topology.tile_count = static_cast<int32_t>(tiles.size());
    own_rows = int64_t(exceptional_constraint.size()) < int64_t(p.values()) + p.variables;
    topology.place = own_rows ? place.data() : nullptr;
    topology.exceptional_constraint = exceptional_constraint.data();
    topology.labelled_constraint = labelled_constraint.data();
    topology.labelled_label = labelled_label.data();
    topology.any_exceptional = any_exceptional;
    topology.any_labelled = any_labelled;
}

// Weight and hardness, then arity and kind.
void Layout::describe_constraints(const Problem& p, bool weighted, bool kinds) {
    constraint_features = (weighted ? 2 : 0) + (kinds ? 1 + kKinds : 0);
    features.resize(size_t(constraint_features) * p.constraints);
    float* to = features.data();
    for (int32_t c = 0; c < p.constraints; ++c) {
        if (weighted) {
            *to++ = std::log(relative_weight[c]);
            *to++ = p.hard[c] ? 1.f : 0.f;
        }
        if (kinds) {
            *to++ = std::log2(static_cast<float>(p.scope_start[c + 1] - p.scope_start[c])) / 4;
            to[kind_column(p.families[p.family_of[c]].kind)] = 1;
            to += kKinds;
        }
    }
    if (std::all_of(features.begin(), features.end(), [](float f) { return f == 0; })) features.clear();
}

// Whole instances in order, as many to a part as fit the cache; all in one where constraints of an instance do not follow
// one another, as with several families, or where one instance alone is larger.
void Layout::cut_parts(const Problem& p, int32_t hidden) {
    const auto &of_variable = p.variable_instance, &of_constraint = p.constraint_instance;
    if (!std::is_sorted(of_variable.begin(), of_variable.end())) return;
    if (!std::is_sorted(of_constraint.begin(), of_constraint.end())) return;
    std::vector<Part> found = {{}};
    int64_t taken = 0;
    for (int32_t instance = 0, x = 0, c = 0; instance < p.instances; ++instance) {
        Part one = {{x, x}, {c, c}, {}, {}, {}};
        while (x < p.variables && of_variable[x] == instance) one.variables.last = ++x;
        while (c < p.constraints && of_constraint[c] == instance) one.constraints.last = ++c;
        // h, x and the rows that constraints gather; both messages of a constraint
        const int64_t rows =
            3 * int64_t(p.value_start[x] - p.value_start[one.variables.first]) + 2 * one.constraints.size();
        const int64_t bytes = rows * hidden * int64_t(sizeof(float));
        if (bytes > kPartBytes) return;
        if (taken + bytes > kPartBytes) {
            found.push_back(one);
            taken = bytes;
        } else {
            found.back().variables.last = x;
            found.back().constraints.last = c;
            taken += bytes;
        }
    }
    parts = found;
    topology.near = true;
}

// Blocks of variables hold whole domains; a domain larger than a block is a block of its own.
void Layout::cut_blocks(const Problem& p, int32_t hidden) {
    const int32_t rows = block_rows(hidden);
    const bool exceptional =
        std::any_of(p.families.begin(), p.families.end(), [](const Family& f) { return f.exceptional(); });
    largest_block = rows;
    group_block.assign(1, 0);
    for (Part& part : parts) {
        part.variable_blocks.first = static_cast<int32_t>(variable_blocks.size());
        part.constraint_blocks.first = static_cast<int32_t>(constraint_blocks.size());
        part.groups.first = static_cast<int32_t>(group_block.size()) - 1;
        for (int32_t x = part.variables.first; x < part.variables.last;) {
            int32_t last = x + 1;
            while (last < part.variables.last && p.value_start[last + 1] - p.value_start[x] <= rows) ++last;
            variable_blocks.push_back({{x, last}, false});
            largest_block = std::max(largest_block, p.value_start[last] - p.value_start[x]);
            most_variables_in_block = std::max(most_variables_in_block, last - x);
            x = last;
        }
        for (size_t block = part.variable_blocks.first; block < variable_blocks.size();) {
            const int32_t first = variable_blocks[block].first;
            size_t last = block + 1;
            while (exceptional && last < variable_blocks.size() &&
                   variable_blocks[last].last - first <= kGroupVariables)
                ++last;
            group_block.push_back(static_cast<int32_t>(last));
            most_variables_in_group = std::max(most_variables_in_group, variable_blocks[last - 1].last - first);
            largest_group =
                std::max(largest_group, p.value_start[variable_blocks[last - 1].last] - p.value_start[first]);
            block = last;
        }
        for (const Family& f : p.families) {
            const int32_t end = std::min(f.last_constraint, part.constraints.last);
            for (int32_t c = std::max(f.first_constraint, part.constraints.first); c < end; c += rows)
                constraint_blocks.push_back({{c, std::min(c + rows, end)}, f.exceptional()});
        }
        part.variable_blocks.last = static_cast<int32_t>(variable_blocks.size());
        part.constraint_blocks.last = static_cast<int32_t>(constraint_blocks.size());
        part.groups.last = static_cast<int32_t>(group_block.size()) - 1;
    }
    for (size_t i = 0; i < p.families.size(); ++i) {
        const Family& f = p.families[i];
        for (int32_t c = f.first_constraint; c < f.last_constraint;) {
            int32_t last = c + 1;
            while (last < f.last_constraint && last - c < kChunk &&
                   p.constraint_instance[last] == p.constraint_instance[c])
                ++last;
            chunks.push_back({{c, last}, static_cast<int32_t>(i), p.constraint_instance[c]});
            c = last;
        }
    }
}

void Layout::cut_tiles(const Problem& p, int32_t hidden, int64_t tile_bytes) {
    const int64_t row_bytes = int64_t(hidden) * sizeof(float) * (form == Form::linear ? 1 : 2);
    int64_t size = (tile_bytes ? tile_bytes : kCacheBytes) / row_bytes;
    if (!tile_bytes && p.slots() > 0) {
        size = std::max(size, kSlotsOfVariable * p.variables * p.constraints / p.slots());
        const int64_t all = row_bytes * p.constraints, received = int64_t(hidden * sizeof(float)) * p.values();
        if (parts.size() > 1 || all <= std::max(4 * kCacheBytes, received)) size = p.constraints;
    }
    tile_block.assign(1, 0);
    for (int32_t block = 0, blocks = static_cast<int32_t>(constraint_blocks.size()); block < blocks;) {
        const int32_t first = constraint_blocks[block].first;
        int32_t last = block + 1;
        while (last < blocks && constraint_blocks[last].last - first <= size) ++last;
        tiles.push_back({{first, constraint_blocks[last - 1].last}, nullptr, nullptr});
        tile_block.push_back(last);
        largest_tile = std::max(largest_tile, tiles.back().last - first);
        block = last;
    }
    if (tiles.empty()) {
        tiles.push_back({{0, 0}, nullptr, nullptr});
        tile_block.push_back(0);
    }
}

// Slots by tile, then variable, then slot.
void Layout::sort_slots(const Problem& p) {
    const size_t stride = size_t(p.variables) + 1;
    exceptional_start.assign(tiles.size() * stride, 0);
    labelled_start.assign(tiles.size() * stride, 0);
    auto for_slots = [&](auto&& body) {
        for (size_t tile = 0; tile < tiles.size(); ++tile)
            for (int32_t c = tiles[tile].first; c < tiles[tile].last; ++c) {
                const bool exceptional = p.families[p.family_of[c]].exceptional();
                for (int32_t s = p.scope_start[c]; s < p.scope_start[c + 1]; ++s) body(tile, c, s, exceptional);
            }
    };
    for_slots([&](size_t tile, int32_t, int32_t s, bool exceptional) {
        ++(exceptional ? exceptional_start : labelled_start)[tile * stride + p.scope[s]];
    });
    // Counts to ends; filling from the last slot down then leaves the starts.
    int32_t exceptional_end = 0, labelled_end = 0;
    for (size_t i = 0; i < exceptional_start.size(); ++i) {
        exceptional_start[i] = exceptional_end += exceptional_start[i];
        labelled_start[i] = labelled_end += labelled_start[i];
    }
    exceptional_constraint.resize(exceptional_end);
    labelled_constraint.resize(labelled_end);
    labelled_label.resize(labelled_end);
    place.resize(exceptional_end ? p.slots() : 0);
    for (size_t tile = tiles.size(); tile-- > 0;)
        for (int32_t s = p.scope_start[tiles[tile].last]; s-- > p.scope_start[tiles[tile].first];) {
            const int32_t c = p.slot_constraint[s];
            const size_t at = tile * stride + p.scope[s];
            if (p.families[p.family_of[c]].exceptional()) {
                place[s] = --exceptional_start[at];
                exceptional_constraint[place[s]] = c - tiles[tile].first;
            } else {
                const int32_t i = --labelled_start[at];
                labelled_constraint[i] = c - tiles[tile].first;
                labelled_label[i] = label_start[s];
            }
        }
    for (size_t tile = 0; tile < tiles.size(); ++tile) {
        tiles[tile].exceptional_start = exceptional_start.data() + tile * stride;
        tiles[tile].labelled_start = labelled_start.data() + tile * stride;
    }
}

}  // namespace anycsp
