// Named arrays that somebody else made and this code reads: it asks for a name and a type, and checks lengths. Where
// they come from (numpy, through bindings/arrays.h) is not known here.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/shared_array.h"

namespace anycsp {

class Arrays {
  public:
    virtual ~Arrays() = default;

    // The array where it is, kept alive by the result. Nobody may write to it from here on.
    template <class T>
    SharedArray<T> shared(const char* name) const {
        SharedArray<T> result;
        find(name, result);
        return result;
    }
    template <class T>
    SharedArray<T> shared(const char* name, size_t expected) const {
        SharedArray<T> result = shared<T>(name);
        if (result.size() != expected)
            throw std::invalid_argument(std::string("array ") + name + " has " + std::to_string(result.size()) +
                                        " entries, expected " + std::to_string(expected));
        return result;
    }
    // Zeros and ones.
    template <class... Expected>
    SharedArray<uint8_t> flags(const char* name, Expected... expected) const {
        SharedArray<uint8_t> result = shared<uint8_t>(name, expected...);
        for (uint8_t flag : result)
            if (flag > 1) throw std::invalid_argument(std::string("array ") + name + " holds more than 0 and 1");
        return result;
    }
    template <class T, class... Expected>
    std::vector<T> copy(const char* name, Expected... expected) const {
        const SharedArray<T> array = shared<T>(name, expected...);
        return std::vector<T>(array.begin(), array.end());
    }

  private:
    // Each throws std::invalid_argument where there is no such array.
    virtual void find(const char* name, SharedArray<uint8_t>& to) const = 0;
    virtual void find(const char* name, SharedArray<int32_t>& to) const = 0;
    virtual void find(const char* name, SharedArray<int64_t>& to) const = 0;
    virtual void find(const char* name, SharedArray<double>& to) const = 0;
};

inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

template <class Starts>
void require_start(const Starts& start, size_t total, const char* what) {
    require(!start.empty() && start.front() == 0 && static_cast<size_t>(start.back()) == total, what);
    for (size_t i = 1; i < start.size(); ++i) require(start[i - 1] <= start[i], what);
}

}  // namespace anycsp
