// Tables, generalised arc consistent. Binary ones by rows of bits (AC with residues); longer ones by compact table
// (Demeulenaere et al., CP 2016): the tuples still possible are a row of bits that shrinks with the domains.
#include <algorithm>
#include <map>

#include "propagation/propagator.h"

namespace anycsp::propagation {

namespace {

// For both slots of a binary relation and every position, the partner's positions that go with it.
struct Rows {
    int32_t words[2];               // of a row: of the partner's domain
    std::vector<uint64_t> bits[2];  // [position · words]
};

// For every slot and position of a relation the tuples that hold there.
struct Masks {
    int64_t tuples = 0;
    int32_t words = 0;
    bool plain = true;                           // each tuple has one position per slot
    std::vector<std::vector<uint64_t>> support;  // by slot: [position · words]
};

class Binary : public Propagator {
  public:
    Binary(int32_t constraint, int32_t x, int32_t y, std::shared_ptr<const Rows> rows)
        : Propagator(constraint, kBinary, kDomain, false), rows_(std::move(rows)) {
        scope = {x, y};
        residue_[0].assign(rows_->bits[0].size() / rows_->words[0], 0);
        residue_[1].assign(rows_->bits[1].size() / rows_->words[1], 0);
    }

    bool propagate(Store& store) override { return revise(store, 0) && revise(store, 1) && revise(store, 0); }

    // All that went with the position was gone.
    void explain(int32_t x, int32_t position, Explanation& why) const override {
        const int32_t side = x == scope[1], y = scope[1 - side];
        if (x < 0 || why.was_fixed(y)) return Propagator::explain(x, position, why);
        const uint64_t* row = rows_->bits[side].data() + int64_t(position) * rows_->words[side];
        for (int32_t w = 0; w < rows_->words[side]; ++w)
            for (uint64_t rest = row[w]; rest; rest &= rest - 1) why.gone(y, w * 64 + __builtin_ctzll(rest));
    }

  private:
    bool revise(Store& store, int32_t side) {
        const int32_t x = scope[side], y = scope[1 - side], words = rows_->words[side];
        const uint64_t *rows = rows_->bits[side].data(), *partner = store.bits(y);
        if (store.fixed(y)) {  // one lookup in the other direction
            return store.keep(x, rows_->bits[1 - side].data() + int64_t(store.first(y)) * rows_->words[1 - side]);
        }
        uint64_t gone[kMostWords];
        bool any = false;
        const int32_t from = store.first(x) >> 6, to = store.last(x) >> 6;
        for (int32_t w = from; w <= to; ++w) gone[w - from] = 0;
        for_each(store, x, [&](int32_t v) {
            const uint64_t* row = rows + int64_t(v) * words;
            int32_t& at = residue_[side][v];
            if (row[at] & partner[at]) return;
            for (int32_t w = 0; w < words; ++w)
                if (row[w] & partner[w]) {
                    at = w;
                    return;
                }
            gone[(v >> 6) - from] |= uint64_t(1) << (v & 63);
            any = true;
        });
        if (!any) return true;
        for (int32_t w = from; w <= to; ++w) gone[w - from] = ~gone[w - from];
        return store.keep(x, gone - from);
    }

  public:
    static constexpr int32_t kMostWords = 1024;  // a binary relation has at most 65,536 values on a side

  private:
    std::shared_ptr<const Rows> rows_;
    std::vector<int32_t> residue_[2];
};

class CompactTable : public Propagator {
  public:
    CompactTable(Store& store, int32_t constraint, std::vector<int32_t> variables, std::shared_ptr<const Masks> masks)
        : Propagator(constraint, kTable, kDomain, true), masks_(std::move(masks)) {
        scope = std::move(variables);
        current_ = store.new_cells(masks_->words, ~uint64_t(0));
        if (masks_->tuples % 64)
            store.set_cell(current_ + masks_->words - 1, (uint64_t(1) << (masks_->tuples % 64)) - 1);
        index_.resize(masks_->words);
        for (int32_t i = 0; i < masks_->words; ++i) index_[i] = i;
        limit_ = store.new_cells(1, masks_->words);
        seen_ = store.new_cells(static_cast<int32_t>(scope.size()), ~uint64_t(0));
        residue_.resize(scope.size());
        for (size_t i = 0; i < scope.size(); ++i) residue_[i].assign(store.problem().domain_size(scope[i]), 0);
        mask_.resize(masks_->words);
    }

