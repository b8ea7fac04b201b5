// One search step in three passes over blocks that stay in cache: encode (values → messages), constrain (gather,
// aggregate, M_C), update (gather, U_V, pool, U_X, GRU, O, sample). Compiled once per instruction set.
#include "neural/kernels.h"

#include "core/simd.h"
#include "neural/gather.h"
#include "neural/gemm.h"
#include "neural/layers.h"

namespace {

using anycsp::Phase;

inline void begin(Scratch& s) {
    if (s.now) s.last = s.now();
}

inline void finish(Scratch& s, Phase phase) {
    if (!s.now) return;
    const double now = s.now();
    s.seconds[phase] += now - s.last - s.reading;
    s.last = now;
}

inline void clear(float* to, int64_t count, float value = 0.f) {
    for (int64_t i = 0; i < count; i += kLanes) store(to + i, splat(value));
}

// ── encode: x = E([h, L_V]), and what constraints gather from x ────────────────────────────────────────────────────

// violated[p]: weight of X's constraints that its value p alone would leave violated; `weight(c)` of constraint c, and
// `of_label(i)` how much of it counts at label i. Returns the weight of all of them.
template <class Weight, class OfLabel>
float violated_weight(const Topology& t, const RunView& run, int32_t x, float* violated, Weight weight,
                      OfLabel of_label) {
    const int32_t values = t.value_start[x + 1] - t.value_start[x];
    float degree = 0;
    for (int32_t p = 0; p < values; ++p) violated[p] = 0;
    for (const Tile* tile = t.tiles; tile < t.tiles + t.tile_count; ++tile) {
        for (int32_t i = tile->exceptional_start[x]; i < tile->exceptional_start[x + 1]; ++i) {
            const float w = weight(tile->first + t.exceptional_constraint[i]);
            if (run.exceptions[i] >= 0) violated[run.exceptions[i]] += w;
            degree += w;
        }
        for (int32_t i = tile->labelled_start[x]; i < tile->labelled_start[x + 1]; ++i) {
            const float w = weight(tile->first + t.labelled_constraint[i]);
            const int64_t label = t.labelled_label[i];
            for (int32_t p = 0; p < values; ++p) violated[p] += of_label(label + p) * w;
            degree += w;
        }
    }
    return degree;
}

// Most problems are unweighted, and then no constraint need be looked up.
inline float violated_weight(const Topology& t, const RunView& run, const float* weights, int32_t x, float* violated) {
    auto violates = [&](int64_t i) { return run.labels[i] ? 0.f : 1.f; };
    if (!weights) return violated_weight(t, run, x, violated, [](int32_t) { return 1.f; }, violates);
    return violated_weight(t, run, x, violated, [weights](int32_t c) { return weights[c]; }, violates);
}

// far[p]: the same, but every constraint counts by how far from satisfied it would be.
inline void graded_weight(const Topology& t, const RunView& run, const float* weights, int32_t x, float* far) {
    auto weight = [weights](int32_t c) { return weights ? weights[c] : 1.f; };
    violated_weight(t, run, x, far, weight, [&](int64_t i) { return run.grades[i]; });
}

inline float clipped(float x, float most) { return x > most ? 1.f : x < -most ? -1.f : x / most; }

// What the encoder's first layer adds for L_V and the gain features: its starting values, one row a value.
void encoder_inputs(const Network& n, const Topology& t, const RunView& run, Scratch& s, Block block, float* out) {
    const int width = n.width;
    for (int32_t x = block.first; x < block.last; ++x) {
        const int32_t values = t.value_start[x + 1] - t.value_start[x], now = run.positions[x];
        float degree = 0;
        if (n.gain) degree = violated_weight(t, run, t.constraint_weight, x, s.scalar);
        if (n.graded) graded_weight(t, run, t.constraint_weight, x, s.far);
        for (int32_t p = 0; p < values; ++p, out += width) {
            const bool chosen = p == now;
            for (int j = 0; j < width; j += kLanes)
                store(out + j, load(n.encoder1.bias + j) + (chosen ? load(n.encoder_chosen + j) : Vec{}));
            if (!n.gain) continue;
            const float gain = s.scalar[now] - s.scalar[p];  // what moving X alone to p would satisfy more
            const float scale = 1.f / __builtin_sqrtf(degree + 1.f);
            float feature[6] = {gain * scale, clipped(gain, 2.f), __builtin_log1pf(s.scalar[p])};
            if (n.graded) {
                const float nearer = s.far[now] - s.far[p];
                feature[3] = nearer * scale;
                feature[4] = clipped(nearer, 4.f);
                feature[5] = __builtin_log1pf(s.far[p]);
            }
            for (int f = 0; f < (n.graded ? 6 : 3); ++f)
                for (int j = 0; j < width; j += kLanes)
                    store(out + j, load(out + j) + feature[f] * load(n.encoder_gain + f * width + j));
        }
    }
}

// Writes a variable's rows of `Work::rows`: row(e) for no exception (e = −1) and for each value, or for each slot.
// `row(e, to)` computes one.
template <class Row>
inline void write_rows(const Topology& t, const RunView& run, const Work& work, int width, int32_t x, Row row) {
    if (!t.place) {
        float* to = work.rows + int64_t(t.value_start[x] + x + 1) * width;
        for (int32_t e = -1; e < t.value_start[x + 1] - t.value_start[x]; ++e) row(e, to + int64_t(e) * width);
        return;
    }
    for (const Tile* tile = t.tiles; tile < t.tiles + t.tile_count; ++tile)
        for (int32_t i = tile->exceptional_start[x]; i < tile->exceptional_start[x + 1]; ++i)
            row(run.exceptions[i], work.rows + int64_t(i) * width);
}

// ⊕ of a variable's messages m(v,1), the exception's exchanged for m(v,0); m is [values][2][width]. MAX needs the best
// message with label 1, its value, and the second best, in `best`.
void max_rows(const Topology& t, const RunView& run, const Work& work, int width, int32_t x, const float* m,
              float* best) {
    const int32_t values = t.value_start[x + 1] - t.value_start[x];
    for (int j = 0; j < width; j += kLanes) {
        const float* m1 = m + width + j;
        Vec best1 = load(m1), best2 = splat(kLowest);
        IntVec source{};
        for (int32_t p = 1; p < values; ++p) {
            const Vec here = load(m1 + int64_t(p) * 2 * width);
            best2 = max(best2, min(best1, here));
            source = here > best1 ? splat(p) : source;
            best1 = max(best1, here);
        }
        store(best + j, best1);
        store(best + width + j, best2);
        store_int(best + 2 * width + j, source);
    }
    write_rows(t, run, work, width, x, [&](int32_t e, float* to) {
        const float* m0 = m + int64_t(e) * 2 * width;
        for (int j = 0; j < width; j += kLanes) {
            if (e < 0) {
                store(to + j, load(best + j));
                continue;
            }
            const Vec others = load_int(best + 2 * width + j) == splat(e) ? load(best + width + j) : load(best + j);
            store(to + j, max(others, load(m0 + j)));
        }
    });
}

void sum_rows(const Topology& t, const RunView& run, const Work& work, int width, int32_t x, const float* m,
              float* sum) {
    const int32_t values = t.value_start[x + 1] - t.value_start[x];
    for (int j = 0; j < width; j += kLanes) {
        Vec total{};
        for (int32_t p = 0; p < values; ++p) total += load(m + int64_t(p) * 2 * width + width + j);
        store(sum + j, total);
    }
    write_rows(t, run, work, width, x, [&](int32_t e, float* to) {
        const float* m0 = m + int64_t(e) * 2 * width;
        for (int j = 0; j < width; j += kLanes)
            store(to + j, e < 0 ? load(sum + j) : load(sum + j) - load(m0 + width + j) + load(m0 + j));
    });
}

void encode(const Network& n, const Topology& t, const RunView& run, const Work& work, Scratch& s, Block block) {
    const int width = n.width;
    const int32_t first = t.value_start[block.first], rows = t.value_start[block.last] - first;
    float* x = work.x + int64_t(first) * width;
    begin(s);
    encoder_inputs(n, t, run, s, block, s.b);
    finish(s, anycsp::kOther);
    multiply<Start::accumulate, Finish::relu>(n.encoder1, run.state + int64_t(first) * width, width, rows, s.b, width,
                                              s.ahead);
    multiply(n.encoder2, s.b, width, rows, s.a, width, s.ahead);
    finish(s, anycsp::kGemm);
    normalise(n.encoder_norm, s.a, width, rows, width, n.hidden, s.scalar, x, width);
    finish(s, anycsp::kOther);
    const bool store_messages = n.form == Form::direct && t.any_labelled;
    float* m = store_messages ? work.messages + int64_t(first) * 2 * width : s.gates;
    multiply(n.value_message, x, width, rows, m, 2 * width, s.ahead);
    finish(s, anycsp::kGemm);
    normalise(n.value_message_norm, m, 2 * width, rows, 2 * width, 2 * n.hidden, s.scalar, m, 2 * width);

    if (n.form == Form::linear) {
        // W1 Σ m(v,1) per variable, W1 (m(v,0) − m(v,1)) per value
        float *sum = s.pool, *difference = s.a;
        for (int32_t y = block.first; y < block.last; ++y, sum += width) {
            clear(sum, width);
            for (int32_t v = t.value_start[y]; v < t.value_start[y + 1]; ++v, m += 2 * width, difference += width)
                for (int j = 0; j < width; j += kLanes) {
                    store(sum + j, load(sum + j) + load(m + width + j));
                    store(difference + j, load(m + j) - load(m + width + j));
                }
        }
        finish(s, anycsp::kOther);
        float* totals = work.totals + int64_t(block.first) * width;
        float* differences = t.any_labelled ? work.messages + int64_t(first) * width : s.b;
        multiply(n.constraint1, s.pool, width, block.last - block.first, totals, width, s.ahead);
        multiply(n.constraint1, s.a, width, rows, differences, width, s.ahead);
        finish(s, anycsp::kGemm);
        if (t.any_exceptional)
            for (int32_t y = block.first; y < block.last; ++y, totals += width) {
                const float* of_variable = differences + int64_t(t.value_start[y] - first) * width;
                write_rows(t, run, work, width, y, [&](int32_t e, float* to) {
                    for (int j = 0; j < width; j += kLanes)
                        store(to + j,
                              e < 0 ? load(totals + j) : load(totals + j) + load(of_variable + int64_t(e) * width + j));
                });
            }
    } else if (t.any_exceptional) {
        auto write = n.aggregation == Aggregation::max ? max_rows : sum_rows;
        for (int32_t y = block.first; y < block.last; ++y)
            write(t, run, work, width, y, m + int64_t(t.value_start[y] - first) * 2 * width, s.zh);
    }
    finish(s, anycsp::kOther);
}

// ── constrain: y(C) = ⊕ messages, M_C ──────────────────────────────────────────────────────────────────────────────

void constrain(const Network& n, const Topology& t, const RunView& run, const Work& work, Scratch& s, const Tile& tile,
               Block block) {
    const int width = n.width, rows = block.last - block.first;
    const bool maximum = n.aggregation == Aggregation::max, linear = n.form == Form::linear;
    float* y = s.a;
    begin(s);
    if (block.exceptional)
        (maximum ? gather_rows<true> : gather_rows<false>)(t, run, work, width, block, y);
    else if (linear)
        gather_corrections(t, run, work, width, block, y);
    else
        (maximum ? gather_labelled<true> : gather_labelled<false>)(t, run, work, width, block, y);
    finish(s, anycsp::kGather);
    s.ahead = following_rows(t, run, work, width, tile, block);

    // MEAN divides by the edges of the constraint; weights enter the message; in the linear form y has been through
    // M_C's first matrix already, its bias and ReLU remain.
    const bool mean = n.aggregation == Aggregation::mean;
    if (mean || linear || t.features)
        for (int i = 0; i < rows; ++i) {
            const int32_t c = block.first + i;
            const float scale = mean ? 1.f / t.constraint_edges[c] : 1.f;
            const float* feature = t.features ? t.features + n.constraint_features * int64_t(c) : nullptr;
            for (int j = 0; j < width; j += kLanes) {
                Vec sum = load(y + i * width + j) * scale;
                if (feature)
                    for (int f = 0; f < n.constraint_features; ++f)
                        sum += feature[f] * load(n.constraint_weight + f * width + j);
                if (linear) sum = positive(sum + load(n.constraint1_bias + j));
                store(y + i * width + j, sum);
            }
        }
    finish(s, anycsp::kOther);

    if (linear) {
        float* out = work.constraints + int64_t(block.first - tile.first) * width;
        multiply(n.spread, y, width, rows, s.b, width, s.ahead);
        finish(s, anycsp::kGemm);
        squares(s.b, width, rows, width, s.scalar);
        inverse_deviation(s.scalar, rows, 2 * n.hidden);
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < width; j += kLanes) store(out + i * width + j, load(y + i * width + j) * s.scalar[i]);
    } else {
        float* out = work.constraints + int64_t(block.first - tile.first) * 2 * width;
        multiply<Start::bias, Finish::relu>(n.constraint1, y, width, rows, s.b, width, s.ahead);
        multiply(n.constraint2, s.b, width, rows, out, 2 * width, s.ahead);
        finish(s, anycsp::kGemm);
        normalise(n.constraint_norm, out, 2 * width, rows, 2 * width, 2 * n.hidden, s.scalar, out, 2 * width);
    }
    finish(s, anycsp::kOther);
}

