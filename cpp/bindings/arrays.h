// numpy arrays in and out: checked, and copied only where they must be.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <vector>

#include "core/arrays.h"
#include "core/problem.h"

namespace nb = nanobind;

namespace anycsp {

// A dictionary of arrays, read where they are.
class NumpyArrays : public Arrays {
  public:
    explicit NumpyArrays(nb::dict arrays) : arrays_(std::move(arrays)) {}

  private:
    template <class T>
    void cast(const char* name, SharedArray<T>& to) const {
        using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
        if (!arrays_.contains(name)) throw std::invalid_argument(std::string("missing array ") + name);
        auto array = std::make_shared<Array>(nb::cast<Array>(arrays_[name]));
        const T* data = array->data();
        const size_t size = array->size();
        to = {std::move(array), data, size};
    }
    void find(const char* name, SharedArray<uint8_t>& to) const override { cast(name, to); }
    void find(const char* name, SharedArray<int32_t>& to) const override { cast(name, to); }
    void find(const char* name, SharedArray<int64_t>& to) const override { cast(name, to); }
    void find(const char* name, SharedArray<double>& to) const override { cast(name, to); }

    nb::dict arrays_;
};

using Positions = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// [runs, variables] within the domains.
inline const int32_t* checked(const Problem& problem, const Positions& positions, size_t runs) {
    if (positions.shape(0) != runs || positions.shape(1) != size_t(problem.variables))
        throw std::invalid_argument("positions are not [runs, variables]");
    for (size_t i = 0; i < positions.size(); ++i) {
        const int32_t size = problem.domain_size(static_cast<int32_t>(i % problem.variables));
        if (positions.data()[i] < 0 || positions.data()[i] >= size)
            throw std::invalid_argument("a position is outside its domain");
    }
    return positions.data();
}

// A copy as a numpy array.
template <class T>
nb::object copied(const T* data, std::initializer_list<size_t> shape) {
    size_t size = 1;
    for (size_t extent : shape) size *= extent;
    T* memory = new T[size ? size : 1];
    std::copy_n(data, size, memory);
    nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(memory, shape, owner));
}

}  // namespace anycsp