    bool propagate(Store& store) override {
        int32_t limit = static_cast<int32_t>(store.cell(limit_));
        if (limit == 0) return false;
        size_t changed = 0, which = 0;
        for (size_t i = 0; i < scope.size(); ++i) {
            const uint64_t signature = signature_of(store, scope[i]);
            if (store.cell(seen_ + i) == signature) continue;
            const uint64_t before = store.cell(seen_ + i);
            store.set_cell(seen_ + static_cast<int32_t>(i), signature);
            ++changed, which = i;
            update(store, i, before, limit);
            if (limit == 0) return false;
        }
        if (!changed && started_) return true;
        const bool first = !started_;  // at the root, with everything still to be looked at
        started_ = true;
        store.set_cell(limit_, limit);
        for (size_t i = 0; i < scope.size(); ++i) {
            if (store.fixed(scope[i]) || (!first && changed == 1 && which == i && masks_->plain)) continue;
            if (!filter(store, i, limit)) return false;
            store.set_cell(seen_ + static_cast<int32_t>(i), signature_of(store, scope[i]));
        }
        return true;
    }

    // Every tuple with the position, or every tuple, had lost one of its others: some that cover them all.
    void explain(int32_t x, int32_t position, Explanation& why) const override {
        if (!masks_->plain || !cover(x, position, why)) {
            why.literals.clear();
            Propagator::explain(x, position, why);
        }
    }

  private:
    bool cover(int32_t x, int32_t position, Explanation& why) const {
        const int32_t words = masks_->words;
        std::vector<uint64_t> left(words, ~uint64_t(0));
        if (masks_->tuples % 64) left[words - 1] = (uint64_t(1) << (masks_->tuples % 64)) - 1;
        for (size_t i = 0; i < scope.size(); ++i)
            if (scope[i] == x) meet(left, i, position, true);
        for (size_t i = 0; i < scope.size(); ++i)  // one literal takes away the most where a variable was fixed
            if (scope[i] != x && why.was_fixed(scope[i]) && meet(left, i, why.store.first(scope[i]), true))
                why.fixed(scope[i]);
        for (size_t i = 0; i < scope.size(); ++i) {
            if (scope[i] == x || why.was_fixed(scope[i])) continue;
            for (int32_t v = 0; v < why.store.problem().domain_size(scope[i]); ++v)
                if (!why.had(scope[i], v) && meet(left, i, v, false)) why.gone(scope[i], v);
        }
        return std::all_of(left.begin(), left.end(), [](uint64_t word) { return word == 0; });
    }
    // Keep the tuples with the position, or those without it; whether any went.
    bool meet(std::vector<uint64_t>& left, size_t slot, int32_t position, bool with) const {
        const uint64_t* support = masks_->support[slot].data() + int64_t(position) * masks_->words;
        uint64_t gone = 0;
        for (int32_t w = 0; w < masks_->words; ++w) {
            const uint64_t kept = left[w] & (with ? support[w] : ~support[w]);
            gone |= left[w] ^ kept;
            left[w] = kept;
        }
        return gone != 0;
    }

    // Equal for equal domains: the bits themselves where they fit in a word, else the size.
    static uint64_t signature_of(const Store& store, int32_t x) {
        return store.words(x) == 1 ? store.bits(x)[0] : uint64_t(store.size(x));
    }

