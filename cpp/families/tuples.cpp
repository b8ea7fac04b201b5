// Tuple lists: a constraint allows, or forbids, the tuples of its relation.
#include <cstring>
#include <map>

#include "core/splitmix.h"
#include "families/definition.h"

namespace anycsp {
namespace {

void read(const Problem& p, Family& f, const Arrays& arrays) {
    f.relation = arrays.shared<int32_t>("relation", f.last_constraint - f.first_constraint);
    f.allowed = arrays.flags("allowed");
    f.tuple_start = arrays.shared<int64_t>("tuple_start");
    f.tuple_cells = arrays.shared<int32_t>("tuples");
    require(f.tuple_start.size() == f.allowed.size() + 1, "tuples: starts and flags differ in length");
    require_start(f.tuple_start, f.tuple_cells.size(), "tuples: starts not increasing");
    for (int32_t c = f.first_constraint; c < f.last_constraint; ++c) {
        const int32_t r = f.relation[c - f.first_constraint];
        require(r >= 0 && size_t(r) < f.allowed.size(), "tuples: unknown relation");
        const int32_t arity = p.scope_start[c + 1] - p.scope_start[c];
        const int64_t cells = f.tuple_start[r + 1] - f.tuple_start[r];
        require(cells % arity == 0, "tuples: cells are not rows of the arity");
        for (int64_t i = 0; i < cells; ++i) {
            const int32_t position = f.tuple_cells[f.tuple_start[r] + i];
            const int32_t x = p.scope[p.scope_start[c] + i % arity];
            require(position >= 0 && position < p.domain_size(x), "tuples: position outside the domain");
        }
    }
}

// Equations Label1 to Label3 of the paper: a tuple that agrees with the assignment in all slots but one labels that one
// value; a tuple that agrees everywhere labels every current value.
void label(const Problem& p, const Family& f, Range constraints, const EdgeLabels& to) {
    for (int32_t c = constraints.first; c < constraints.last; ++c) {
        const int32_t begin = p.scope_start[c], arity = p.scope_start[c + 1] - begin;
        const int32_t relation = f.relation[c - f.first_constraint];
        const uint8_t listed = f.allowed[relation];
        for (int32_t i = 0; i < arity; ++i) std::memset(to.of(begin + i), !listed, p.domain_size(p.scope[begin + i]));
        const int32_t* tuple = f.tuple_cells.data() + f.tuple_start[relation];
        const int32_t* end = f.tuple_cells.data() + f.tuple_start[relation + 1];
        for (; tuple != end; tuple += arity) {
            int32_t differing = 0, where = 0;
            for (int32_t i = 0; i < arity && differing < 2; ++i)
                if (tuple[i] != to.positions[p.scope[begin + i]]) {
                    ++differing;
                    where = i;
                }
            if (differing == 1) to.of(begin + where)[tuple[where]] = listed;
            if (differing == 0)
                for (int32_t i = 0; i < arity; ++i) to.of(begin + i)[tuple[i]] = listed;
        }
    }
}

// A random 64-bit code for every (column, position); a tuple's hash is the sum of its codes.
uint64_t code(int32_t column, int32_t position) { return mix(uint64_t(uint32_t(column)) << 32 | uint32_t(position)); }

// The rows of one relation in an open-addressing table.
class TupleSet {
  public:
    TupleSet(const int32_t* cells, int64_t rows, int32_t arity) : cells_(cells), arity_(arity) {
        uint64_t size = 16;
        while (size < uint64_t(rows) * 2) size *= 2;
        slot_.assign(size, -1);
        for (int64_t row = 0; row < rows; ++row) {
            uint64_t hash = 0;
            for (int32_t i = 0; i < arity; ++i) hash += code(i, cells[row * arity + i]);
            uint64_t at = hash & (size - 1);
            while (slot_[at] >= 0) at = (at + 1) & (size - 1);
            slot_[at] = row;
        }
    }

