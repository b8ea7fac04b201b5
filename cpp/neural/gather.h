// The two gathers of a step: messages of values to constraints, and of constraints to values.
//
// Exceptional families (≠, clauses) label at most one value of a slot 0. A variable's values, aggregated once for
// each possible exception, are one row, so a constraint reads one row per slot whatever the domain size. On the way
// back a value differs from its siblings only where it is the exception itself. Other families read labels, value by
// value. Features are taken in chunks that fit the registers.
#pragma once

#include "core/simd.h"
#include "neural/kernels.h"

namespace {

using anycsp::Aggregation;
using anycsp::Ahead;
using anycsp::Block;
using anycsp::Collected;
using anycsp::Form;
using anycsp::Network;
using anycsp::RunView;
using anycsp::Scratch;
using anycsp::Tile;
using anycsp::Topology;
using anycsp::Work;

constexpr int kChunk = kLanes == 16 ? 8 : 4;  // vectors of features held in registers at once

// Calls body(Constant<vectors>, offset) until `width` features are covered.
template <class Body>
inline void for_chunks(int width, Body body) {
    int offset = 0;
    for (; offset + kChunk * kLanes <= width; offset += kChunk * kLanes) body(Constant<kChunk>{}, offset);
    if constexpr (kChunk == 8)
        for (; offset + 4 * kLanes <= width; offset += 4 * kLanes) body(Constant<4>{}, offset);
    for (; offset + 2 * kLanes <= width; offset += 2 * kLanes) body(Constant<2>{}, offset);
    for (; offset < width; offset += kLanes) body(Constant<1>{}, offset);
}

template <bool MAX>
inline Vec combine(Vec a, Vec b) {
    if constexpr (MAX) return max(a, b);
    return a + b;
}

constexpr float kLowest = -__builtin_inff();

#define EACH_VECTOR(j) _Pragma("GCC unroll 8") for (int j = 0; j < F; ++j)

// ── values → constraints ───────────────────────────────────────────────────────────────────────────────────────────

// y(C) for a block of constraints of an exceptional family: one row per slot.
template <bool MAX>
void gather_rows(const Topology& t, const RunView& run, const Work& work, int width, Block block, float* y) {
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        const int32_t* index = t.place ? t.place : run.rows;
        const float* rows = work.rows + offset;
        float* out = y + offset;
        int32_t s = t.scope_start[block.first];
        for (int32_t c = block.first; c < block.last; ++c, out += width) {
            const int32_t end = t.scope_start[c + 1];
            Vec acc[F];
            const float* row = rows + int64_t(index[s]) * width;
            EACH_VECTOR(j) acc[j] = load(row + j * kLanes);
            for (++s; s < end; ++s) {
                row = rows + int64_t(index[s]) * width;
                EACH_VECTOR(j) acc[j] = combine<MAX>(acc[j], load(row + j * kLanes));
            }
            EACH_VECTOR(j) store(out + j * kLanes, acc[j]);
        }
    });
}

// The rows that the following block of `rows` constraints will gather.
inline Ahead following_rows(const Topology& t, const RunView& run, const Work& work, int width, const Tile& tile,
                            Block block) {
    const int32_t last = block.last + (block.last - block.first);
    if (t.near || !block.exceptional || last > tile.last) return {};
    const int32_t* index = t.place ? t.place : run.rows;
    return {work.rows, index + t.scope_start[block.last], index + t.scope_start[last], width};
}

// y(C) for constraints with stored labels, direct form: message (v, label) of every edge.
template <bool MAX>
void gather_labelled(const Topology& t, const RunView& run, const Work& work, int width, Block block, float* y) {
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        float* out = y + offset;
        for (int32_t c = block.first; c < block.last; ++c, out += width) {
            Vec acc[F];
            EACH_VECTOR(j) acc[j] = splat(MAX ? kLowest : 0.f);
            for (int32_t s = t.scope_start[c]; s < t.scope_start[c + 1]; ++s) {
                const int32_t first = t.value_start[t.scope[s]], size_x = t.value_start[t.scope[s] + 1] - first;
                const uint8_t* label = run.labels + t.label_start[s];
                const float* message = work.messages + int64_t(first) * 2 * width + offset;
                for (int32_t p = 0; p < size_x; ++p, message += 2 * width) {
                    const float* row = message + label[p] * width;
                    EACH_VECTOR(j) acc[j] = combine<MAX>(acc[j], load(row + j * kLanes));
                }
            }
            EACH_VECTOR(j) store(out + j * kLanes, acc[j]);
        }
    });
}

