// Readers: arrays with some entries, lengths or names wrong are refused with std::invalid_argument, or whatever asks
// about them afterwards stays within its memory and comes to an end.
#include <algorithm>
#include <limits>
#include <numeric>

#include "drawn.h"
#include "expectations.h"
#include "families/definition.h"
#include "families/registry.h"
#include "invariants/search.h"
#include "local/search.h"
#include "propagation/tree_search.h"

namespace fuzzing {
namespace {

using namespace anycsp;

constexpr double kForever = 1e9;
constexpr int64_t kNodes = 200, kMoves = 100;

// Numbers near which a check is most likely to be wrong, and small ones.
template <class T>
T hostile(Bytes& bytes, size_t size) {
    using Limits = std::numeric_limits<T>;
    const auto length = static_cast<T>(size);
    const T numbers[] = {0,
                         1,
                         2,
                         3,
                         T(-1),
                         T(-2),
                         length,
                         T(length - 1),
                         T(length + 1),
                         Limits::max(),
                         Limits::min(),
                         T(Limits::max() - 1),
                         T(Limits::max() / 2),
                         T(Limits::max() / 3 + 1),
                         T(bytes.byte())};
    return numbers[bytes.below(15)];
}

template <class T>
void spoil(Bytes& bytes, std::vector<T>& array) {
    const auto size = static_cast<int32_t>(array.size());
    switch (bytes.below(8)) {
        case 0: array.push_back(hostile<T>(bytes, array.size())); break;
        case 1:
            if (size > 0) array.pop_back();
            break;
        case 2: array.clear(); break;
        case 3:
            if (size > 1) std::swap(array[bytes.below(size)], array[bytes.below(size)]);
            break;
        default:
            if (size > 0) array[bytes.below(size)] = hostile<T>(bytes, array.size());
            break;
    }
}

void spoil(Bytes& bytes, OwnedArrays& arrays) {
    if (arrays.of.empty()) return;
    auto entry = std::next(arrays.of.begin(), bytes.below(static_cast<int32_t>(arrays.of.size())));
    if (bytes.rarely(32))
        arrays.of.erase(entry);
    else
        std::visit([&](auto& array) { spoil(bytes, array); }, entry->second);
}

std::shared_ptr<Problem> read(const Drawn& drawn) {
    try {
        return drawn.compile();
    } catch (const std::invalid_argument&) {
        return nullptr;
    }
}

// Labels of constraints that only a function can evaluate. Any function of its own positions will do, but it must be one:
// what holds with X at v may not depend on where X is.
ExternalLabels some_labels(const Problem& p) {
    return [&p](int32_t c, const int32_t* scope_positions, uint8_t* labels) {
        const int32_t first = p.scope_start[c], last = p.scope_start[c + 1];
        const int64_t sum = std::accumulate(scope_positions, scope_positions + (last - first), int64_t(0));
        for (int32_t s = first; s < last; ++s)
            for (int32_t v = 0; v < p.domain_size(p.scope[s]); ++v)
                *labels++ = (sum - scope_positions[s - first] + v) % 3 > 0;
    };
}

void label(const Problem& p, const Positions& at) {
    const std::vector<int64_t> start(p.edge_start.begin(), p.edge_start.end() - 1);
    std::vector<uint8_t> labels(p.edges());
    std::vector<float> grades(p.edges());
    std::vector<int32_t> place(p.slots()), exceptions(p.slots(), -1), critical(p.constraints, 0);
    for (int32_t s = 0; s < p.slots(); ++s) place[s] = s;
    for (const Family& f : p.families) {
        const Range range{f.first_constraint, f.last_constraint};
        if (f.definition->label) f.definition->label(p, f, range, {at.data(), start.data(), labels.data()});
        if (f.definition->grade) f.definition->grade(p, f, range, {at.data(), start.data(), grades.data()});
        if (f.definition->relabel)
            f.definition->relabel(p, f, range, {at.data(), place.data(), exceptions.data(), nullptr, critical.data()});
    }
    for (uint8_t label : labels) EXPECT(label <= 1);
}

// What local search refuses it may: a batch, a scope that repeats a variable.
void search_locally(const std::shared_ptr<Problem>& p, Bytes& bytes, const Positions& at) {
    try {
        local::Search search(p, bytes.flag() ? "tabu" : "annealing", {}, 1, 0, 1, {bytes.flag(), some_labels(*p)});
        search.start(at.data(), kMoves, kForever);
        search.advance(kMoves, kForever);
        for (const auto& run : search.runs()) run->verify();
    } catch (const std::invalid_argument&) {
    }
}

void propagate(const Drawn& drawn, const std::shared_ptr<Problem>& p, Bytes& bytes) {
    const std::vector<uint8_t> enforced(p->constraints, 1), decisions(p->variables, 1);
    auto network = std::make_unique<propagation::Network>(p, drawn.arrays(), enforced, some_labels(*p),
                                                          Clock::time_point::max(), bytes.flag());
    propagation::TreeSearch tree(std::move(network), decisions, -1, 0);
    if (bytes.flag()) tree.set_mode(propagation::TreeSearch::Learning::always);
    tree.advance(kNodes, kForever);
}

void search_invariants(const Drawn& drawn, const std::shared_ptr<Problem>& p, const Positions& at) {
    const std::vector<uint8_t> enforced(p->constraints, 1), auxiliary(p->variables, 1), kept(p->values(), 1);
    invariants::Search search(
        std::make_shared<invariants::Model>(p, drawn.arrays(), enforced, auxiliary, kept, -1, some_labels(*p)), 0, 0);
    search.start(at.data());
    search.advance(kMoves, kForever);
    search.verify();
}

}  // namespace
}  // namespace fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace fuzzing;
    Bytes bytes(data, size);
    Drawn drawn(bytes);
    const int32_t changes = bytes.below(4);
    for (int32_t i = 0; i < changes; ++i) {
        const int32_t which = bytes.below(static_cast<int32_t>(drawn.families.size()) + 1);
        spoil(bytes, which == 0 ? drawn.graph : *drawn.families[which - 1].arrays);
    }
    const auto problem = read(drawn);
    if (!problem) {
        EXPECT(changes > 0);
        return 0;
    }
    Positions at;
    for (int32_t x = 0; x < problem->variables; ++x) at.push_back(bytes.below(problem->domain_size(x)));
    label(*problem, at);
    switch (bytes.below(3)) {
        case 0: search_locally(problem, bytes, at); break;
        case 1: propagate(drawn, problem, bytes); break;
        default: search_invariants(drawn, problem, at); break;
    }
    return 0;
}
