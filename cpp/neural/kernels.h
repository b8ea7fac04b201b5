// What the vector kernels see: plain pointers, and a table of functions compiled once per instruction set.
// No standard library type appears here or in the kernels, so that nothing compiled for a newer processor can be
// picked by the linker for an older one.
#pragma once

#include <cstdint>

#include "core/range.h"

namespace anycsp {

enum class Aggregation : int32_t { sum, mean, max };

// How constraints and values exchange messages; chosen for a graph in layout.cpp.
//   direct: M_C is applied at every constraint, both its messages are stored.
//   linear: SUM and MEAN commute with M_C's linear layers, which so move to the value side (docs/architecture.md).
enum class Form : int32_t { direct, linear };

// Weights of one linear layer, padded to whole vectors and packed in panels (gemm.h).
struct Matrix {
    const float* packed = nullptr;
    const float* bias = nullptr;  // [outputs], zeros where the layer has none
    int32_t inputs = 0, outputs = 0;
    bool triangular = false;  // input k reaches only outputs ≤ k
};

struct Norm {
    const float *scale = nullptr, *shift = nullptr;
};

// The policy, as native_weights.py prepares it: matrices in front of a LayerNorm are centred, so its mean is zero.
struct Network {
    int32_t hidden = 0, width = 0;  // d, and d padded to whole vectors
    Aggregation aggregation = Aggregation::max;
    Form form = Form::direct;
    bool gain = false, graded = false;  // the features of policy.py
    int32_t constraint_features = 0;    // of weight_features
    float inertia = 0;
    const float* initial_state = nullptr;

    Matrix encoder1, encoder2, value_message;
    Norm encoder_norm, value_message_norm;
    const float* encoder_chosen = nullptr;  // the column of L_V
    const float* encoder_gain = nullptr;    // [3, or graded 6][width]

    Matrix constraint1, constraint2;  // linear: constraint1 without its bias, on the value side
    const float* constraint1_bias = nullptr;
    Norm constraint_norm;
    // [constraint_features][width]: weight_message and kind_message, through constraint1 in the linear form
    const float* constraint_weight = nullptr;
    Matrix spread;  // linear: R with ‖R a‖² = 2d·variance of M_C's second layer

    Matrix value1, value2;  // linear: value1 reads [x, exceptional sum]
    Norm value_norm;
    Matrix total;                      // linear: the per-variable total through M_C's label-1 half and value1
    const float* label1 = nullptr;     // linear: value1 of the label-1 shift, once per slot
    const float* exception = nullptr;  // linear: value1 of the shifts' difference, once per label 0

