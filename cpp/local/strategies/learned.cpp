// A move score learned from data: a linear function of what the state keeps about a move, its weights the parameters.
//
// Candidates are the moves of a random violated constraint (a hard one while there is any), or of the variables in
// conflict (`everywhere`). One is drawn with probability ∝ e^score, or the best is taken (`best`), or with probability
// `noise` any, where no candidate is free of breaks. probSAT, WalkSAT and tabu search are settings of it, which the
// tests compare; constraint weighting is added by `bump`.
#include <algorithm>
#include <cmath>

#include "local/run.h"
#include "local/strategies/focus.h"

namespace anycsp::local {
namespace {

constexpr unsigned kFeatures = kCounts | kViolated | kConflicted;

class Learned : public Stepping<Learned> {
  public:
    Learned(Run& run, Parameters& parameters)
        : Stepping(run),
          problem_(*run.state.index().problem),
          delta_(weight(parameters, "delta")),
          broken_(weight(parameters, "broken")),
          log_broken_(weight(parameters, "log_broken")),
          free_(weight(parameters, "free")),
          age_(weight(parameters, "age")),
          moved_(weight(parameters, "moved")),
          degree_(weight(parameters, "degree")),
          left_(weight(parameters, "left")),
          eps_(parameters.get("eps", 0.9, 1e-6, 1e3)),
          noise_(parameters.get("noise", 0.0, 0.0, 1.0)),
          tenure_(parameters.get("tenure", 5.0, 0.0, 1e6)),
          per_conflict_(parameters.get("per_conflict", 0.0, 0.0, 1e3)),
          bump_(parameters.get("bump", 0.0, 0.0, 1.0)),
          best_(parameters.get("best", 0.0, 0.0, 1.0) > 0.5),
          everywhere_(parameters.get("everywhere", 0.0, 0.0, 1.0) > 0.5),
          sample_(parameters.get("sample", 1000, 1, 1e9)) {
        for (int b = 0; b < kTable; ++b) log_[b] = std::log(eps_ + b);
        for (int32_t x = 0; x < problem_.variables; ++x)
            by_degree_.push_back(degree_ *
                                 std::log1p(problem_.variable_slot_start[x + 1] - problem_.variable_slot_start[x]));
    }

    void begin() override {
        last_move_.assign(problem_.variables, 0);
        times_moved_.assign(problem_.variables, 0);
        left_until_.assign(problem_.values(), 0);
        double total = 0;
        for (Weight w : state_.weights()) total += double(w);
        unit_ = state_.weights().empty() ? 1.0 : std::max(1.0, total / double(state_.weights().size()));
    }

    void step() {
        gather();
        if (value_.empty()) return;
        const int32_t chosen = choose(), value = value_[chosen], x = state_.index().value_variable[value];
        const int32_t from = problem_.value_start[x] + state_.position(x);
        const bool uphill = state_.cost()[value] >= state_.cost()[from];
        left_until_[from] = run_.moves + 1 + random_.below(10) +
                            static_cast<int64_t>(tenure_ + per_conflict_ * state_.conflicted().size());
        last_move_[x] = run_.moves;
        ++times_moved_[x];
        run_.move<kFeatures>(x, value - problem_.value_start[x]);
        if (uphill && bump_ > 0 && random_.uniform() < bump_) grow();
    }

  private:
    static double weight(Parameters& parameters, const char* name) { return parameters.get(name, 0.0, -1e6, 1e6); }

    void gather() {
        value_.clear();
        score_.clear();
        any_free_ = false;
        auto visit = [&](int32_t x, int32_t, int32_t value) { add(x, value); };
        if (everywhere_) {
            const IndexSet& conflicted = state_.conflicted();
            const int32_t members = conflicted.size(), looked_at = std::min(members, sample_);
            int32_t k = looked_at < members ? random_.below(members) : 0;
            for (int32_t i = 0; i < looked_at; ++i, k = k + 1 < members ? k + 1 : 0) {
                const int32_t x = conflicted[k], first = problem_.value_start[x], now = state_.position(x);
                for (int32_t v = 0; v < problem_.domain_size(x); ++v)
                    if (v != now) add(x, first + v);
            }
        } else {
            const IndexSet& violated = state_.hard_count() > 0 ? state_.violated_hard() : state_.violated();
            each_repair(state_, violated[random_.below(violated.size())], visit);
        }
    }

    void add(int32_t x, int32_t value) {
        const Weight broken = state_.cost()[value];
        const Weight made = state_.cost_of(x)[state_.position(x)];
        double score = by_degree_[x] + delta_ * double(broken - made) / unit_ + broken_ * double(broken) / unit_;
        if (log_broken_ != 0) score += log_broken_ * log_of(broken);
        if (broken == 0) {
            score += free_;
            any_free_ = true;
        }
        if (age_ != 0) score += age_ * std::log1p(double(run_.moves - last_move_[x]));
        if (moved_ != 0) score += moved_ * std::log1p(double(times_moved_[x]));
        if (left_until_[value] > run_.moves) score += left_;
        value_.push_back(value);
        score_.push_back(score);
    }

    double log_of(Weight broken) const {
        if (unit_ == 1.0 && broken < kTable) return log_[broken];
        return std::log(eps_ + double(broken) / unit_);
    }

    int32_t choose() {
        const int32_t count = static_cast<int32_t>(value_.size());
        if (noise_ > 0 && !any_free_ && random_.uniform() < noise_) return random_.below(count);
        if (best_) return best();
        const double most = *std::max_element(score_.begin(), score_.end());
        double total = 0.0;
        for (double& score : score_) score = total += std::exp(score - most);
        const double drawn = random_.uniform() * total;
        int32_t chosen = 0;
        while (chosen + 1 < count && score_[chosen] <= drawn) ++chosen;
        return chosen;
    }

    int32_t best() {
        int32_t chosen = 0, ties = 1;
        for (int32_t k = 1; k < int32_t(score_.size()); ++k) {
            if (score_[k] < score_[chosen]) continue;
            ties = score_[k] > score_[chosen] ? 1 : ties + 1;
            if (ties == 1 || random_.below(ties) == 0) chosen = k;
        }
        return chosen;
    }

    // One violated constraint gains its first weight again.
    void grow() {
        const IndexSet& violated = state_.violated();
        if (violated.size() == 0) return;
        const int32_t c = violated[random_.below(violated.size())];
        state_.reweigh<kFeatures>(c, state_.index().score.of[c]);
    }

    static constexpr int kTable = 64;
    const Problem& problem_;
    const double delta_, broken_, log_broken_, free_, age_, moved_, degree_, left_;  // weights of the features
    const double eps_, noise_, tenure_, per_conflict_, bump_;
    const bool best_, everywhere_;
    const int32_t sample_;
    double unit_ = 1.0;  // mean weight of a constraint at the start
    double log_[kTable];
    std::vector<double> by_degree_;     // [variables] that feature times its weight
    std::vector<int64_t> last_move_;    // [variables]
    std::vector<int64_t> times_moved_;  // [variables]
    std::vector<int64_t> left_until_;   // [values] that count as left lately
    std::vector<int32_t> value_;        // candidates of one step
    std::vector<double> score_;
    bool any_free_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_learned(Run& run, Parameters& parameters) {
    return std::make_unique<Learned>(run, parameters);
}

}  // namespace anycsp::local
