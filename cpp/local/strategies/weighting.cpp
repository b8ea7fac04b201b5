// Constraint weighting in the manner of SATLike (Lei and Cai 2018), over any domain: the best of a few sampled
// variables with an improving move; where no move improves, violated constraints gain weight and the best move of a
// random violated one is made. Now and then the weights of satisfied constraints shrink again, and a kick leads away.
// On linear constraints, whose penalty is how far their sum is off, this is Feasibility Jump (Luteberget and Sartor
// 2022): a variable's target is its jump value, the least weighted violation of its constraints.
#include <algorithm>
#include <cmath>

#include "local/run.h"
#include "local/strategies/focus.h"

namespace anycsp::local {
namespace {

constexpr unsigned kFeatures = kCounts | kViolated | kTouched;
constexpr Weight kUnit = 16;  // the weight of a hard constraint, and of a soft one of mean weight
// One in so many moves begins a kick: any move of a violated constraint, and after each another with even chances. The
// best moves alone may go in circles for ever, as where a hard constraint cannot hold and gains weight all the time.
constexpr uint32_t kSeldom = 256;

class Weighting : public Stepping<Weighting> {
  public:
    Weighting(Run& run, Parameters& parameters)
        : Stepping(run),
          problem_(*run.state.index().problem),
          samples_(parameters.get("samples", 50, 1, 1e6)),
          bumps_(parameters.get("bumps", 100, 1, 1e9)),
          smooth_(parameters.get("smooth", 0.01, 0.0, 1.0)),
          limit_(parameters.get("limit", 100, 1, 1e6)),
          improving_(problem_.variables) {
        double soft = 0.0;
        int64_t count = 0;
        for (int32_t c = 0; c < problem_.constraints; ++c)
            if (!problem_.hard[c]) {
                soft += double(problem_.weight[c]);
                ++count;
            }
        for (int32_t c = 0; c < problem_.constraints; ++c) {
            const double share = problem_.hard[c] ? 1.0 : double(problem_.weight[c]) * double(count) / soft;
            base_.push_back(std::max<Weight>(1, std::llround(kUnit * std::min(share, 1e6))));
        }
    }

    std::vector<Weight> weights() const override { return base_; }

    void begin() override {
        last_move_.assign(problem_.variables, 0);
        gain_.assign(problem_.variables, 0);
        target_.assign(problem_.variables, 0);
        improving_.clear();
        kicking_ = false;
    }

    void step() {
        refresh();
        int32_t x = -1;
        kicking_ = random_.below(kicking_ ? 2 : kSeldom) == 0;
        if (kicking_) {
            x = any_move(drawn());
        } else if (improving_.size() == 0) {
            if (random_.uniform() < smooth_)
                shrink();
            else
                grow();
            refresh();
            const int32_t constraint = drawn();
            for (int32_t s = problem_.scope_start[constraint]; s < problem_.scope_start[constraint + 1]; ++s)
                x = better(x, problem_.scope[s]);
        } else if (improving_.size() <= samples_) {
            for (int32_t k = 0; k < improving_.size(); ++k) x = better(x, improving_[k]);
        } else {
            for (int32_t k = 0; k < samples_; ++k) x = better(x, improving_[random_.below(improving_.size())]);
        }
        if (x < 0) return;
        last_move_[x] = run_.moves;
        run_.move<kFeatures>(x, target_[x]);
    }

  private:
    // The one with the larger gain, of equals the one that has rested longer.
    int32_t better(int32_t x, int32_t y) const {
        if (problem_.domain_size(y) == 1) return x;
        if (x < 0 || gain_[y] > gain_[x] || (gain_[y] == gain_[x] && last_move_[y] < last_move_[x])) return y;
        return x;
    }

    int32_t drawn() {
        const IndexSet& violated = to_be_mended(state_, random_);
        return violated[random_.below(violated.size())];
    }

    // A variable of the constraint and, as its target, another value; −1 where it has none.
    int32_t any_move(int32_t constraint) {
        const int32_t first = problem_.scope_start[constraint], last = problem_.scope_start[constraint + 1];
        const int32_t x = problem_.scope[first + random_.below(last - first)];
        if (problem_.domain_size(x) == 1) return -1;
        target_[x] = random_.below(problem_.domain_size(x) - 1);
        target_[x] += target_[x] >= state_.position(x);
        return x;
    }

    // Best move and gain of the variables whose costs changed.
    void refresh() {
        IndexSet& touched = state_.touched();
        for (int32_t k = 0; k < touched.size(); ++k) {
            const int32_t x = touched[k], size = problem_.domain_size(x), now = state_.position(x);
            if (size == 1) continue;
            const Weight* cost = state_.cost_of(x);
            int32_t best = now == 0 ? 1 : 0, ties = 1;
            for (int32_t v = best + 1; v < size; ++v) {
                if (v == now || cost[v] > cost[best]) continue;
                ties = cost[v] < cost[best] ? 1 : ties + 1;
                if (ties == 1 || random_.below(ties) == 0) best = v;
            }
            target_[x] = best;
            gain_[x] = cost[now] - cost[best];
            if (gain_[x] > 0)
                improving_.insert(x);
            else
                improving_.erase(x);
        }
        touched.clear();
    }

    // Hard constraints first: soft ones seldom gain weight while a hard one is violated.
    void grow() {
        const IndexSet& violated = to_be_mended(state_, random_);
        const bool all = violated.size() <= bumps_;
        for (int32_t k = 0; k < std::min(violated.size(), bumps_); ++k) {
            const int32_t c = violated[all ? k : random_.below(violated.size())];
            if (problem_.hard[c] || state_.weight(c) < limit_ * base_[c]) state_.reweigh<kFeatures>(c, base_[c]);
        }
    }

    void shrink() {
        for (int32_t c = 0; c < problem_.constraints; ++c)
            if (!state_.is_violated(c) && state_.weight(c) > base_[c]) state_.reweigh<kFeatures>(c, -base_[c]);
    }

    const Problem& problem_;
    const int32_t samples_, bumps_;
    const double smooth_;
    const Weight limit_;
    std::vector<Weight> base_;        // [constraints] starting weight, and step of growth
    std::vector<int64_t> last_move_;  // [variables]
    std::vector<Weight> gain_;        // [variables] of the best move
    std::vector<int32_t> target_;     // [variables] that move
    IndexSet improving_;              // variables with a positive gain
    bool kicking_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_weighting(Run& run, Parameters& parameters) {
    return std::make_unique<Weighting>(run, parameters);
}

}  // namespace anycsp::local