    void update(Store& store, size_t slot, uint64_t before, int32_t& limit) {
        const int32_t x = scope[slot], words = masks_->words;
        const uint64_t* support = masks_->support[slot].data();
        for (int32_t i = 0; i < limit; ++i) mask_[index_[i]] = 0;
        bool complement = false;
        if (masks_->plain && store.words(x) == 1) {
            const uint64_t now = store.bits(x)[0], gone = before & ~now & all_of(store, x);
            complement = __builtin_popcountll(gone) < store.size(x);
            for (uint64_t rest = complement ? gone : now; rest; rest &= rest - 1)
                add(support + int64_t(__builtin_ctzll(rest)) * words, limit);
        } else {
            for_each(store, x, [&](int32_t v) { add(support + int64_t(v) * words, limit); });
        }
        for (int32_t i = limit - 1; i >= 0; --i) {
            const int32_t w = index_[i];
            const uint64_t old = store.cell(current_ + w), left = old & (complement ? ~mask_[w] : mask_[w]);
            if (left == old) continue;
            store.set_cell(current_ + w, left);
            if (left == 0) {
                --limit;
                std::swap(index_[i], index_[limit]);
            }
        }
    }
    static uint64_t all_of(const Store& store, int32_t x) {
        const int32_t size = store.problem().domain_size(x);
        return size == 64 ? ~uint64_t(0) : (uint64_t(1) << size) - 1;
    }
    void add(const uint64_t* support, int32_t limit) {
        for (int32_t i = 0; i < limit; ++i) mask_[index_[i]] |= support[index_[i]];
    }

    bool filter(Store& store, size_t slot, int32_t limit) {
        const int32_t x = scope[slot], words = masks_->words;
        const uint64_t *support = masks_->support[slot].data(), *current = store.cells(current_);
        gone_.clear();
        for_each(store, x, [&](int32_t v) {
            const uint64_t* row = support + int64_t(v) * words;
            int32_t& at = residue_[slot][v];
            if (row[at] & current[at]) return;
            for (int32_t i = 0; i < limit; ++i)
                if (row[index_[i]] & current[index_[i]]) {
                    at = index_[i];
                    return;
                }
            gone_.push_back(v);
        });
        for (int32_t v : gone_)
            if (!store.remove(x, v)) return false;
        return true;
    }

    std::shared_ptr<const Masks> masks_;
    int32_t current_, limit_, seen_;
    bool started_ = false;
    std::vector<int32_t> index_, gone_;
    std::vector<std::vector<int32_t>> residue_;
    std::vector<uint64_t> mask_;
};

// None of the listed boxes: each is a clause over "outside this interval".
class ForbiddenBoxes : public Propagator {
  public:
    ForbiddenBoxes(int32_t constraint, std::vector<int32_t> variables, std::vector<int32_t> low,
                   std::vector<int32_t> high)
        : Propagator(constraint, kTable, kDomain, false), low_(std::move(low)), high_(std::move(high)) {
        scope = std::move(variables);
    }
    bool propagate(Store& store) override {
        const size_t arity = scope.size();
        for (size_t box = 0; box * arity < low_.size(); ++box) {
            const int32_t *low = low_.data() + box * arity, *high = high_.data() + box * arity;
            int64_t open = -1;
            bool outside = false;
            for (size_t i = 0; i < arity && !outside; ++i) {
                const int32_t x = scope[i];
                if (store.first(x) >= low[i] && store.last(x) <= high[i]) continue;
                outside = open >= 0 || !meets(store, x, low[i], high[i]);
                open = static_cast<int64_t>(i);
            }
            if (outside) continue;
            if (open < 0) return false;
            for (int32_t v = low[open]; v <= high[open]; ++v)
                if (!store.remove(scope[open], v)) return false;
        }
        return true;
    }

  private:
    static bool meets(const Store& store, int32_t x, int32_t low, int32_t high) {
        if (low > store.last(x) || high < store.first(x)) return false;
        const int32_t next = low <= store.first(x) ? store.first(x) : store.has(x, low) ? low : store.next(x, low);
        return next >= 0 && next <= high;
    }
    std::vector<int32_t> low_, high_;
};

// None of the listed tuples: a value goes once as many tuples with it are possible as the others have combinations.
class ForbiddenTuples : public Propagator {
  public:
    ForbiddenTuples(const Problem& problem, int32_t constraint, std::vector<int32_t> variables,
                    std::vector<int32_t> cells)
        : Propagator(constraint, kTable, kDomain, false), cells_(std::move(cells)) {
        scope = std::move(variables);
        for (int32_t x : scope) count_.emplace_back(problem.domain_size(x), 0);
    }
    bool propagate(Store& store) override {
        const size_t arity = scope.size();
        for (bool again = true; again;) {
            again = false;
            double combinations = 1;  // exact while few enough to be all listed
            int32_t largest = 1;
            for (int32_t x : scope) {
                combinations *= store.size(x);
                largest = std::max(largest, store.size(x));
            }
            if (combinations / largest > double(cells_.size() / arity)) return true;
            for (auto& count : count_) std::fill(count.begin(), count.end(), 0);
            for (size_t t = 0; t < cells_.size(); t += arity) {
                size_t i = 0;
                while (i < arity && store.has(scope[i], cells_[t + i])) ++i;
                if (i < arity) continue;
                for (i = 0; i < arity; ++i) ++count_[i][cells_[t + i]];
            }
            for (size_t i = 0; i < arity && !again; ++i) {
                const int32_t x = scope[i];
                const double others = combinations / store.size(x);
                for (int32_t v = store.first(x); v >= 0;) {
                    const int32_t next = store.next(x, v);
                    if (count_[i][v] == others) {
                        if (!store.remove(x, v)) return false;
                        again = true;
                    }
                    v = next;
                }
            }
        }
        return true;
    }

