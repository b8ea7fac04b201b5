// An input of the fuzzer as choices. It never ends: beyond its last byte every choice is the first one, so that short
// inputs are small problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuzzing {

class Bytes {
  public:
    Bytes(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

    bool empty() const { return data_ == end_; }
    uint8_t byte() { return empty() ? 0 : *data_++; }
    bool flag() { return byte() & 1; }
    // One in so many, and never beyond the end.
    bool rarely(int32_t times) { return byte() % times == times - 1; }
    // 0 … n − 1.
    int32_t below(int32_t n) {
        if (n <= 1) return 0;
        uint32_t number = byte();
        if (n > 256) number = number << 8 | byte();
        return static_cast<int32_t>(number % static_cast<uint32_t>(n));
    }
    int32_t between(int32_t low, int32_t high) { return low + below(high - low + 1); }
    uint64_t word() {
        uint64_t word = 0;
        for (int i = 0; i < 8; ++i) word = word << 8 | byte();
        return word;
    }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[below(static_cast<int32_t>(from.size()))];
    }

  private:
    const uint8_t *data_, *end_;
};

}  // namespace fuzzing