// ── update: y(v) = ⊕ messages, U_V, U_X, GRU, O, sample ────────────────────────────────────────────────────────────

// Floats a variable has in Collected::whole.
inline int whole_width(const Network& n, const Topology& t) {
    if (n.aggregation != Aggregation::max) return n.width;
    return t.largest_domain <= 2 ? 0 : 3 * n.width;
}

// Empties what a block of variables has received.
void clear_collected(const Network& n, const Topology& t, const Collected& c, int64_t variables, int64_t values) {
    const float nothing = n.aggregation == Aggregation::max ? kLowest : 0.f;
    clear(c.own, values * n.width, nothing);
    clear(c.whole, variables * whole_width(n, t), nothing);
    if (n.form == Form::linear)
        for (int64_t i = 0; i < values; ++i) c.count[i] = 0;
}

// Adds what the values of a block receive from the constraints of a tile; `c` begins at the block.
void receive(const Network& n, const Topology& t, const RunView& run, const float* messages, const Tile& tile,
             Block block, const Collected& c) {
    const int width = n.width;
    const bool maximum = n.aggregation == Aggregation::max, linear = n.form == Form::linear;
    for (int32_t x = block.first; x < block.last; ++x) {
        const int64_t row = t.value_start[x] - t.value_start[block.first];
        Receiver r;
        r.values = t.value_start[x + 1] - t.value_start[x];
        r.own = c.own + row * width;
        r.whole = c.whole + int64_t(x - block.first) * whole_width(n, t);
        r.count = c.count + row;
        r.first = tile.exceptional_start[x];
        r.last = tile.exceptional_start[x + 1];
        r.constraint = t.exceptional_constraint;
        if (r.first < r.last)
            (linear ? linear_exceptional : maximum ? max_exceptional : sum_exceptional)(run, messages, width, r);
        r.first = tile.labelled_start[x];
        r.last = tile.labelled_start[x + 1];
        r.constraint = t.labelled_constraint;
        if (r.first < r.last)
            (linear    ? linear_labelled
             : maximum ? add_labelled<true>
                       : add_labelled<false>)(run, t.labelled_label, messages, width, r);
    }
}

