// Tabu min-conflicts (Galinier and Hao's TabuCol, for any constraint): the best move of a variable in conflict, back
// to its old value only after a tenure of random(10) + L + λ · conflicts, unless that beats the best cost seen.
#include <algorithm>

#include "local/run.h"

namespace anycsp::local {
namespace {

constexpr unsigned kFeatures = kCounts | kConflicted;

class Tabu : public Stepping<Tabu> {
  public:
    Tabu(Run& run, Parameters& parameters)
        : Stepping(run),
          problem_(*run.state.index().problem),
          tenure_(parameters.get("tenure", 5.0, 0.0, 1e9)),
          per_conflict_(parameters.get("per_conflict", 0.3, 0.0, 1e6)),
          sample_(parameters.get("sample", 1000, 1, 1e9)) {}

    void begin() override {
        tabu_until_.assign(problem_.values(), 0);
        energy_ = best_energy_ = 0;
    }

    void step() {
        const IndexSet& conflicted = state_.conflicted();
        const int32_t members = conflicted.size(), looked_at = std::min(members, sample_);
        int32_t k = looked_at < members ? random_.below(members) : 0;
        Weight best = INT64_MAX;
        int32_t best_variable = -1, best_position = 0, ties = 0;
        for (int32_t i = 0; i < looked_at; ++i, k = k + 1 < members ? k + 1 : 0) {
            const int32_t x = conflicted[k], size = problem_.domain_size(x), now = state_.position(x);
            const Weight* cost = state_.cost_of(x);
            const int64_t* until = tabu_until_.data() + problem_.value_start[x];
            for (int32_t v = 0; v < size; ++v) {
                const Weight difference = cost[v] - cost[now];
                if (difference > best || v == now) continue;
                if (until[v] > run_.moves && energy_ + difference >= best_energy_) continue;
                if (difference < best) {
                    best = difference;
                    ties = 0;
                }
                if (ties++ == 0 || random_.below(ties) == 0) {
                    best_variable = x;
                    best_position = v;
                }
            }
        }
        if (best_variable < 0) return;  // everything is tabu, or one-valued: time passes
        const int32_t left = problem_.value_start[best_variable] + state_.position(best_variable);
        energy_ += best;
        best_energy_ = std::min(best_energy_, energy_);
        run_.move<kFeatures>(best_variable, best_position);
        tabu_until_[left] =
            run_.moves + 1 + random_.below(10) + static_cast<int64_t>(tenure_ + per_conflict_ * conflicted.size());
    }

  private:
    const Problem& problem_;
    const double tenure_, per_conflict_;
    const int32_t sample_;
    std::vector<int64_t> tabu_until_;      // [values]
    Weight energy_ = 0, best_energy_ = 0;  // weighted violation relative to the start
};

}  // namespace

std::unique_ptr<Strategy> make_tabu(Run& run, Parameters& parameters) {
    return std::make_unique<Tabu>(run, parameters);
}

}  // namespace anycsp::local
