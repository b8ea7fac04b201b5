// The two gathers of a step: messages of values to constraints, and of constraints to values.
//
// Exceptional families (≠, clauses) label at most one value of a slot 0. A variable's values, aggregated once for
// each possible exception, are one row, so a constraint reads one row per slot whatever the domain size. On the way
// back a value differs from its siblings only where it is the exception itself. Other families read labels, value by
// value. Features are taken in chunks that fit the registers.
#pragma once

#include "kernels.h"
#include "simd.h"

namespace {

using anycsp::Aggregation;
using anycsp::Block;
using anycsp::Form;
using anycsp::Network;
using anycsp::Run;
using anycsp::Scratch;
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
void gather_rows(const Topology& t, const Run& run, const Work& work, int width, Block block, float* y) {
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        const float* rows = work.rows + offset;
        float* out = y + offset;
        int32_t s = t.scope_start[block.first];
        for (int32_t c = block.first; c < block.last; ++c, out += width) {
            const int32_t end = t.scope_start[c + 1];
            Vec acc[F];
            const float* row = rows + int64_t(run.exceptions[s]) * width;
            EACH_VECTOR(j) acc[j] = load(row + j * kLanes);
            for (++s; s < end; ++s) {
                row = rows + int64_t(run.exceptions[s]) * width;
                EACH_VECTOR(j) acc[j] = combine<MAX>(acc[j], load(row + j * kLanes));
            }
            EACH_VECTOR(j) store(out + j * kLanes, acc[j]);
        }
    });
}

// y(C) for constraints with stored labels, direct form: message (v, label) of every edge.
template <bool MAX>
void gather_labelled(const Topology& t, const Run& run, const Work& work, int width, Block block, float* y) {
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
inline void gather_corrections(const Topology& t, const Run& run, const Work& work, int width, Block block, float* y) {
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        float* out = y + offset;
        for (int32_t c = block.first; c < block.last; ++c, out += width) {
            Vec acc[F];
            EACH_VECTOR(j) acc[j] = Vec{};
            for (int32_t s = t.scope_start[c]; s < t.scope_start[c + 1]; ++s) {
                const int32_t x = t.scope[s], first = t.value_start[x], size_x = t.value_start[x + 1] - first;
                const uint8_t* label = run.labels + t.label_start[s];
                const float* total = work.rows + int64_t(x) * width + offset;
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

// The exception of every exceptional slot of X as a position, −1 for none, into s.exception.
inline void read_exceptions(const Topology& t, const Run& run, int32_t x, Scratch& s) {
    const int32_t first = t.exceptional_start[x], slots = t.exceptional_start[x + 1] - first;
    const int32_t base = t.variables + t.value_start[x];
    for (int32_t i = 0; i < slots; ++i) {
        const int32_t position = run.exceptions[t.exceptional_slot[first + i]] - base;
        s.exception[i] = position < 0 ? -1 : position;
    }
}

// MAX over exceptional slots. y(v) is the best m(C,1) over slots whose exception is not v, and m(C,0) over those
// whose it is. Per feature it takes the best m(C,1), the exception it came with, and the best with another
// exception; `best` holds the three, `own` (a row per value) collects the m(C,0).
inline void max_exceptional(const Topology& t, const Work& work, int width, int32_t x, const Scratch& s, float* own,
                            float* best) {
    const int32_t first = t.exceptional_start[x], slots = t.exceptional_start[x + 1] - first;
    const int32_t* constraint = t.exceptional_constraint + first;
    const int32_t values = t.value_start[x + 1] - t.value_start[x];
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        const float* messages = work.constraints + offset;
        if (values == 2) {  // both values fit the registers, and nothing needs remembering
            Vec y0[F], y1[F];
            EACH_VECTOR(j) y0[j] = load(own + offset + j * kLanes);
            EACH_VECTOR(j) y1[j] = load(own + offset + width + j * kLanes);
            for (int32_t i = 0; i < slots; ++i) {
                const float* row = messages + int64_t(constraint[i]) * 2 * width;
                const float* row0 = row + (s.exception[i] == 0 ? 0 : width);
                const float* row1 = row + (s.exception[i] == 1 ? 0 : width);
                EACH_VECTOR(j) y0[j] = max(y0[j], load(row0 + j * kLanes));
                EACH_VECTOR(j) y1[j] = max(y1[j], load(row1 + j * kLanes));
            }
            EACH_VECTOR(j) store(own + offset + j * kLanes, y0[j]);
            EACH_VECTOR(j) store(own + offset + width + j * kLanes, y1[j]);
            return;
        }
        Vec best1[F], best2[F];
        IntVec source[F];
        EACH_VECTOR(j) best1[j] = best2[j] = splat(kLowest);
        EACH_VECTOR(j) source[j] = splat(int32_t(-1));
        for (int32_t i = 0; i < slots; ++i) {
            const float* row = messages + int64_t(constraint[i]) * 2 * width;
            const IntVec exception = splat(s.exception[i]);
            EACH_VECTOR(j) {
                const Vec m = load(row + width + j * kLanes);
                best2[j] = source[j] == exception ? best2[j] : max(best2[j], min(best1[j], m));
                source[j] = m > best1[j] ? exception : source[j];
                best1[j] = max(best1[j], m);
            }
            if (s.exception[i] >= 0) {
                float* to = own + int64_t(s.exception[i]) * width + offset;
                EACH_VECTOR(j) store(to + j * kLanes, max(load(to + j * kLanes), load(row + j * kLanes)));
            }
        }
        EACH_VECTOR(j) store(best + offset + j * kLanes, best1[j]);
        EACH_VECTOR(j) store(best + width + offset + j * kLanes, best2[j]);
        EACH_VECTOR(j) store(best + 2 * width + offset + j * kLanes, reinterpret_cast<Vec&>(source[j]));
    });
}

// SUM over exceptional slots, direct form: the total of m(C,1), and per value Σ m(C,0) − m(C,1) where it is the exception.
inline void sum_exceptional(const Topology& t, const Work& work, int width, int32_t x, const Scratch& s, float* own,
                            float* total) {
    const int32_t first = t.exceptional_start[x], slots = t.exceptional_start[x + 1] - first;
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        Vec sum[F];
        EACH_VECTOR(j) sum[j] = Vec{};
        for (int32_t i = 0; i < slots; ++i) {
            const float* row = work.constraints + int64_t(t.exceptional_constraint[first + i]) * 2 * width + offset;
            EACH_VECTOR(j) sum[j] += load(row + width + j * kLanes);
            if (s.exception[i] >= 0) {
                float* to = own + int64_t(s.exception[i]) * width + offset;
                EACH_VECTOR(j) store(to + j * kLanes, load(to + j * kLanes) + load(row + j * kLanes) -
                                                          load(row + width + j * kLanes));
            }
        }
        EACH_VECTOR(j) store(total + offset + j * kLanes, sum[j]);
    });
}

