// Tuple lists: membership by hashing. Every (slot, position) has a random 64-bit code, a tuple's hash is their sum;
// memory holds the sum of every constraint's current tuple, so a neighbouring tuple costs one lookup. A hit is
// compared cell by cell.
#include <algorithm>
#include <map>

#include "local/family.h"

namespace anycsp::local {
namespace {

uint64_t code(int32_t column, int32_t position) {
    uint64_t x = (uint64_t(uint32_t(column)) << 32 | uint32_t(position)) + 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

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

class Tuples : public Family {
  public:
    Tuples(const Problem& problem, const anycsp::Family& arrays) : Family(problem, arrays) {
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

    void place(const FamilyState& state) const override {
        for (int32_t c = arrays_.first_constraint; c < arrays_.last_constraint; ++c) {
            uint64_t hash = 0;
            const int32_t first = problem_.scope_start[c];
            for (int32_t s = first; s < problem_.scope_start[c + 1]; ++s)
                hash += code(s - first, state.positions[problem_.scope[s]]);
            state.memory[row(c)] = static_cast<int64_t>(hash);
        }
    }

    bool shift(Occurrence at, int32_t from, int32_t to, const FamilyState& state) const override {
        state.memory[row(at.constraint)] = static_cast<int64_t>(hash_with(at, from, to, state));
        return true;
    }

    bool satisfied(int32_t constraint, const FamilyState& state) const override {
        const int32_t slot = problem_.scope_start[constraint], now = state.positions[problem_.scope[slot]];
        return satisfied_with({constraint, slot}, now, now, state);
    }

    void penalties(Occurrence at, const FamilyState& state, int32_t* out) const override {
        const int32_t x = problem_.scope[at.slot], now = state.positions[x];
        for (int32_t v = 0; v < problem_.domain_size(x); ++v) out[v] = !satisfied_with(at, now, v, state);
    }

    int64_t difference(Occurrence at, int32_t from, int32_t to, const FamilyState& state) const override {
        return int64_t(satisfied_with(at, from, from, state)) - int64_t(satisfied_with(at, from, to, state));
    }

  private:
    uint64_t hash_with(Occurrence at, int32_t from, int32_t to, const FamilyState& state) const {
        const int32_t column = at.slot - problem_.scope_start[at.constraint];
        return static_cast<uint64_t>(state.memory[row(at.constraint)]) - code(column, from) + code(column, to);
    }

    bool satisfied_with(Occurrence at, int32_t from, int32_t to, const FamilyState& state) const {
        const int32_t relation = arrays_.relation[row(at.constraint)], first = problem_.scope_start[at.constraint];
        const bool listed = sets_[relation]->contains(hash_with(at, from, to, state), [&](int32_t i) {
            return first + i == at.slot ? to : state.positions[problem_.scope[first + i]];
        });
        return listed == bool(arrays_.allowed[relation]);
    }

    std::vector<std::unique_ptr<TupleSet>> sets_;  // [relations]
};

}  // namespace

std::unique_ptr<Family> make_tuples(const Problem& problem, const anycsp::Family& arrays) {
    return std::make_unique<Tuples>(problem, arrays);
}

}  // namespace anycsp::local