// The same in linear form: the variable's total with all labels 1, corrected where a label is 0.
inline void gather_corrections(const Topology& t, const RunView& run, const Work& work, int width, Block block,
                               float* y) {
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        float* out = y + offset;
        for (int32_t c = block.first; c < block.last; ++c, out += width) {
            Vec acc[F];
            EACH_VECTOR(j) acc[j] = Vec{};
            for (int32_t s = t.scope_start[c]; s < t.scope_start[c + 1]; ++s) {
                const int32_t x = t.scope[s], first = t.value_start[x], size_x = t.value_start[x + 1] - first;
                const uint8_t* label = run.labels + t.label_start[s];
                const float* total = work.totals + int64_t(x) * width + offset;
                EACH_VECTOR(j) acc[j] += load(total + j * kLanes);
                const float* difference = work.messages + int64_t(first) * width + offset;
                for (int32_t p = 0; p < size_x; ++p, difference += width)
                    if (!label[p]) EACH_VECTOR(j) acc[j] += load(difference + j * kLanes);
            }
            EACH_VECTOR(j) store(out + j * kLanes, acc[j]);
        }
    });
}

// ── constraints → values ───────────────────────────────────────────────────────────────────────────────────────────

// What a variable's values receive from the constraints of one tile, onto what they have received already:
// `own` a row per value, `whole` one per variable. See each function for their meaning.
struct Receiver {
    int32_t values;             // of the variable
    int32_t first, last;        // its slots
    const int32_t* constraint;  // by slot, within the tile
    float *own, *whole, *count;
};

// MAX over exceptional slots. y(v) is the best m(C,1) over slots whose exception is not v, and m(C,0) over those
// whose it is. Per feature it takes the best m(C,1), the exception it came with, and the best with another
// exception: `whole` holds the three, `own` collects the m(C,0).
inline void max_exceptional(const RunView& run, const float* messages, int width, const Receiver& r) {
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        const float* rows = messages + offset;
        if (r.values <= 2) {  // both values fit the registers, and nothing needs remembering
            float *own0 = r.own + offset, *own1 = own0 + (r.values - 1) * width;
            Vec y0[F], y1[F];
            EACH_VECTOR(j) y0[j] = load(own0 + j * kLanes);
            EACH_VECTOR(j) y1[j] = load(own1 + j * kLanes);
            for (int32_t i = r.first; i < r.last; ++i) {
                const float* row = rows + int64_t(r.constraint[i]) * 2 * width;
                const float* row0 = row + (run.exceptions[i] == 0 ? 0 : width);
                const float* row1 = row + (run.exceptions[i] == 1 ? 0 : width);
                EACH_VECTOR(j) y0[j] = max(y0[j], load(row0 + j * kLanes));
                EACH_VECTOR(j) y1[j] = max(y1[j], load(row1 + j * kLanes));
            }
            EACH_VECTOR(j) store(own1 + j * kLanes, y1[j]);
            EACH_VECTOR(j) store(own0 + j * kLanes, y0[j]);  // last: a single value has no own1
            return;
        }
        float *whole1 = r.whole + offset, *whole2 = whole1 + width, *whole3 = whole2 + width;
        Vec best1[F], best2[F];
        IntVec source[F];
        EACH_VECTOR(j) best1[j] = load(whole1 + j * kLanes);
        EACH_VECTOR(j) best2[j] = load(whole2 + j * kLanes);
        EACH_VECTOR(j) source[j] = load_int(whole3 + j * kLanes);
        for (int32_t i = r.first; i < r.last; ++i) {
            const float* row = rows + int64_t(r.constraint[i]) * 2 * width;
            const int32_t position = run.exceptions[i];
            const IntVec exception = splat(position);
            EACH_VECTOR(j) {
                const Vec m = load(row + width + j * kLanes);
                best2[j] = source[j] == exception ? best2[j] : max(best2[j], min(best1[j], m));
                source[j] = m > best1[j] ? exception : source[j];
                best1[j] = max(best1[j], m);
            }
            if (position >= 0) {
                float* to = r.own + int64_t(position) * width + offset;
                EACH_VECTOR(j) store(to + j * kLanes, max(load(to + j * kLanes), load(row + j * kLanes)));
            }
        }
        EACH_VECTOR(j) store(whole1 + j * kLanes, best1[j]);
        EACH_VECTOR(j) store(whole2 + j * kLanes, best2[j]);
        EACH_VECTOR(j) store_int(whole3 + j * kLanes, source[j]);
    });
}

