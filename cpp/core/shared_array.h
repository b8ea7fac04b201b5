// A read-only array owned by whoever made it, kept alive by those who read it.
#pragma once

#include <cstddef>
#include <memory>

namespace anycsp {

template <class T>
class SharedArray {
  public:
    SharedArray() = default;
    SharedArray(std::shared_ptr<const void> owner, const T* data, size_t size)
        : owner_(std::move(owner)), data_(data), size_(size) {}

    const T* data() const { return data_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T& operator[](size_t i) const { return data_[i]; }
    const T& front() const { return data_[0]; }
    const T& back() const { return data_[size_ - 1]; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }

  private:
    std::shared_ptr<const void> owner_;
    const T* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace anycsp
