// A small well-formed problem drawn from the bytes of an input, beside what each of its constraints means.
//
// The meaning is a plain definition of the family that shares no code with cpp/: it is what everything is judged by.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bytes.h"
#include "core/problem.h"
#include "families/penalties.h"
#include "owned_arrays.h"
#include "propagation/propagator.h"

namespace fuzzing {

using Positions = std::vector<int32_t>;                 // of all variables
using Meaning = std::function<bool(const Positions&)>;  // whether a constraint holds

// What a family draws its constraints for.
struct Domains {
    std::vector<std::vector<int64_t>> values;  // by variable

    int32_t variables() const { return static_cast<int32_t>(values.size()); }
    int32_t size(int32_t x) const { return static_cast<int32_t>(values[x].size()); }
    int64_t value(int32_t x, const Positions& at) const { return values[x][at[x]]; }
};

struct Constraint {
    std::vector<int32_t> scope;
    Meaning holds;
    // The side of a comparison that an objective is made of; empty where the constraint is none.
    std::function<int64_t(const Positions&)> left{};
    int32_t op = -1;
};

struct DrawnFamily {
    std::string name;
    std::shared_ptr<OwnedArrays> arrays = std::make_shared<OwnedArrays>();
    std::vector<Constraint> constraints;
};

// Every family as a function that draws one to three constraints; definitions.cpp.
struct FamilyDrawer {
    const char* name;
    void (*draw)(Bytes&, const Domains&, DrawnFamily&);
};
const std::vector<FamilyDrawer>& family_drawers();

class Drawn {
  public:
    explicit Drawn(Bytes& bytes);
    Drawn(const Drawn&) = delete;  // the meanings refer to its domains

    Domains domains;
    std::vector<DrawnFamily> families;
    OwnedArrays graph;  // the problem's own arrays

    // Compiled from the arrays, which are not to change any more; throws what the reader throws.
    std::shared_ptr<anycsp::Problem> compile() const;
    std::vector<anycsp::propagation::FamilyArrays> arrays() const;
    // Of constraints that only a function can evaluate.
    anycsp::ExternalLabels external() const;

    const std::vector<const Constraint*>& constraints() const { return constraints_; }
    // Every assignment there is: they are few.
    void each_assignment(const std::function<void(const Positions&)>& visit) const;
    Positions draw_positions(Bytes& bytes) const;

  private:
    std::vector<const Constraint*> constraints_;
};

}  // namespace fuzzing
