// The policy's weights as the kernels read them: padded to whole vectors, packed in panels.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "core/buffer.h"
#include "neural/kernels.h"

namespace anycsp {

// Owns what a Network points to. `arrays` is the dictionary of neural/native_weights.py: a function for each array, called
// when that is packed.
class PackedNetwork {
public:
    PackedNetwork(const nanobind::dict& arrays, int32_t hidden, Aggregation aggregation, Form form, bool gain,
                  float inertia, const Kernels& kernels);
    PackedNetwork(const PackedNetwork&) = delete;
    PackedNetwork& operator=(const PackedNetwork&) = delete;

    const Network& view() const { return network_; }

private:
    const float* row(const nanobind::dict& arrays, const char* name, int32_t parts);
    Matrix matrix(const nanobind::dict& arrays, const char* name, int32_t output_parts, int32_t input_parts);
    Norm norm(const nanobind::dict& arrays, const char* name, int32_t parts);
    float* keep(size_t size);

    const Kernels& kernels_;
    Network network_;
    std::vector<Buffer<float>> owned_;
};

}  // namespace anycsp