    Matrix variable1, variable2;
    Norm variable_norm;
    Matrix gates, new_input, new_hidden;  // gates reads [z, h]
    Matrix output1;
    const float* output2 = nullptr;
    float output2_bias = 0;
};

// Fixed topology, from problem.h and layout.h. An exceptional slot contributes one row of `Work::rows`. Either there is
// a row for every exception a variable can have, those of a variable one after another: first the one where no value is
// labelled 0. Or, where that is fewer, every slot has a row of its own, at its place in the order by variable.
struct Topology {
    int32_t variables = 0, values = 0, constraints = 0, largest_domain = 0;
    const int32_t *value_start = nullptr, *scope_start = nullptr, *scope = nullptr;
    const float* constraint_edges = nullptr;   // [constraints] Σ domain sizes of the scope
    const float* constraint_weight = nullptr;  // [constraints] relative weight, null where all are 1
    const float* features = nullptr;           // [constraints][constraint_features], null where all are zero
    const int64_t* label_start = nullptr;      // [slots] a slot's first label; −1 in exceptional families
    const float* degree = nullptr;             // [variables] slots
    bool any_exceptional = false, any_labelled = false;
    bool near = false;  // all that a part gathers is in the second-level cache: nothing need be fetched ahead
    const int32_t* place = nullptr;  // [slots] the row of a slot where every slot has its own, else null
    // Slots by tile and variable: those of exceptional families, and those with stored labels. A tile is a range of
    // constraints whose messages are kept at once; its constraints are numbered from its first.
    const struct Tile* tiles = nullptr;
    int32_t tile_count = 0;
    const int32_t *exceptional_constraint = nullptr, *labelled_constraint = nullptr;
    const int64_t* labelled_label = nullptr;
};

struct Tile : Range {                                   // constraints
    const int32_t *exceptional_start, *labelled_start;  // [variables + 1] into the arrays of Topology
};

// One run's persistent arrays.
struct RunView {
    float* state = nullptr;               // [values][width] h
    int32_t* positions = nullptr;         // [variables]
    const int32_t* rows = nullptr;        // [slots] the row of `Work::rows` an exceptional slot contributes, or null
    const int32_t* exceptions = nullptr;  // in the order of `exceptional_constraint`: the position, or −1
    const uint8_t* labels = nullptr;
    const float* grades = nullptr;  // laid out as labels are; null unless the network reads them
    float* logits = nullptr;        // [values]
    uint64_t key = 0;               // step_key of this run and step
    float temperature = 1;
    const float* trace = nullptr;  // [constraints] how long each was violated lately; null without guidance
    float guidance = 0;            // what a logit loses where its value leaves all violated, at a trace of 1
    bool sample = true;            // draw new positions (global sampling), or leave that to the caller
};

// What values have received so far (gather.h): by value, by variable, and by value how often it is the exception.
struct Collected {
    float* own = nullptr;    // [values][width]
    float* whole = nullptr;  // [variables][3·width] for MAX, none where no domain exceeds two values; else [width]
    float* count = nullptr;  // [values], linear only
};

// Arrays of one step of a part of one run; a thread reuses them for the parts and runs it works through. What begins with
// a variable, value or constraint of the part is found by its index, though the array holds those of the part only.
struct Work {
    int32_t last_variable = 0;     // where the part ends
    float* x = nullptr;            // [values][width]
    float* rows = nullptr;         // [rows][width] a variable's values aggregated, one row an exception
    float* messages = nullptr;     // direct: [values][2][width] m(v,0), m(v,1); linear: [values][width] W1(m0 − m1)
    float* totals = nullptr;       // linear: [variables][width] W1 Σ m1
    float* constraints = nullptr;  // of a tile; direct: [constraints][2][width]; linear: [constraints][width] a/σ
    Collected collected;           // with several tiles: of all variables
};

enum Phase : int32_t { kGather, kGemm, kGru, kSample, kRelabel, kOther, kPhases };

// Rows that the next gather will read, fetched bit by bit while matrix products keep the processor busy.
struct Ahead {
    const float* base = nullptr;
    const int32_t *at = nullptr, *end = nullptr;  // indices of rows
    int32_t row = 0;                              // floats
};

// One thread's buffers and clock.
struct Scratch {
    float *a = nullptr, *b = nullptr;         // [rows][width], twice that for `a` in the linear form
    float *zh = nullptr, *gates = nullptr;    // [rows][2·width]
    float *pool = nullptr, *pool2 = nullptr;  // [variables][width]
    float *scalar = nullptr, *far = nullptr;  // [rows]
    Collected collected;                      // with one tile: of a group of blocks
    Ahead ahead;
    double (*now)() = nullptr;  // null unless profiling
    double reading = 0;         // seconds the clock takes to be read
    double last = 0, seconds[kPhases] = {};
};

// A range of variables, or of constraints of one form.
struct Block : Range {
    bool exceptional;
};

struct Kernels {
    const char* name;
    int32_t lanes, panel;
    void (*encode)(const Network&, const Topology&, const RunView&, const Work&, Scratch&, Block);
    void (*constrain)(const Network&, const Topology&, const RunView&, const Work&, Scratch&, const Tile&, Block);
    void (*collect)(const Network&, const Topology&, const RunView&, const Work&, Scratch&, const Tile&, Block);
    void (*update)(const Network&, const Topology&, const RunView&, const Work&, Scratch&, const Block*, int32_t count);
    double (*peak)(int64_t iterations);  // multiply-adds done by a register-only loop
};

const Kernels& kernels_baseline();
#if defined(ANYCSP_X86_LEVELS)
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();
#endif

// The best level this processor has; ANYCSP_LEVEL=baseline|avx2|avx512 in the environment lowers it.
const Kernels& kernels();

}  // namespace anycsp
