// Simulated annealing: sweeps over the variables, each proposing one other value, accepted as Metropolis does, while
// the temperature falls geometrically. Cycle follows cycle, hot again and longer each time; where the end of the
// search is known, the last one is stretched to end with it. Where that is a time, the last one cools by the clock: were
// it planned in sweeps, a machine that slows down would leave it hot.
//
// The temperature range is measured, not guessed. A quick first cooling, from twice the mean |difference| of a move,
// watches how often a proposal is accepted although it is uphill: `hot` is where that falls to 7% (above it the order
// found is lost again), `cold` where it falls to one in a thousand, both divided by the number of other values a
// variable has. These rates suit all kinds of problems, whatever the weights (research/local-search.md).
#include <algorithm>
#include <cmath>

#include "local/run.h"

namespace anycsp::local {
namespace {

constexpr double kHotRate = 0.07, kColdRate = 0.001;
constexpr double kProbeStart = 2.0, kProbeCooling = 0.94;
constexpr double kProbeProposals = 2000;  // for each other value of a variable, at every temperature
constexpr int kProbeSteps = 400;          // at most
constexpr double kQuench = 0.01;          // the share of a cycle that ends it without uphill moves
constexpr double kMargin = 0.98;          // of the time left, which ends the last cycle a little early
constexpr double kShortest = 16.0;        // sweeps; a shorter cycle finds nothing
// One in eight moves that change nothing is refused. Were all accepted, a sweep in order would carry every fault of a ring
// or chain the same way, and no two of them would ever meet.
constexpr uint64_t kLevelMask = 7;

// `features`: kNothing where the score is all there is to keep, else kCounts.
template <unsigned features>
class Annealing : public Stepping<Annealing<features>> {
    using Base = Stepping<Annealing<features>>;
    using Base::random_;
    using Base::run_;
    using Base::state_;

  public:
    Annealing(Run& run, Parameters& parameters)
        : Base(run),
          index_(run.state.index()),
          given_hot_(parameters.get("hot", 0.0, 0.0, 1e300)),
          given_cold_(parameters.get("cold", given_hot_ / 5.0, 0.0, 1e300)),
          hot_rate_(parameters.get("hot_rate", kHotRate, 0.0, 1.0)),
          cold_rate_(parameters.get("cold_rate", kColdRate, 0.0, 1.0)),
          first_sweeps_(parameters.get("sweeps", 256.0, 1.0, 1e15)),
          growth_(parameters.get("growth", 2.0, 1.0, 1e6)),
          alternatives_(double(index_.problem->values() - index_.problem->variables) /
                        std::max<double>(1.0, index_.movable.size())) {}

    // A hard constraint weighs more than all soft ones on any of its variables, which is enough to be kept when cold;
    // its weight in the score would make soft constraints invisible while it thaws.
    std::vector<Weight> weights() const override {
        const Problem& p = *index_.problem;
        const Score& score = index_.score;
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
        probing_ = given_hot_ == 0.0;
        if (probing_) {
            hot_ = cold_ = temperature_ = kProbeStart * typical_difference();
            probe_steps_ = proposals_ = uphill_ = 0;
            cycle_began_ = Clock::now();
            cycle_began_at_ = run_.moves;
            fill_table();
        } else {
            hot_ = given_hot_;
            cold_ = given_cold_;
            cycle_began_at_ = run_.moves;
            begin_cycle(first_sweeps_);
        }
    }

    std::pair<double, double> temperatures() const override {
        return probing_ ? Base::temperatures() : std::make_pair(hot_, cold_);
    }

    void step() {
        const int32_t x = index_.movable[at_], to = other_value(x);
        const Weight difference = state_.difference(x, to);
        if (accepts(difference)) {
            uphill_ += difference > 0;
            run_.template move<features>(x, to);
            if (run_.solved()) return;
        }
        if (++at_ == index_.movable.size()) {
            at_ = 0;
            end_sweep();
        }
    }

  private:
    double typical_difference() {
        double total = 0.0;
        constexpr int kSamples = 2000;
        for (int i = 0; i < kSamples; ++i) {
            const int32_t x = index_.movable[random_.below(index_.movable.size())];
            total += std::abs(double(state_.difference(x, other_value(x))));
        }
        return std::max(1.0, total / kSamples);
    }

