// Weights as the kernels of the training ops want them: every row padded with zeros to whole vectors.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "core/buffer.h"
#include "training/ops.h"

namespace anycsp {

template <class T>
int32_t padded(int32_t features) {
    const int32_t lanes = ops<T>().lanes;
    return (features + lanes - 1) / lanes * lanes;
}

// Hands out zeroed pieces of one buffer, each of whole vectors; asked twice: for the size, then for the pieces.
template <class T>
class Arena {
  public:
    explicit Arena(size_t size) : buffer_(size) {}
    T* take(size_t count) {
        T* taken = buffer_.data() + used_;
        used_ += (count + 15) / 16 * 16;
        if (used_ > buffer_.size()) throw std::logic_error("arena too small");
        return taken;
    }

  private:
    Buffer<T> buffer_;
    size_t used_ = 0;
};

// [rows][columns] → padded copy, or its padded transpose.
template <class T>
void copy_padded(const T* from, int32_t rows, int32_t columns, int32_t width, T* to) {
    for (int32_t i = 0; i < rows; ++i) std::copy_n(from + size_t(i) * columns, columns, to + size_t(i) * width);
}
template <class T>
void copy_transposed(const T* from, int32_t rows, int32_t columns, int32_t width, T* to) {
    for (int32_t i = 0; i < rows; ++i)
        for (int32_t j = 0; j < columns; ++j) to[size_t(j) * width + i] = from[size_t(i) * columns + j];
}
template <class T>
void copy_unpadded(const T* from, int32_t rows, int32_t columns, int32_t width, T* to) {
    for (int32_t i = 0; i < rows; ++i) std::copy_n(from + size_t(i) * width, columns, to + size_t(i) * columns);
}

}  // namespace anycsp
