#include "training/labels.h"

#include <algorithm>
#include <cmath>

#include "families/definition.h"

namespace anycsp {

std::vector<int32_t> edge_labels(const Problem& p, int64_t runs, const int64_t* positions, uint8_t* labels) {
    std::vector<int32_t> left, taken(p.variables);
    for (size_t i = 0; i < p.families.size(); ++i)
        if (!p.families[i].definition->label) left.push_back(static_cast<int32_t>(i));
    for (int64_t run = 0; run < runs; ++run, positions += p.variables, labels += p.edges()) {
        std::copy_n(positions, p.variables, taken.begin());
        for (const Family& f : p.families)
            if (f.definition->label)
                f.definition->label(p, f, {f.first_constraint, f.last_constraint},
                                    {taken.data(), p.edge_start.data(), labels});
    }
    return left;
}

void edge_grades(const Problem& p, int64_t runs, const int64_t* positions, const uint8_t* labels, float* grades) {
    std::vector<int32_t> taken(p.variables);
    for (int64_t run = 0; run < runs; ++run, positions += p.variables, labels += p.edges(), grades += p.edges()) {
        std::copy_n(positions, p.variables, taken.begin());
        for (const Family& f : p.families) {
            const int64_t first = p.edge_start[p.scope_start[f.first_constraint]];
            const int64_t last = p.edge_start[p.scope_start[f.last_constraint]];
            if (f.definition->grade)
                f.definition->grade(p, f, {f.first_constraint, f.last_constraint},
                                    {taken.data(), p.edge_start.data(), grades});
            else
                std::transform(labels + first, labels + last, grades + first, [](uint8_t l) { return l ? 0.f : 1.f; });
        }
    }
}

void graded_weight(const EdgeIndex& index, int64_t runs, const float* grade, const float* weight, float* out) {
    for (int64_t run = 0; run < runs; ++run, grade += index.edges)
        for (int32_t v = 0; v < index.values; ++v) {
            float sum = 0;
            for (int32_t k = index.value_start[v]; k < index.value_start[v + 1]; ++k)
                sum += grade[index.value_edge[k]] * weight[index.value_constraint[k]];
            *out++ = sum;
        }
}

void satisfied_weight(const EdgeIndex& index, int64_t runs, const uint8_t* label, const float* weight, float* out) {
    for (int64_t run = 0; run < runs; ++run, label += index.edges)
        for (int32_t v = 0; v < index.values; ++v) {
            float sum = 0;
            for (int32_t k = index.value_start[v]; k < index.value_start[v + 1]; ++k)
                sum += label[index.value_edge[k]] ? weight[index.value_constraint[k]] : 0.f;
            *out++ = sum;
        }
}

void value_features(const EdgeIndex& index, int64_t runs, const int64_t* positions, const float* satisfied,
                    const float* degree, const float* graded, float* out) {
    for (int64_t run = 0; run < runs; ++run)
        for (int32_t x = 0; x < index.variables; ++x) {
            const int64_t taken = index.variable_start[x] + positions[run * index.variables + x];
            for (int64_t v = index.variable_start[x]; v < index.variable_start[x + 1]; ++v) {
                *out++ = v == taken;
                if (!satisfied) continue;
                const float* at = satisfied + run * index.values;
                const float gain = at[v] - at[taken];
                *out++ = gain / std::sqrt(degree[v] + 1);
                *out++ = std::min(std::max(gain, -2.f), 2.f) / 2;
                *out++ = std::log1p(std::max(degree[v] - at[v], 0.f));
                if (!graded) continue;
                const float* far = graded + run * index.values;
                const float nearer = far[taken] - far[v];
                *out++ = nearer / std::sqrt(degree[v] + 1);
                *out++ = std::min(std::max(nearer, -4.f), 4.f) / 4;
                *out++ = std::log1p(far[v]);
            }
        }
}

}  // namespace anycsp
