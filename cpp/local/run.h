// One run of a strategy: its state, its random stream, its best assignment and how that got better.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/violation.h"
#include "local/random.h"
#include "local/state.h"

namespace anycsp::local {

// The numbers a strategy is tuned by. Asking for one names it; unknown names are the caller's mistake.
class Parameters {
  public:
    explicit Parameters(std::map<std::string, double> given) : given_(std::move(given)) {}

    double get(const std::string& name, double otherwise, double low, double high) {
        auto found = given_.find(name);
        if (found == given_.end()) return otherwise;
        const double value = found->second;
        given_.erase(found);
        if (!(value >= low && value <= high))
            throw std::invalid_argument("parameter " + name + " = " + std::to_string(value) + " is outside " +
                                        std::to_string(low) + " to " + std::to_string(high));
        return value;
    }
    void require_all_used() const {
        if (!given_.empty()) throw std::invalid_argument("unknown parameter " + given_.begin()->first);
    }

  private:
    std::map<std::string, double> given_;
};

// When the search will end, as far as its caller knows.
struct Horizon {
    int64_t moves = INT64_MAX;
    Clock::time_point time = Clock::time_point::max();

    struct Room {
        double moves;
        bool by_time;  // the time will end first
    };

    // What a run that has made `made` can still make at its present pace (0: unknown).
    Room room(int64_t made, double seconds_per_move) const {
        Room left{std::max(double(moves - made), 0.0), false};
        if (time != Clock::time_point::max() && seconds_per_move > 0) {
            const double seconds = std::chrono::duration<double>(time - Clock::now()).count();
            const double in_time = std::max(seconds / seconds_per_move, 0.0);
            if (in_time < left.moves) left = {in_time, true};
        }
        return left;
    }
};

class Strategy;
struct StrategyDefinition;

class Run {
  public:
    Run(const MoveIndex& index, const StrategyDefinition& strategy, Parameters parameters, uint64_t seed,
        int32_t number);
    ~Run();

    // Begin at the positions, or at random ones.
    void start(const int32_t* positions, const Horizon& horizon);
    // Up to `count` moves; fewer once nothing is violated.
    void advance(int64_t count);

    template <unsigned features>
    void move(int32_t x, int32_t to) {
        if (changed_.size() < changed_.capacity())
            changed_.push_back(x);
        else
            overflowed_ = true;
        state.move<features>(x, to);
        if (state.score() < best_score_) keep_best();
    }

    bool solved() const { return best_score_ == 0; }
    // Nothing is left to do: solved, or every domain has one value.
    bool finished() const { return solved() || index_.movable.empty(); }
    Weight best_score() const { return best_score_; }
    // The range an annealing run cools through; zeros where there is none, or not yet.
    std::pair<double, double> temperatures() const;
    const std::vector<int32_t>& best_positions() const { return best_positions_; }
    // Where the run is now.
    const std::vector<int32_t>& positions();
    // Throws unless the state equals one computed afresh.
    void verify();

    State state;
    Random random;
    Horizon horizon;
    int64_t moves = 0;  // of this run so far; a strategy adds its own
    std::vector<Improvement> improvements;

  private:
    void keep_best();

    const MoveIndex& index_;
    const int32_t number_;
    std::unique_ptr<Strategy> strategy_;
    Clock::time_point began_;
    Weight best_score_ = 0;
    std::vector<int32_t> best_positions_;
    // Variables moved since the best was kept, so that keeping it costs no more than getting there did.
    std::vector<int32_t> changed_;
    bool overflowed_ = false;
};

// What moves a run. It may be paused after any move and resumed, so a result does not depend on how often.
class Strategy {
  public:
    explicit Strategy(Run& run) : run_(run), state_(run.state), random_(run.random) {}
    virtual ~Strategy() = default;

    // The weights costs are computed with at the start; the score's own unless a strategy has better.
    virtual std::vector<Weight> weights() const { return state_.index().score.of; }
    virtual void begin() = 0;
    virtual void advance(int64_t count) = 0;
    // Bring the run's state up to date, where moves are made on another one meanwhile.
    virtual void settle() {}
    virtual std::pair<double, double> temperatures() const { return {0.0, 0.0}; }

  protected:
    Run& run_;
    State& state_;
    Random& random_;
};

// The loop that every strategy is: S::step() makes one move, or lets it pass. Known at compile time, because it takes
// nanoseconds.
template <class S>
class Stepping : public Strategy {
  public:
    using Strategy::Strategy;

    void advance(int64_t count) final {
        for (int64_t done = 0; done < count && !run_.solved(); ++done) {
            ++run_.moves;
            static_cast<S*>(this)->step();
        }
    }
};

}  // namespace anycsp::local
