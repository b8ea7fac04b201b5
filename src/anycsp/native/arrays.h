// Arrays handed over from Python, copied and checked for length.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace anycsp {

template <class T>
std::vector<T> field(const nanobind::dict& arrays, const char* name) {
    namespace nb = nanobind;
    if (!arrays.contains(name)) throw std::invalid_argument(std::string("missing array ") + name);
    auto array = nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(arrays[name]);
    return std::vector<T>(array.data(), array.data() + array.size());
}

template <class T>
std::vector<T> field(const nanobind::dict& arrays, const char* name, size_t expected) {
    auto result = field<T>(arrays, name);
    if (result.size() != expected)
        throw std::invalid_argument(std::string("array ") + name + " has " + std::to_string(result.size()) +
                                    " entries, expected " + std::to_string(expected));
    return result;
}

inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

template <class T>
void require_start(const std::vector<T>& start, size_t total, const char* what) {
    require(!start.empty() && start.front() == 0 && static_cast<size_t>(start.back()) == total, what);
    for (size_t i = 1; i < start.size(); ++i) require(start[i - 1] <= start[i], what);
}

}  // namespace anycsp
