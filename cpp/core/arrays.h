// Arrays handed over from Python, checked for length: copied (`field`), or read where they are (`shared`).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "core/shared_array.h"

namespace anycsp {

// Nobody may write to the array from here on.
template <class T>
SharedArray<T> shared(const nanobind::dict& arrays, const char* name) {
    namespace nb = nanobind;
    using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    if (!arrays.contains(name)) throw std::invalid_argument(std::string("missing array ") + name);
    auto array = std::make_shared<Array>(nb::cast<Array>(arrays[name]));
    const T* data = array->data();
    const size_t size = array->size();
    return {std::move(array), data, size};
}

template <class T>
SharedArray<T> shared(const nanobind::dict& arrays, const char* name, size_t expected) {
    auto result = shared<T>(arrays, name);
    if (result.size() != expected)
        throw std::invalid_argument(std::string("array ") + name + " has " + std::to_string(result.size()) +
                                    " entries, expected " + std::to_string(expected));
    return result;
}

template <class T, class... Expected>
std::vector<T> field(const nanobind::dict& arrays, const char* name, Expected... expected) {
    auto array = shared<T>(arrays, name, expected...);
    return std::vector<T>(array.begin(), array.end());
}

inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

template <class Starts>
void require_start(const Starts& start, size_t total, const char* what) {
    require(!start.empty() && start.front() == 0 && static_cast<size_t>(start.back()) == total, what);
    for (size_t i = 1; i < start.size(); ++i) require(start[i - 1] <= start[i], what);
}

}  // namespace anycsp
