// The policy's weights as the kernels read them: padded to whole vectors, packed in panels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "neural/kernels.h"

namespace anycsp {

// One array of the policy's weights, kept alive while it is packed.
struct WeightArray {
    std::shared_ptr<const void> owner;
    const float* data = nullptr;
    std::vector<size_t> shape;
};

// The arrays of neural/native_weights.py by name. Each may be computed when asked for, so that not all of them are in memory at
// once.
class WeightArrays {
  public:
    virtual ~WeightArrays() = default;
    virtual bool contains(const std::string& name) const = 0;
    virtual WeightArray get(const std::string& name) const = 0;
};

// What a policy reads beside the paper's inputs.
struct Inputs {
    bool gain = false, graded = false;
    int32_t constraint_features = 0;
};

// Owns what a Network points to.
class PackedNetwork {
  public:
    PackedNetwork(const WeightArrays& arrays, int32_t hidden, Aggregation aggregation, Form form, Inputs inputs,
                  float inertia, const Kernels& kernels);
    PackedNetwork(const PackedNetwork&) = delete;
    PackedNetwork& operator=(const PackedNetwork&) = delete;

    const Network& view() const { return network_; }

  private:
    const float* row(const WeightArrays& arrays, const char* name, int32_t parts);
    Matrix matrix(const WeightArrays& arrays, const char* name, int32_t output_parts, int32_t input_parts);
    Norm norm(const WeightArrays& arrays, const char* name, int32_t parts);
    float* keep(size_t size);

    const Kernels& kernels_;
    Network network_;
    std::vector<Buffer<float>> owned_;
};

}  // namespace anycsp