// The messages that the following group of variables will receive.
Ahead following_messages(const Network& n, const Topology& t, const Work& work, const Tile& tile, Block block) {
    const int32_t last = block.last + (block.last - block.first);
    if (t.near || last > work.last_variable) return {};
    return {work.constraints, t.exceptional_constraint + tile.exceptional_start[block.last],
            t.exceptional_constraint + tile.exceptional_start[last], n.width * (n.form == Form::linear ? 1 : 2)};
}

// The part of `c`, which begins at variable `from`, that begins at variable `to`.
Collected offset(const Network& n, const Topology& t, const Collected& c, int32_t from, int32_t to) {
    const int64_t values = t.value_start[to] - t.value_start[from], variables = to - from;
    return {c.own + values * n.width, c.whole + variables * whole_width(n, t), c.count + values};
}

// With several tiles: what a block of variables receives from one of them, kept for `update`.
void collect(const Network& n, const Topology& t, const RunView& run, const Work& work, Scratch& s, const Tile& tile,
             Block block) {
    const Collected c = offset(n, t, work.collected, 0, block.first);
    begin(s);
    if (&tile == t.tiles)
        clear_collected(n, t, c, block.last - block.first, t.value_start[block.last] - t.value_start[block.first]);
    finish(s, anycsp::kOther);
    receive(n, t, run, work.constraints, tile, block, c);
    finish(s, anycsp::kGather);
}