// SUM over exceptional slots, direct form: `whole` is the total of m(C,1), `own` Σ m(C,0) − m(C,1) over the slots
// whose exception the value is.
inline void sum_exceptional(const RunView& run, const float* messages, int width, const Receiver& r) {
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        Vec sum[F];
        EACH_VECTOR(j) sum[j] = load(r.whole + offset + j * kLanes);
        for (int32_t i = r.first; i < r.last; ++i) {
            const float* row = messages + int64_t(r.constraint[i]) * 2 * width + offset;
            const int32_t position = run.exceptions[i];
            EACH_VECTOR(j) sum[j] += load(row + width + j * kLanes);
            if (position >= 0) {
                float* to = r.own + int64_t(position) * width + offset;
                EACH_VECTOR(j)
                store(to + j * kLanes, load(to + j * kLanes) + load(row + j * kLanes) - load(row + width + j * kLanes));
            }
        }
        EACH_VECTOR(j) store(r.whole + offset + j * kLanes, sum[j]);
    });
}

// Direct form over slots with stored labels: message (C, label) of every edge, into `own`.
template <bool MAX>
inline void add_labelled(const RunView& run, const int64_t* label_of, const float* messages, int width,
                         const Receiver& r) {
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        for (int32_t p = 0; p < r.values; ++p) {
            float* to = r.own + int64_t(p) * width + offset;
            Vec acc[F];
            EACH_VECTOR(j) acc[j] = load(to + j * kLanes);
            for (int32_t i = r.first; i < r.last; ++i) {
                const int64_t label = run.labels[label_of[i] + p];
                const float* row = messages + (int64_t(r.constraint[i]) * 2 + label) * width + offset;
                EACH_VECTOR(j) acc[j] = combine<MAX>(acc[j], load(row + j * kLanes));
            }
            EACH_VECTOR(j) store(to + j * kLanes, acc[j]);
        }
    });
}

// Linear form, exceptional slots: `whole` = Σ a/σ over the slots, `own` the part where the value is the exception,
// `count` how many slots those are.
inline void linear_exceptional(const RunView& run, const float* messages, int width, const Receiver& r) {
    for (int32_t i = r.first; i < r.last; ++i)
        if (run.exceptions[i] >= 0) r.count[run.exceptions[i]] += 1.f;
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        Vec sum[F];
        EACH_VECTOR(j) sum[j] = load(r.whole + offset + j * kLanes);
        if (r.values == 2) {  // masks instead of branches: which of two values it is, is a coin flip
            float *own0 = r.own + offset, *own1 = r.own + width + offset;
            Vec y0[F], y1[F];
            EACH_VECTOR(j) y0[j] = load(own0 + j * kLanes);
            EACH_VECTOR(j) y1[j] = load(own1 + j * kLanes);
            for (int32_t i = r.first; i < r.last; ++i) {
                const float* row = messages + int64_t(r.constraint[i]) * width + offset;
                const IntVec mask0 = splat(-int32_t(run.exceptions[i] == 0));
                const IntVec mask1 = splat(-int32_t(run.exceptions[i] == 1));
                EACH_VECTOR(j) {
                    sum[j] += load(row + j * kLanes);
                    y0[j] += as_float(load_int(row + j * kLanes) & mask0);
                    y1[j] += as_float(load_int(row + j * kLanes) & mask1);
                }
            }
            EACH_VECTOR(j) store(own0 + j * kLanes, y0[j]);
            EACH_VECTOR(j) store(own1 + j * kLanes, y1[j]);
        } else {
            for (int32_t i = r.first; i < r.last; ++i) {
                const float* row = messages + int64_t(r.constraint[i]) * width + offset;
                const int32_t position = run.exceptions[i];
                EACH_VECTOR(j) sum[j] += load(row + j * kLanes);
                if (position >= 0) {
                    float* to = r.own + int64_t(position) * width + offset;
                    EACH_VECTOR(j) store(to + j * kLanes, load(to + j * kLanes) + load(row + j * kLanes));
                }
            }
        }
        EACH_VECTOR(j) store(r.whole + offset + j * kLanes, sum[j]);
    });
}

// Linear form, slots with stored labels.
inline void linear_labelled(const RunView& run, const int64_t* label_of, const float* messages, int width,
                            const Receiver& r) {
    for (int32_t i = r.first; i < r.last; ++i) {
        const uint8_t* label = run.labels + label_of[i];
        const float* row = messages + int64_t(r.constraint[i]) * width;
        for (int j = 0; j < width; j += kLanes) store(r.whole + j, load(r.whole + j) + load(row + j));
        for (int32_t p = 0; p < r.values; ++p) {
            if (label[p]) continue;
            r.count[p] += 1.f;
            float* to = r.own + int64_t(p) * width;
            for (int j = 0; j < width; j += kLanes) store(to + j, load(to + j) + load(row + j));
        }
    }
}

}  // namespace