    int32_t other_value(int32_t x) {
        const int32_t size = index_.problem->domain_size(x), now = state_.position(x);
        if (size == 2) return 1 - now;
        const int32_t drawn = random_.below(size - 1);
        return drawn + (drawn >= now);
    }

    // One that leaves no room for an even longer one takes all the room there is.
    void begin_cycle(double sweeps) {
        const Clock::time_point now = Clock::now();
        const double seconds = std::chrono::duration<double>(now - cycle_began_).count();
        const int64_t made = run_.moves - cycle_began_at_;
        const Horizon::Room room = run_.horizon.room(run_.moves, made > 0 ? seconds / double(made) : 0.0);
        const double room_sweeps = room.moves / double(index_.movable.size());
        const bool last = sweeps * (1.0 + growth_) > room_sweeps;
        sweeps_ = last ? std::max(room_sweeps, kShortest) : sweeps;
        by_clock_ = last && room.by_time && room_sweeps >= kShortest;
        seconds_ = std::chrono::duration<double>(run_.horizon.time - now).count() * kMargin;
        cycle_began_ = now;
        cycle_began_at_ = run_.moves;
        sweep_ = 0;
        cool(0.0);
    }

    double share_of_cycle_done() const {
        if (!by_clock_) return sweep_ / sweeps_;
        return std::chrono::duration<double>(Clock::now() - cycle_began_).count() / seconds_;
    }

    void cool(double share_of_cycle) {
        const double share = share_of_cycle / (1.0 - kQuench);
        temperature_ = share < 1.0 ? hot_ * std::pow(cold_ / hot_, share) : 0.0;
        fill_table();
    }

    void fill_table() {
        for (int i = 1; i < kTable; ++i) accept_[i] = temperature_ > 0 ? std::exp(-i / temperature_) * 0x1p64 : 0.0;
    }

    bool accepts(Weight difference) {
        if (difference < 0) return true;
        if (difference == 0) return (random_.next() & kLevelMask) != 0;
        if (difference < kTable) return double(random_.next()) < accept_[difference];
        return temperature_ > 0 && random_.uniform() < std::exp(-double(difference) / temperature_);
    }

    void end_sweep() {
        if (probing_) {
            proposals_ += index_.movable.size();
            if (proposals_ >= kProbeProposals * alternatives_) end_probe_step();
        } else {
            ++sweep_;
            const double share = share_of_cycle_done();
            if (share < 1.0) {
                cool(share);
            } else {
                begin_cycle(sweeps_ * growth_);
            }
        }
    }

    void end_probe_step() {
        const double rate = double(uphill_) / double(proposals_) * alternatives_;
        proposals_ = uphill_ = 0;
        cold_ = temperature_;
        if (rate >= hot_rate_) hot_ = temperature_;
        if (rate < cold_rate_ || ++probe_steps_ == kProbeSteps) {
            probing_ = false;
            begin_cycle(first_sweeps_);
        } else {
            temperature_ *= kProbeCooling;
            fill_table();
        }
    }

    static constexpr int kTable = 64;
    const MoveIndex& index_;
    const double given_hot_, given_cold_, hot_rate_, cold_rate_, first_sweeps_, growth_;
    const double alternatives_;  // mean number of other values of a variable
    double hot_ = 1.0, cold_ = 1.0, temperature_ = 1.0;
    double accept_[kTable];              // chance of accepting a small difference, times 2^64
    double sweeps_ = 0.0, sweep_ = 0.0;  // of the cycle
    bool by_clock_ = false;              // the cycle lasts `seconds_`, however many sweeps that is
    double seconds_ = 0.0;
    size_t at_ = 0;  // place in the sweep
    Clock::time_point cycle_began_;
    int64_t cycle_began_at_ = 0;  // moves
    bool probing_ = false;
    int64_t proposals_ = 0, uphill_ = 0;  // at the probe's temperature; uphill ones that were accepted
    int probe_steps_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(Run& run, Parameters& parameters) {
    const MoveIndex& index = run.state.index();
    if (index.score.uniform && index.simple) return std::make_unique<Annealing<kNothing>>(run, parameters);
    return std::make_unique<Annealing<kCounts>>(run, parameters);
}

}  // namespace anycsp::local