// U_V's first layer of x + y(v), direct form, into s.b.
void first_layer_direct(const Network& n, const Topology& t, const Work& work, Scratch& s, Block block,
                        const Collected& c) {
    const int width = n.width;
    const int32_t first = t.value_start[block.first], rows = t.value_start[block.last] - first;
    const bool maximum = n.aggregation == Aggregation::max, binary = t.largest_domain <= 2;
    for (int32_t x = block.first; x < block.last; ++x) {
        const float* whole = c.whole + int64_t(x - block.first) * whole_width(n, t);
        const float slots = t.degree[x];
        const float scale = n.aggregation == Aggregation::mean && slots > 0 ? 1.f / slots : 1.f;
        for (int32_t v = t.value_start[x]; v < t.value_start[x + 1]; ++v) {
            const float *own = c.own + int64_t(v - first) * width, *encoded = work.x + int64_t(v) * width;
            const IntVec position = splat(v - t.value_start[x]);
            for (int j = 0; j < width; j += kLanes) {
                Vec y = load(own + j);
                if (slots == 0) {
                    y = Vec{};
                } else if (maximum && binary) {
                    // `own` has it all
                } else if (maximum) {
                    const Vec others =
                        load_int(whole + 2 * width + j) == position ? load(whole + width + j) : load(whole + j);
                    y = max(y, others);
                } else {
                    y = (y + load(whole + j)) * scale;
                }
                store(s.a + int64_t(v - first) * width + j, load(encoded + j) + y);
            }
        }
    }
    finish(s, anycsp::kOther);
    multiply<Start::bias, Finish::relu>(n.value1, s.a, width, rows, s.b, width, s.ahead);
    finish(s, anycsp::kGemm);
}