// Direct form over slots with stored labels: message (C, label) of every edge, onto what `own` holds.
template <bool MAX>
inline void add_labelled(const Topology& t, const Run& run, const Work& work, int width, int32_t x, float* own) {
    const int32_t first = t.labelled_start[x], slots = t.labelled_start[x + 1] - first;
    const int32_t values = t.value_start[x + 1] - t.value_start[x];
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        for (int32_t p = 0; p < values; ++p) {
            float* to = own + int64_t(p) * width + offset;
            Vec acc[F];
            EACH_VECTOR(j) acc[j] = load(to + j * kLanes);
            for (int32_t i = first; i < first + slots; ++i) {
                const int64_t label = run.labels[t.labelled_label[i] + p];
                const float* row = work.constraints + (int64_t(t.labelled_constraint[i]) * 2 + label) * width + offset;
                EACH_VECTOR(j) acc[j] = combine<MAX>(acc[j], load(row + j * kLanes));
            }
            EACH_VECTOR(j) store(to + j * kLanes, acc[j]);
        }
    });
}

// Linear form, exceptional slots: `total` = Σ a/σ over the slots, `own` (rows of the given stride) the part where the
// value is the exception, `count` how many those are.
inline void linear_exceptional(const Topology& t, const Work& work, int width, int32_t x, const Scratch& s, float* own,
                               int stride, float* count, float* total) {
    const int32_t first = t.exceptional_start[x], slots = t.exceptional_start[x + 1] - first;
    const int32_t* constraint = t.exceptional_constraint + first;
    const int32_t values = t.value_start[x + 1] - t.value_start[x];
    for (int32_t i = 0; i < slots; ++i)
        if (s.exception[i] >= 0) count[s.exception[i]] += 1.f;
    for_chunks(width, [&](auto size, int offset) {
        constexpr int F = decltype(size)::value;
        Vec sum[F];
        EACH_VECTOR(j) sum[j] = Vec{};
        if (values == 2) {  // masks instead of branches: which of two values it is, is a coin flip
            Vec y0[F], y1[F];
            EACH_VECTOR(j) y0[j] = y1[j] = Vec{};
            for (int32_t i = 0; i < slots; ++i) {
                const float* row = work.constraints + int64_t(constraint[i]) * width + offset;
                const IntVec mask0 = splat(-int32_t(s.exception[i] == 0)), mask1 = splat(-int32_t(s.exception[i] == 1));
                EACH_VECTOR(j) {
                    Vec a = load(row + j * kLanes);
                    IntVec a0 = reinterpret_cast<IntVec&>(a) & mask0, a1 = reinterpret_cast<IntVec&>(a) & mask1;
                    sum[j] += a;
                    y0[j] += reinterpret_cast<Vec&>(a0);
                    y1[j] += reinterpret_cast<Vec&>(a1);
                }
            }
            EACH_VECTOR(j) store(own + offset + j * kLanes, y0[j]);
            EACH_VECTOR(j) store(own + stride + offset + j * kLanes, y1[j]);
        } else {
            for (int32_t i = 0; i < slots; ++i) {
                const float* row = work.constraints + int64_t(constraint[i]) * width + offset;
                EACH_VECTOR(j) sum[j] += load(row + j * kLanes);
                if (s.exception[i] >= 0) {
                    float* to = own + int64_t(s.exception[i]) * stride + offset;
                    EACH_VECTOR(j) store(to + j * kLanes, load(to + j * kLanes) + load(row + j * kLanes));
                }
            }
        }
        EACH_VECTOR(j) store(total + offset + j * kLanes, sum[j]);
    });
}

// Linear form, slots with stored labels, onto what the arrays hold.
inline void linear_labelled(const Topology& t, const Run& run, const Work& work, int width, int32_t x, float* own,
                            int stride, float* count, float* total) {
    const int32_t values = t.value_start[x + 1] - t.value_start[x];
    for (int32_t i = t.labelled_start[x]; i < t.labelled_start[x + 1]; ++i) {
        const uint8_t* label = run.labels + t.labelled_label[i];
        const float* row = work.constraints + int64_t(t.labelled_constraint[i]) * width;
        for (int j = 0; j < width; j += kLanes) store(total + j, load(total + j) + load(row + j));
        for (int32_t p = 0; p < values; ++p) {
            if (label[p]) continue;
            count[p] += 1.f;
            float* to = own + int64_t(p) * stride;
            for (int j = 0; j < width; j += kLanes) store(to + j, load(to + j) + load(row + j));
        }
    }
}

}  // namespace
