// How Python hands arrays to the training ops: where they are, never converted, shapes checked at every call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/arrays.h"

namespace nb = nanobind;

namespace anycsp {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class Array>
void require_shape(const Array& array, std::initializer_list<int64_t> shape, const char* what) {
    bool same = array.ndim() == shape.size();
    size_t axis = 0;
    for (int64_t extent : shape) same = same && array.shape(axis++) == size_t(extent);
    if (!same) throw std::invalid_argument(std::string(what) + " has the wrong shape");
}

// A row for each run; returns their number.
template <class Array>
int64_t require_runs(const Array& array, int64_t columns, const char* what) {
    const int64_t runs = array.ndim() == 2 ? int64_t(array.shape(0)) : 0;
    require_shape(array, {runs, columns}, what);
    return runs;
}

// [runs][variables] within the domains of an EdgeIndex or a Problem; returns the number of runs.
template <class Domains>
int64_t require_positions(const Domains& domains, const In<int64_t>& positions) {
    const int64_t runs = require_runs(positions, domains.variables, "positions");
    for (size_t i = 0; i < positions.size(); ++i) {
        const int64_t size = domains.domain_size(static_cast<int32_t>(i % domains.variables));
        require(positions.data()[i] >= 0 && positions.data()[i] < size, "a position is outside its domain");
    }
    return runs;
}

// Null where there is none.
template <class Array>
auto data_of(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

inline auto array(const char* name) { return nb::arg(name).noconvert(); }
inline auto optional(const char* name) { return nb::arg(name).noconvert().none(); }

}  // namespace anycsp
