// Simulated annealing: sweeps over the variables, each proposing one other value, accepted as Metropolis does, while
// the temperature falls geometrically. Cycle follows cycle, hot again and longer each time; where the end of the
// search is known, the last one is stretched to end with it.
//
// The temperature range is measured, not guessed. A short first cycle over a wide range, from twice the mean
// |difference| of a move down to a fortieth of that, shows how the violated weight falls with the temperature. `hot`
// is where 82% of the fall is done: above it the order found is lost again, below it cycles start half frozen. At
// hot / 5 nearly nothing moves. Both constants come from generated Max-k-SAT and MaxCut instances (docs/local-search.md).
#include <algorithm>
#include <cmath>

#include "local_run.h"

namespace anycsp::local {
namespace {

constexpr double kFall = 0.82, kRange = 5.0;
constexpr double kProbeHot = 2.0, kProbeRange = 40.0, kProbeSweeps = 64.0;
constexpr double kQuench = 0.01;    // the share of a cycle that ends it without uphill moves
constexpr double kShortest = 16.0;  // sweeps; a shorter cycle finds nothing

class Annealing : public Strategy {
  public:
    Annealing(Run& run, Parameters& parameters)
        : Strategy(run),
          model_(run.state.model()),
          bare_(model_.score.uniform && model_.simple),
          given_hot_(parameters.get("hot", 0.0, 0.0, 1e300)),
          range_(parameters.get("range", kRange, 1.0, 1e9)),
          fall_(parameters.get("fall", kFall, 0.0, 1.0)),
          first_sweeps_(parameters.get("sweeps", 256.0, 1.0, 1e15)),
          growth_(parameters.get("growth", 2.0, 1.0, 1e6)) {}

    // A hard constraint weighs more than all soft ones on any of its variables, which is enough to be kept when cold;
    // its weight in the score would make soft constraints invisible while it thaws.
    std::vector<Weight> weights() const override {
        const Problem& p = *model_.problem;
        const Score& score = model_.score;
        std::vector<Weight> soft(p.variables, 0), result = score.of;
        for (int32_t s = 0; s < p.slots(); ++s)
            if (!p.hard[p.slot_constraint[s]]) soft[p.scope[s]] += score.of[p.slot_constraint[s]];
        const Weight most = soft.empty() ? 0 : *std::max_element(soft.begin(), soft.end());
        for (int32_t c = 0; c < p.constraints; ++c)
            if (p.hard[c]) result[c] = std::min(result[c], score.of[c] / score.priority * (most + 1));
        return result;
    }

    void begin() override {
        at_ = 0;
        energy_ = 0;
        probe_.clear();
        if (given_hot_ > 0) {
            begin_cycle(given_hot_, range_, first_sweeps_);
        } else {
            probing_ = true;
            begin_cycle(kProbeHot * typical_difference(), kProbeRange, kProbeSweeps);
        }
    }

    void advance(int64_t count) override { bare_ ? sweep<kNothing>(count) : sweep<kCounts>(count); }

  private:
    double typical_difference() {
        double total = 0.0;
        constexpr int kSamples = 2000;
        for (int i = 0; i < kSamples; ++i) {
            const int32_t x = model_.movable[random_.below(model_.movable.size())];
            total += std::abs(double(state_.difference(x, other_value(x))));
        }
        return std::max(1.0, total / kSamples);
    }

    int32_t other_value(int32_t x) {
        const int32_t size = model_.problem->domain_size(x), now = state_.position(x);
        if (size == 2) return 1 - now;
        const int32_t drawn = random_.below(size - 1);
        return drawn + (drawn >= now);
    }

    // The next cycle's length. One that leaves no room for an even longer one takes all the room there is.
    double planned(double sweeps) const {
        const double seconds = std::chrono::duration<double>(Clock::now() - cycle_began_).count();
        const double room = run_.horizon.moves_left(run_.moves, seconds / (sweep_ * model_.movable.size())) /
                            double(model_.movable.size());
        return sweeps * (1.0 + growth_) > room ? std::max(room, kShortest) : sweeps;
    }

    void begin_cycle(double hot, double range, double sweeps) {
        cycle_began_ = Clock::now();
        hot_ = hot;
        cycle_range_ = range;
        sweeps_ = sweeps;
        sweep_ = 0;
        set_temperature();
    }

    void set_temperature() {
        const double cooling = sweeps_ * (1.0 - kQuench);
        temperature_ = sweep_ < cooling ? hot_ * std::pow(cycle_range_, -sweep_ / cooling) : 0.0;
        for (int i = 1; i < kTable; ++i) accept_[i] = temperature_ > 0 ? std::exp(-i / temperature_) * 0x1p64 : 0.0;
    }

    bool accepts(Weight difference) {
        if (difference <= 0) return true;
        if (difference < kTable) return double(random_.next()) < accept_[difference];
        return temperature_ > 0 && random_.uniform() < std::exp(-double(difference) / temperature_);
    }

    template <unsigned features>
    void sweep(int64_t count) {
        const int32_t* movable = model_.movable.data();
        const size_t variables = model_.movable.size();
        for (int64_t done = 0; done < count; ++done) {
            const int32_t x = movable[at_], to = other_value(x);
            const Weight difference = state_.difference(x, to);
            ++run_.moves;
            if (accepts(difference)) {
                energy_ += difference;
                run_.move<features>(x, to);
                if (run_.solved()) return;
            }
            if (++at_ == variables) {
                at_ = 0;
                end_sweep();
            }
        }
    }

    void end_sweep() {
        if (probing_) probe_.push_back({temperature_, energy_});
        if (++sweep_ < sweeps_) return set_temperature();
        if (probing_) {
            probing_ = false;
            begin_cycle(hot_from_probe(), range_, planned(first_sweeps_));
        } else {
            begin_cycle(hot_, range_, planned(sweeps_ * growth_));
        }
    }

    // The temperature at which the probe's energy had fallen by `fall_` of all it fell.
    double hot_from_probe() const {
        const double top = double(probe_.front().energy), bottom = double(probe_.back().energy);
        for (size_t i = probe_.size(); i-- > 0;)
            if (top - double(probe_[i].energy) <= fall_ * (top - bottom)) return std::max(probe_[i].temperature, 1e-3);
        return hot_;
    }

    struct Reading {
        double temperature;
        Weight energy;
    };

    static constexpr int kTable = 64;
    const Model& model_;
    const bool bare_;
    const double given_hot_, range_, fall_, first_sweeps_, growth_;
    double hot_ = 1.0, cycle_range_ = kRange, sweeps_ = 0.0, sweep_ = 0.0, temperature_ = 1.0;
    double accept_[kTable];  // chance of accepting a small difference, times 2^64
    Weight energy_ = 0;      // weighted violation relative to the start
    size_t at_ = 0;          // place in the sweep
    Clock::time_point cycle_began_;
    bool probing_ = false;
    std::vector<Reading> probe_;
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(Run& run, Parameters& parameters) {
    return std::make_unique<Annealing>(run, parameters);
}

}  // namespace anycsp::local
