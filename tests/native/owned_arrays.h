// Named arrays as Python would hand them over, each in a block of memory of exactly its size, so that the sanitizer
// sees a read of one entry too many. The block is the same whenever the array is asked for, as numpy's are, and goes
// with these arrays: what outlives them has to keep it.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/arrays.h"

namespace fuzzing {

using Array = std::variant<std::vector<uint8_t>, std::vector<int32_t>, std::vector<int64_t>>;

class OwnedArrays : public anycsp::Arrays {
  public:
    std::map<std::string, Array> of;

    template <class T>
    std::vector<T>& as(const char* name) {
        auto [entry, fresh] = of.try_emplace(name, std::vector<T>());
        return std::get<std::vector<T>>(entry->second);
    }
    std::vector<uint8_t>& bytes(const char* name) { return as<uint8_t>(name); }
    std::vector<int32_t>& int32(const char* name) { return as<int32_t>(name); }
    std::vector<int64_t>& int64(const char* name) { return as<int64_t>(name); }

  private:
    template <class T>
    void cast(const char* name, anycsp::SharedArray<T>& to) const {
        const auto found = of.find(name);
        if (found == of.end()) throw std::invalid_argument(std::string("missing array ") + name);
        const auto* items = std::get_if<std::vector<T>>(&found->second);
        if (items == nullptr) throw std::invalid_argument(std::string("another type of array: ") + name);
        auto& block = blocks_[name];
        if (!block) {
            std::shared_ptr<T> made(new T[items->size()], std::default_delete<T[]>());
            std::copy(items->begin(), items->end(), made.get());
            block = made;
        }
        to = {block, static_cast<const T*>(block.get()), items->size()};
    }
    void find(const char* name, anycsp::SharedArray<uint8_t>& to) const override { cast(name, to); }
    void find(const char* name, anycsp::SharedArray<int32_t>& to) const override { cast(name, to); }
    void find(const char* name, anycsp::SharedArray<int64_t>& to) const override { cast(name, to); }
    void find(const char* name, anycsp::SharedArray<double>&) const override {
        throw std::invalid_argument(std::string("no array of floats: ") + name);
    }

    mutable std::map<std::string, std::shared_ptr<const void>> blocks_;  // made when first asked for
};

}  // namespace fuzzing
