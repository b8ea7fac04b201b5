// An aligned, zeroed array of fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace anycsp {

template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(size_t size) : size_(size) {
        if (size == 0) return;
        void* memory = ::operator new(size * sizeof(T), std::align_val_t{kAlignment});
        std::memset(memory, 0, size * sizeof(T));
        data_.reset(static_cast<T*>(memory));
    }

    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    size_t size() const { return size_; }
    size_t bytes() const { return size_ * sizeof(T); }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }

  private:
    static constexpr size_t kAlignment = 64;
    struct Free {
        void operator()(T* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
    };
    std::unique_ptr<T[], Free> data_;
    size_t size_ = 0;
};

}  // namespace anycsp