// The same in linear form: value1 reads [x, sum where the value is the exception] and starts from the variable's total.
void first_layer_linear(const Network& n, const Topology& t, const Work& work, Scratch& s, Block block,
                        const Collected& c) {
    const int width = n.width;
    const bool mean = n.aggregation == Aggregation::mean;
    const int32_t first = t.value_start[block.first], rows = t.value_start[block.last] - first;
    multiply(n.total, c.whole, width, block.last - block.first, s.pool, width, s.ahead);
    finish(s, anycsp::kGemm);
    for (int32_t x = block.first; x < block.last; ++x) {
        const float slots = t.degree[x];
        const float scale = mean ? (slots > 0 ? 1.f / slots : 0.f) : 1.f, ones = slots * scale;
        const float* total = s.pool + int64_t(x - block.first) * width;
        for (int32_t v = t.value_start[x]; v < t.value_start[x + 1]; ++v) {
            const int64_t i = v - first;
            const float exceptions = c.count[i] * scale;
            for (int j = 0; j < width; j += kLanes) {
                store(s.a + i * 2 * width + j, load(work.x + int64_t(v) * width + j));
                store(s.a + i * 2 * width + width + j, load(c.own + i * width + j) * scale);
                store(s.b + i * width + j, load(total + j) * scale + load(n.value1.bias + j) +
                                               ones * load(n.label1 + j) + exceptions * load(n.exception + j));
            }
        }
    }
    finish(s, anycsp::kOther);
    multiply<Start::accumulate, Finish::relu>(n.value1, s.a, 2 * width, rows, s.b, width, s.ahead);
    finish(s, anycsp::kGemm);
}

