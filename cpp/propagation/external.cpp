// Constraints only Python can evaluate: asked once all variables but one are fixed.
#include "propagation/propagator.h"

namespace anycsp::propagation {
namespace {

class External : public Propagator {
  public:
    External(const Problem& problem, int32_t constraint, const ExternalLabels& labels)
        : Propagator(constraint, kDear, kFixed, true), labels_(labels) {
        const int32_t begin = problem.scope_start[constraint], end = problem.scope_start[constraint + 1];
        scope.assign(problem.scope.begin() + begin, problem.scope.begin() + end);
        first_edge_ = problem.edge_start[begin];
        first_slot_ = begin;
        answer_.resize(problem.edge_start[end] - first_edge_);
        positions_.resize(scope.size());
    }
    bool propagate(Store& store) override {
        int64_t open = -1;
        for (size_t i = 0; i < scope.size(); ++i) {
            positions_[i] = store.first(scope[i]);
            if (store.fixed(scope[i])) continue;
            if (open >= 0) return true;
            open = static_cast<int64_t>(i);
        }
        const int64_t slot = open < 0 ? 0 : open;
        labels_(constraint, positions_.data(), answer_.data());
        const uint8_t* own = answer_.data() + (store.problem().edge_start[first_slot_ + slot] - first_edge_);
        const int32_t x = scope[slot];
        for (int32_t v = store.first(x); v >= 0;) {
            const int32_t next = store.next(x, v);
            if (!own[v] && !store.remove(x, v)) return false;
            v = next;
        }
        return true;
    }

  private:
    const ExternalLabels& labels_;
    int64_t first_edge_;
    int32_t first_slot_;
    std::vector<uint8_t> answer_;
    std::vector<int32_t> positions_;
};

}  // namespace

void add_external(Store& store, int32_t constraint, const ExternalLabels& labels, Propagators& out) {
    if (labels) out.push_back(std::make_unique<External>(store.problem(), constraint, labels));
}

}  // namespace anycsp::propagation