    // Whether the tuple `position(i)`, i < arity, of the given hash is listed.
    template <class Position>
    bool contains(uint64_t hash, Position position) const {
        const uint64_t mask = slot_.size() - 1;
        for (uint64_t at = hash & mask; slot_[at] >= 0; at = (at + 1) & mask) {
            const int32_t* row = cells_ + slot_[at] * arity_;
            int32_t i = 0;
            while (i < arity_ && row[i] == position(i)) ++i;
            if (i == arity_) return true;
        }
        return false;
    }

  private:
    const int32_t* cells_;
    int32_t arity_;
    std::vector<int64_t> slot_;
};

// Memory holds the hash of every constraint's current tuple, so a neighbouring tuple costs one lookup. A hit is
// compared cell by cell.
class TuplesPenalties : public Penalties {
  public:
    TuplesPenalties(const Problem& problem, const Family& arrays) : Penalties(problem, arrays) {
        std::map<int32_t, int32_t> arity;
        for (int32_t c = arrays.first_constraint; c < arrays.last_constraint; ++c)
            arity[arrays.relation[row(c)]] = problem.scope_start[c + 1] - problem.scope_start[c];
        sets_.resize(arrays.allowed.size());
        for (auto [relation, columns] : arity) {
            const int64_t cells = arrays.tuple_start[relation + 1] - arrays.tuple_start[relation];
            sets_[relation] = std::make_unique<TupleSet>(arrays.tuple_cells.data() + arrays.tuple_start[relation],
                                                         cells / columns, columns);
        }
    }

    size_t memory() const override { return arrays_.relation.size(); }

    void place(const PenaltyState& state) const override {
        for (int32_t c = arrays_.first_constraint; c < arrays_.last_constraint; ++c) {
            uint64_t hash = 0;
            const int32_t first = problem_.scope_start[c];
            for (int32_t s = first; s < problem_.scope_start[c + 1]; ++s)
                hash += code(s - first, state.positions[problem_.scope[s]]);
            state.memory[row(c)] = static_cast<int64_t>(hash);
        }
    }

    bool shift(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        state.memory[row(at.constraint)] = static_cast<int64_t>(hash_with(at, from, to, state));
        return true;
    }

    bool satisfied(int32_t constraint, const PenaltyState& state) const override {
        const int32_t slot = problem_.scope_start[constraint], now = state.positions[problem_.scope[slot]];
        return satisfied_with({constraint, slot}, now, now, state);
    }

    void penalties(Occurrence at, const PenaltyState& state, int32_t* out) const override {
        const int32_t x = problem_.scope[at.slot], now = state.positions[x];
        for (int32_t v = 0; v < problem_.domain_size(x); ++v) out[v] = !satisfied_with(at, now, v, state);
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const override {
        return int64_t(satisfied_with(at, from, from, state)) - int64_t(satisfied_with(at, from, to, state));
    }

  private:
    uint64_t hash_with(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const {
        const int32_t column = at.slot - problem_.scope_start[at.constraint];
        return static_cast<uint64_t>(state.memory[row(at.constraint)]) - code(column, from) + code(column, to);
    }

    bool satisfied_with(Occurrence at, int32_t from, int32_t to, const PenaltyState& state) const {
        const int32_t relation = arrays_.relation[row(at.constraint)], first = problem_.scope_start[at.constraint];
        const bool listed = sets_[relation]->contains(hash_with(at, from, to, state), [&](int32_t i) {
            return first + i == at.slot ? to : state.positions[problem_.scope[first + i]];
        });
        return listed == bool(arrays_.allowed[relation]);
    }

    std::vector<std::unique_ptr<TupleSet>> sets_;  // [relations]
};

std::unique_ptr<Penalties> penalties(const Problem& p, const Family& f, const PenaltyOptions&) {
    return std::make_unique<TuplesPenalties>(p, f);
}

}  // namespace

extern const FamilyDefinition tuples_family = {"tuples", Kind::tuples, read, label, nullptr, nullptr, penalties};

}  // namespace anycsp
