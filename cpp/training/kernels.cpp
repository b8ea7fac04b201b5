// The training ops, compiled once per instruction set.
#include "training/aggregate.h"
#include "training/cell.h"
#include "training/rows.h"

namespace {

template <class T>
constexpr anycsp::Ops<T> table() {
    return {kLanesOf<T>,      rows_forward<T>,      rows_backward<T>,     cell_forward<T>,
            cell_backward<T>, aggregate_forward<T>, aggregate_backward<T>};
}

constexpr anycsp::OpTables kTables = {table<float>(), table<double>()};

}  // namespace

namespace anycsp {

#if defined(__AVX512F__)
const OpTables& ops_avx512() { return kTables; }
#elif defined(__AVX2__)
const OpTables& ops_avx2() { return kTables; }
#else
const OpTables& ops_baseline() { return kTables; }
#endif

}  // namespace anycsp
