// Simulated annealing: sweeps over the variables, each proposing one other value, accepted as Metropolis does, while
// the temperature falls. When cold, the next cycle begins hot again and is longer.
#include <cmath>

#include "local_run.h"

namespace anycsp::local {
namespace {

class Annealing : public Strategy {
  public:
    Annealing(Run& run, Parameters& parameters)
        : Strategy(run),
          model_(run.state.model()),
          hot_(parameters.get("hot", 0.0, 0.0, 1e300)),
          cold_(parameters.get("cold", 0.0, 0.0, 1e300)),
          first_sweeps_(parameters.get("sweeps", 100.0, 1.0, 1e15)),
          growth_(parameters.get("growth", 2.0, 1.0, 1e6)),
          shape_(parameters.get("shape", 0.0, 0.0, 1.0)),
          bare_(model_.score.uniform && model_.simple) {}

    void begin() override {
        scale_ = typical_difference();
        sweeps_ = first_sweeps_;
        sweep_ = 0;
        at_ = 0;
        set_temperature();
    }

    void advance(int64_t count) override { bare_ ? sweep<kNothing>(count) : sweep<kCounts>(count); }

  private:
    // Mean |difference| of proposals at the start: the scale on which temperatures mean anything.
    double typical_difference() {
        double total = 0.0;
        const int samples = 2000;
        for (int i = 0; i < samples; ++i) {
            const int32_t x = model_.movable[random_.below(model_.movable.size())];
            total += std::abs(double(state_.difference(x, other_value(x))));
        }
        return std::max(1.0, total / samples);
    }

    int32_t other_value(int32_t x) {
        const int32_t size = model_.problem->domain_size(x), now = state_.position(x);
        if (size == 2) return 1 - now;
        const int32_t drawn = random_.below(size - 1);
        return drawn + (drawn >= now);
    }

    void set_temperature() {
        const double done = sweep_ / sweeps_;
        const double hot = hot_ > 0 ? hot_ : 1.0 * scale_, cold = cold_ > 0 ? cold_ : 0.1 * scale_;
        const double temperature =
            shape_ > 0.5 ? hot * std::pow(cold / hot, done) : hot + (cold - hot) * done;
        for (int i = 0; i < kTable; ++i) accept_[i] = std::exp(-i / temperature) * 0x1p64;
        beta_ = 1.0 / temperature;
    }

    bool accepts(Weight difference) {
        if (difference <= 0) return true;
        if (difference < kTable) return double(random_.next()) < accept_[difference];
        return random_.uniform() < std::exp(-double(difference) * beta_);
    }

    template <unsigned features>
    void sweep(int64_t count) {
        const int32_t* movable = model_.movable.data();
        const size_t variables = model_.movable.size();
        for (int64_t done = 0; done < count; ++done) {
            const int32_t x = movable[at_];
            const int32_t to = other_value(x);
            ++run_.moves;
            if (accepts(state_.difference(x, to))) {
                run_.move<features>(x, to);
                if (run_.solved()) return;
            }
            if (++at_ == variables) {
                at_ = 0;
                if (++sweep_ >= sweeps_) {
                    sweep_ = 0;
                    sweeps_ *= growth_;
                }
                set_temperature();
            }
        }
    }

    static constexpr int kTable = 64;
    const Model& model_;
    const double hot_, cold_, first_sweeps_, growth_, shape_;
    const bool bare_;
    double scale_ = 1.0, sweeps_ = 0.0, sweep_ = 0.0, beta_ = 1.0;
    double accept_[kTable];
    size_t at_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(Run& run, Parameters& parameters) {
    return std::make_unique<Annealing>(run, parameters);
}

}  // namespace anycsp::local