// ⊕ of z over the values of each variable; z in rows of 2·width.
void pool(const Network& n, const Topology& t, Block block, const float* z, float* out) {
    const int width = n.width;
    for (int32_t x = block.first; x < block.last; ++x, out += width) {
        const int32_t values = t.value_start[x + 1] - t.value_start[x];
        const float scale = n.aggregation == Aggregation::mean ? 1.f / static_cast<float>(values) : 1.f;
        for (int j = 0; j < width; j += kLanes) {
            Vec sum = load(z + j);
            for (int32_t p = 1; p < values; ++p) {
                const Vec next = load(z + int64_t(p) * 2 * width + j);
                sum = n.aggregation == Aggregation::max ? max(sum, next) : sum + next;
            }
            store(out + j, sum * scale);
        }
        z += int64_t(values) * 2 * width;
    }
}

// Constraints that were violated lately pull at their variables: see guidance.py.
void guide(const Topology& t, const RunView& run, Scratch& s, Block block) {
    for (int32_t x = block.first; x < block.last; ++x) {
        if (violated_weight(t, run, run.trace, x, s.scalar) == 0) continue;
        const float pull = run.guidance / t.degree[x];
        float* logits = run.logits + t.value_start[x];
        for (int32_t p = 0; p < t.value_start[x + 1] - t.value_start[x]; ++p) logits[p] -= pull * s.scalar[p];
    }
}

void sample(const Topology& t, const RunView& run, Scratch& s, Block block) {
    const int32_t first = t.value_start[block.first], rows = t.value_start[block.last] - first;
    const float inverse = 1.f / run.temperature;
    for (int32_t x = block.first; x < block.last; ++x) {
        const float* logits = run.logits + t.value_start[x];
        float* weight = s.scalar + (t.value_start[x] - first);
        const int32_t values = t.value_start[x + 1] - t.value_start[x];
        float highest = logits[0];
        for (int32_t p = 1; p < values; ++p) highest = logits[p] > highest ? logits[p] : highest;
        for (int32_t p = 0; p < values; ++p) weight[p] = (logits[p] - highest) * inverse;
    }
    for (int32_t i = 0; i < rows; i += kLanes) store(s.scalar + i, exp(load(s.scalar + i)));
    for (int32_t x = block.first; x < block.last; ++x)
        run.positions[x] = draw(s.scalar + (t.value_start[x] - first), t.value_start[x + 1] - t.value_start[x],
                                uniform(run.key, static_cast<uint64_t>(x)), run.positions[x]);
}

