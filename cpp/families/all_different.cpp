// All-different, but for excepted values: edges are numbered by the bin of a histogram their value falls into.
#include <algorithm>

#include "families/definition.h"

namespace anycsp {
namespace {

void read(const Problem& p, Family& f, const Arrays& arrays) {
    const int32_t first_slot = p.scope_start[f.first_constraint], last_slot = p.scope_start[f.last_constraint];
    const int64_t first_edge = p.edge_start[first_slot];
    f.edge_bin = arrays.shared<int32_t>("edge_bin", p.edge_start[last_slot] - first_edge);
    f.bin_constraint = arrays.shared<int32_t>("bin_constraint");
    f.bin_counts = arrays.flags("bin_counts");
    const int32_t rows = f.last_constraint - f.first_constraint;
    require(f.bin_constraint.size() == f.bin_counts.size(), "all_different: bins differ in length");
    for (int32_t c : f.bin_constraint) require(c >= 0 && c < rows, "all_different: bin of no constraint");
    for (int32_t s = first_slot; s < last_slot; ++s)
        for (int64_t e = p.edge_start[s]; e < p.edge_start[s + 1]; ++e) {
            const int32_t bin = f.edge_bin[e - first_edge];
            require(bin >= 0 && size_t(bin) < f.bin_counts.size(), "all_different: unknown bin");
            require(f.bin_constraint[bin] == p.slot_constraint[s] - f.first_constraint,
                    "all_different: bin of another constraint");
        }
}

// From a histogram of the values now taken: writes `judged(clashes)` for every value of every slot, where a clash is a
// variable beyond the first on its value, all others as they are. Excepted values never clash.
template <class Edges, class Judged>
void judge_clashes(const Problem& p, const Family& f, Range constraints, const Edges& to, const Judged& judged) {
    const int64_t first_edge = p.edge_start[p.scope_start[f.first_constraint]];
    thread_local std::vector<int32_t> histogram;  // all zero between constraints
    if (histogram.size() < f.bin_counts.size()) histogram.resize(f.bin_counts.size(), 0);
    for (int32_t c = constraints.first; c < constraints.last; ++c) {
        const int32_t begin = p.scope_start[c], end = p.scope_start[c + 1];
        auto bins = [&](int32_t s) { return f.edge_bin.data() + (p.edge_start[s] - first_edge); };
        int32_t clashes = 0;
        for (int32_t s = begin; s < end; ++s) {
            const int32_t bin = bins(s)[to.positions[p.scope[s]]];
            if (f.bin_counts[bin] && histogram[bin]++ > 0) ++clashes;
        }
        for (int32_t s = begin; s < end; ++s) {
            const int32_t values = p.domain_size(p.scope[s]), own = bins(s)[to.positions[p.scope[s]]];
            const int32_t counted = f.bin_counts[own];
            const int32_t others_clash = clashes - (counted && histogram[own] > 1);
            auto* out = to.of(s);
            histogram[own] -= counted;  // the other variables only
            for (int32_t v = 0; v < values; ++v) out[v] = judged(others_clash + (histogram[bins(s)[v]] > 0));
            histogram[own] += counted;
        }
        for (int32_t s = begin; s < end; ++s) histogram[bins(s)[to.positions[p.scope[s]]]] = 0;
    }
}

void label(const Problem& p, const Family& f, Range constraints, const EdgeLabels& to) {
    judge_clashes(p, f, constraints, to, [](int32_t clashes) { return clashes == 0; });
}

void grade(const Problem& p, const Family& f, Range constraints, const EdgeGrades& to) {
    judge_clashes(p, f, constraints, to, [](int32_t clashes) { return static_cast<float>(clashes); });
}

// Memory holds a histogram bin for every value a constraint's variables can take, then every constraint's number of
// clashes (variables beyond the first on their value).
//
// A graded penalty of (C, X = v) is 1 iff another variable of C is on v, so that Σ over X of the gain is the number of
// clashes removed; it changes only in the two bins a move touches.
class AllDifferentPenalties : public Penalties {
  public:
    AllDifferentPenalties(const Problem& problem, const Family& arrays, bool graded)
        : Penalties(problem, arrays, graded) {
        bin_edge_start_.assign(arrays.bin_counts.size() + 1, 0);
        for (int32_t bin : arrays.edge_bin) ++bin_edge_start_[bin + 1];
        for (size_t bin = 0; bin < arrays.bin_counts.size(); ++bin) bin_edge_start_[bin + 1] += bin_edge_start_[bin];
        bin_edge_.resize(arrays.edge_bin.size());
        std::vector<int64_t> next(bin_edge_start_.begin(), bin_edge_start_.end() - 1);
        for (int32_t s = first_slot_; s < problem.scope_start[arrays.last_constraint]; ++s)
            for (int32_t v = 0; v < problem.domain_size(problem.scope[s]); ++v)
                bin_edge_[next[bin(s, v)]++] = {problem.scope[s], v, s};
    }