  private:
    std::vector<int32_t> cells_;               // tuple by tuple
    std::vector<std::vector<int32_t>> count_;  // by slot and position: possible tuples
};

std::vector<int32_t> scope_of(const Problem& problem, int32_t c) {
    return {problem.scope.begin() + problem.scope_start[c], problem.scope.begin() + problem.scope_start[c + 1]};
}

void set_bit(std::vector<uint64_t>& bits, int64_t row, int32_t words, int64_t i) {
    bits[row * words + (i >> 6)] |= uint64_t(1) << (i & 63);
}

std::shared_ptr<Masks> empty_masks(const Problem& problem, const std::vector<int32_t>& scope, int64_t tuples) {
    auto masks = std::make_shared<Masks>();
    masks->tuples = tuples;
    masks->words = static_cast<int32_t>((tuples + 63) / 64);
    for (int32_t x : scope) masks->support.emplace_back(size_t(problem.domain_size(x)) * masks->words, 0);
    return masks;
}

}  // namespace

struct Tables {
    std::map<std::vector<int64_t>, std::shared_ptr<const Rows>> rows;
    std::map<std::vector<int64_t>, std::shared_ptr<const Masks>> masks;
};

std::shared_ptr<Tables> make_tables() { return std::make_shared<Tables>(); }

void add_pairs(Store& store, int32_t c, const std::vector<int64_t>& key, Tables& tables, Propagators& out,
               const std::function<void(int32_t, uint8_t*)>& row) {
    const Problem& problem = store.problem();
    const std::vector<int32_t> scope = scope_of(problem, c);
    auto& rows = tables.rows[key];
    if (!rows) {
        auto made = std::make_shared<Rows>();
        const int32_t sizes[2] = {problem.domain_size(scope[0]), problem.domain_size(scope[1])};
        for (int side = 0; side < 2; ++side) {
            made->words[side] = (sizes[1 - side] + 63) / 64;
            made->bits[side].assign(size_t(sizes[side]) * made->words[side], 0);
        }
        std::vector<uint8_t> holds(sizes[1]);
        for (int32_t a = 0; a < sizes[0]; ++a) {
            row(a, holds.data());
            for (int32_t b = 0; b < sizes[1]; ++b)
                if (holds[b]) {
                    set_bit(made->bits[0], a, made->words[0], b);
                    set_bit(made->bits[1], b, made->words[1], a);
                }
        }
        rows = made;
    }
    out.push_back(std::make_unique<Binary>(c, scope[0], scope[1], rows));
}

void add_dense(Store& store, const Family& f, int32_t c, Tables& tables, Propagators& out) {
    const Problem& problem = store.problem();
    const std::vector<int32_t> scope = scope_of(problem, c);
    const int32_t first_slot = problem.scope_start[f.first_constraint], begin = problem.scope_start[c];
    const int64_t base = f.base[c - f.first_constraint];
    std::vector<int64_t> key{reinterpret_cast<int64_t>(f.truth.data()), base};
    std::vector<int64_t> stride;
    for (size_t i = 0; i < scope.size(); ++i) {
        stride.push_back(f.stride[begin + i - first_slot]);
        key.push_back(stride.back());
        key.push_back(problem.domain_size(scope[i]));
    }
    if (scope.size() == 2 && scope[0] != scope[1]) {
        const int32_t size = problem.domain_size(scope[1]);
        add_pairs(store, c, key, tables, out, [&](int32_t a, uint8_t* holds) {
            for (int32_t b = 0; b < size; ++b) holds[b] = f.truth[base + a * stride[0] + b * stride[1]];
        });
        return;
    }
    auto& masks = tables.masks[key];
    if (!masks) {
        std::vector<std::vector<int32_t>> found;
        std::vector<int32_t> at(scope.size(), 0);
        for (bool more = true; more;) {
            int64_t address = base;
            for (size_t i = 0; i < scope.size(); ++i) address += at[i] * stride[i];
            if (f.truth[address]) found.push_back(at);
            more = false;
            for (size_t i = scope.size(); i-- > 0;) {
                if (++at[i] < problem.domain_size(scope[i])) {
                    more = true;
                    break;
                }
                at[i] = 0;
            }
        }
        auto made = empty_masks(problem, scope, static_cast<int64_t>(found.size()));
        for (size_t t = 0; t < found.size(); ++t)
            for (size_t i = 0; i < scope.size(); ++i) set_bit(made->support[i], found[t][i], made->words, t);
        masks = made;
    }
    out.push_back(std::make_unique<CompactTable>(store, c, scope, masks));
}

void add_tuples(Store& store, const Family& f, int32_t c, Tables& tables, Propagators& out) {
    const Problem& problem = store.problem();
    const std::vector<int32_t> scope = scope_of(problem, c);
    const int32_t relation = f.relation[c - f.first_constraint];
    const int64_t from = f.tuple_start[relation], count = (f.tuple_start[relation + 1] - from) / int64_t(scope.size());
    const int32_t* cells = f.tuple_cells.data() + from;
    if (!f.allowed[relation]) {
        out.push_back(std::make_unique<ForbiddenTuples>(problem, c, scope,
                                                        std::vector<int32_t>(cells, cells + count * scope.size())));
        return;
    }
    std::vector<int64_t> key{reinterpret_cast<int64_t>(cells), count};
    for (int32_t x : scope) key.push_back(problem.domain_size(x));
    auto& masks = tables.masks[key];
    if (!masks) {
        auto made = empty_masks(problem, scope, count);
        for (int64_t t = 0; t < count; ++t)
            for (size_t i = 0; i < scope.size(); ++i)
                set_bit(made->support[i], cells[t * scope.size() + i], made->words, t);
        masks = made;
    }
    out.push_back(std::make_unique<CompactTable>(store, c, scope, masks));
}

void add_short_tuples(Store& store, const Family& f, const FamilyArrays& arrays, int32_t c, Tables& tables,
                      Propagators& out) {
    const Problem& problem = store.problem();
    const std::vector<int32_t> scope = scope_of(problem, c);
    const int32_t relation = arrays.int32("relation")[c - f.first_constraint];
    const auto starts = arrays.int64("tuple_start");
    const auto low = arrays.int32("low"), high = arrays.int32("high");
    const int64_t from = starts[relation], to = starts[relation + 1], count = (to - from) / int64_t(scope.size());
    if (!arrays.bytes("allowed")[relation]) {
        out.push_back(std::make_unique<ForbiddenBoxes>(c, scope,
                                                       std::vector<int32_t>(low.begin() + from, low.begin() + to),
                                                       std::vector<int32_t>(high.begin() + from, high.begin() + to)));
        return;
    }
    std::vector<int64_t> key{reinterpret_cast<int64_t>(low.data() + from), count};
    for (int32_t x : scope) key.push_back(problem.domain_size(x));
    auto& masks = tables.masks[key];
    if (!masks) {
        auto made = empty_masks(problem, scope, count);
        made->plain = false;
        for (int64_t t = 0; t < count; ++t)
            for (size_t i = 0; i < scope.size(); ++i) {
                const int64_t cell = from + t * int64_t(scope.size()) + int64_t(i);
                for (int32_t v = low[cell]; v <= high[cell]; ++v) set_bit(made->support[i], v, made->words, t);
            }
        masks = made;
    }
    out.push_back(std::make_unique<CompactTable>(store, c, scope, masks));
}

}  // namespace anycsp::propagation