void update_block(const Network& n, const Topology& t, const RunView& run, const Work& work, Scratch& s, Block block,
                  const Collected& received) {
    const int width = n.width;
    const int32_t first = t.value_start[block.first], rows = t.value_start[block.last] - first;
    const int32_t variables = block.last - block.first;
    float* h = run.state + int64_t(first) * width;
    const float* x = work.x + int64_t(first) * width;
    (n.form == Form::linear ? first_layer_linear : first_layer_direct)(n, t, work, s, block, received);
    multiply(n.value2, s.b, width, rows, s.a, width, s.ahead);
    finish(s, anycsp::kGemm);
    normalise(n.value_norm, s.a, width, rows, width, n.hidden, s.scalar, s.zh, 2 * width);
    for (int32_t i = 0; i < rows; ++i)
        for (int j = 0; j < width; j += kLanes) {
            float* z = s.zh + int64_t(i) * 2 * width + j;
            store(z, load(z) + load(x + int64_t(i) * width + j));
            store(z + width, load(h + int64_t(i) * width + j));
        }
    pool(n, t, block, s.zh, s.pool);
    finish(s, anycsp::kOther);
    multiply<Start::bias, Finish::relu>(n.variable1, s.pool, width, variables, s.pool2, width, s.ahead);
    multiply(n.variable2, s.pool2, width, variables, s.pool, width, s.ahead);
    finish(s, anycsp::kGemm);
    normalise(n.variable_norm, s.pool, width, variables, width, n.hidden, s.scalar, s.pool, width);
    float* z = s.zh;
    for (int32_t x_ = block.first; x_ < block.last; ++x_)
        for (int32_t v = t.value_start[x_]; v < t.value_start[x_ + 1]; ++v, z += 2 * width)
            for (int j = 0; j < width; j += kLanes)
                store(z + j, load(z + j) + load(s.pool + int64_t(x_ - block.first) * width + j));
    finish(s, anycsp::kOther);

    multiply(n.gates, s.zh, 2 * width, rows, s.gates, 2 * width, s.ahead);
    multiply(n.new_input, s.zh, 2 * width, rows, s.a, width, s.ahead);
    multiply(n.new_hidden, s.zh + width, 2 * width, rows, s.b, width, s.ahead);
    gru(s.gates, s.a, s.b, rows, width, h);
    finish(s, anycsp::kGru);

    standardise(h, rows, width, n.hidden, s.scalar, s.a);
    finish(s, anycsp::kOther);
    multiply<Start::bias, Finish::relu>(n.output1, s.a, width, rows, s.b, width, s.ahead);
    finish(s, anycsp::kGemm);
    dots(s.b, rows, width, n.output2, n.output2_bias, run.logits + first);
    for (int32_t x_ = block.first; x_ < block.last; ++x_)
        run.logits[t.value_start[x_] + run.positions[x_]] += n.inertia;
    if (run.trace) guide(t, run, s, block);
    finish(s, anycsp::kOther);
    if (run.sample) sample(t, run, s, block);
    finish(s, anycsp::kSample);
}

// Several blocks at a time: with large domains a block holds a variable or two, too few to gather for efficiently.
void update(const Network& n, const Topology& t, const RunView& run, const Work& work, Scratch& s, const Block* blocks,
            int32_t count) {
    const Block group = {{blocks[0].first, blocks[count - 1].last}, false};
    begin(s);
    if (t.tile_count == 1) {
        clear_collected(n, t, s.collected, group.last - group.first,
                        t.value_start[group.last] - t.value_start[group.first]);
        finish(s, anycsp::kOther);
        receive(n, t, run, work.constraints, t.tiles[0], group, s.collected);
        finish(s, anycsp::kGather);
    }
    for (int32_t i = 0; i < count; ++i) {
        // During the last block: what is fetched sooner has left the cache again by the time it is needed.
        if (i == count - 1 && t.tile_count == 1) s.ahead = following_messages(n, t, work, t.tiles[0], group);
        update_block(n, t, run, work, s, blocks[i],
                     t.tile_count == 1 ? offset(n, t, s.collected, group.first, blocks[i].first)
                                       : offset(n, t, work.collected, 0, blocks[i].first));
    }
}

// Multiply-adds of a loop that touches no memory: the peak that `profile` compares with.
double peak(int64_t iterations) {
    Vec acc[12];
    for (Vec& a : acc) a = splat(1.f);
    const Vec scale = splat(0.999f), shift = splat(0.01f);
    for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
        for (int k = 0; k < 12; ++k) acc[k] = acc[k] * scale + shift;
    }
    Vec sum = acc[0];
    for (int k = 1; k < 12; ++k) sum += acc[k];
    volatile float sink = horizontal_sum(sum);  // keeps the loop
    (void)sink;
    return static_cast<double>(iterations) * 12 * kLanes;
}

#if defined(__AVX512F__)
constexpr const char* kName = "avx512";
#elif defined(__AVX2__)
constexpr const char* kName = "avx2";
#elif defined(__aarch64__)
constexpr const char* kName = "neon";
#else
constexpr const char* kName = "baseline";
#endif

constexpr anycsp::Kernels kTable = {kName, kLanes, kPanel, encode, constrain, collect, update, peak};

}  // namespace

namespace anycsp {

#if defined(__AVX512F__)
const Kernels& kernels_avx512() { return kTable; }
#elif defined(__AVX2__)
const Kernels& kernels_avx2() { return kTable; }
#else
const Kernels& kernels_baseline() { return kTable; }
#endif

}  // namespace anycsp