    size_t memory() const override { return arrays_.bin_counts.size() + constraints(); }

    void place(const PenaltyState& state) const override {
        std::fill_n(state.memory, memory(), 0);
        for (int32_t c = arrays_.first_constraint; c < arrays_.last_constraint; ++c)
            for (int32_t s = problem_.scope_start[c]; s < problem_.scope_start[c + 1]; ++s)
                add(c, bin(s, state.positions[problem_.scope[s]]), state);
    }

    bool shift(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        const int64_t before = clashes(at.constraint, state);
        remove(at.constraint, bin(at.slot, from), state);
        add(at.constraint, bin(at.slot, to), state);
        // With two clashes before and after, no single move of another variable repaired it nor does now.
        return before < 2 || clashes(at.constraint, state) < 2;
    }

    bool satisfied(int32_t constraint, const PenaltyState& state) const override {
        return clashes(constraint, state) == 0;
    }

    void penalties(Occurrence at, const PenaltyState& state, int32_t* out) const override {
        int32_t x = problem_.scope[at.slot], own = bin(at.slot, state.positions[x]);
        const bool rest_clashes = !graded_ && clashes_without(at.constraint, own, state) > 0;
        for (int32_t v = 0; v < problem_.domain_size(x); ++v)
            out[v] = rest_clashes || others_on(bin(at.slot, v), own, state);
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        const int32_t own = bin(at.slot, from);
        if (!graded_ && clashes_without(at.constraint, own, state) > 0) return 0;
        return int64_t(others_on(bin(at.slot, to), own, state)) - int64_t(others_on(own, own, state));
    }

    void move(Occurrence at, int32_t from, int32_t to, Weight weight, const PenaltyState& state) const override {
        if (!graded_) return Penalties::move(at, from, to, weight, state);
        const int32_t left = bin(at.slot, from), entered = bin(at.slot, to);
        remove(at.constraint, left, state);
        add(at.constraint, entered, state);
        if (state.cost == nullptr || left == entered) return;
        carry(at, left, state.memory[left], -1, weight, state);
        carry(at, entered, state.memory[entered] - 1, 1, weight, state);
    }

  private:
    struct Edge {
        int32_t variable, position, slot;
    };

    // A bin went from `rest` to rest + 1 variables (change = 1), or back: the penalty of variables elsewhere changes
    // when it stops being empty, that of its one occupant when it gets company.
    void carry(Occurrence at, int32_t bin, int64_t rest, int32_t change, Weight weight,
               const PenaltyState& state) const {
        if (!arrays_.bin_counts[bin] || rest > 1) return;
        for (int64_t i = bin_edge_start_[bin]; i < bin_edge_start_[bin + 1]; ++i) {
            const Edge& edge = bin_edge_[i];
            const bool occupant = state.positions[edge.variable] == edge.position;
            if (edge.slot == at.slot || (rest == 1 && !occupant)) continue;
            state.cost[problem_.value_start[edge.variable] + edge.position] += change * weight;
            cached(edge.slot, state)[edge.position] += change;
        }
    }

    int32_t constraints() const { return arrays_.last_constraint - arrays_.first_constraint; }
    int32_t bin(int32_t slot, int32_t position) const {
        return arrays_.edge_bin[problem_.edge_start[slot] - first_edge_ + position];
    }
    int64_t& clashes(int32_t constraint, const PenaltyState& state) const {
        return state.memory[arrays_.bin_counts.size() + row(constraint)];
    }
    void add(int32_t constraint, int32_t bin, const PenaltyState& state) const {
        if (arrays_.bin_counts[bin]) clashes(constraint, state) += state.memory[bin]++ > 0;
    }
    void remove(int32_t constraint, int32_t bin, const PenaltyState& state) const {
        if (arrays_.bin_counts[bin]) clashes(constraint, state) -= --state.memory[bin] > 0;
    }
    // Clashes among the other variables when the one on bin `own` is left out.
    int64_t clashes_without(int32_t constraint, int32_t own, const PenaltyState& state) const {
        return clashes(constraint, state) - (state.memory[own] > 1);
    }
    bool others_on(int32_t bin, int32_t own, const PenaltyState& state) const {
        return state.memory[bin] - (bin == own && arrays_.bin_counts[bin]) > 0;
    }

    std::vector<int64_t> bin_edge_start_;
    std::vector<Edge> bin_edge_;
};

std::unique_ptr<Penalties> penalties(const Problem& p, const Family& f, const PenaltyOptions& options) {
    return std::make_unique<AllDifferentPenalties>(p, f, options.graded);
}

}  // namespace

extern const FamilyDefinition all_different_family = {"all_different", Kind::all_different, read, label, grade, nullptr,
                                                      penalties};

}  // namespace anycsp
