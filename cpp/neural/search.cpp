#include "neural/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <stdexcept>

#include "core/clock.h"
#include "neural/randomness.h"

namespace anycsp {
namespace {

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

// Which thread does what never changes a result, only its cost: runs are independent of one another, blocks of a run
// need a barrier after each pass. Whole runs it is, unless threads would idle.
bool share_runs(int32_t runs, int32_t threads) {
    return threads > 1 && runs >= threads && (runs % threads == 0 || runs >= 4 * threads);
}

// Rows of Collected::whole a variable has.
size_t whole_rows(const Topology& t, const Network& n) {
    return n.form == Form::linear || n.aggregation != Aggregation::max ? 1 : t.largest_domain <= 2 ? 0 : 3;
}

bool has_clauses(const Problem& p) {
    return std::any_of(p.families.begin(), p.families.end(), [](const Family& f) { return f.kind == Kind::clause; });
}

int32_t first_value(const Problem& p, const Part& part) { return p.value_start[part.variables.first]; }

// Rows of Work::rows that come before a variable's.
size_t rows_before(const Problem& p, const Layout& layout, int32_t variable) {
    if (!layout.own_rows) return size_t(p.value_start[variable]) + variable;
    return variable == p.variables ? layout.exceptional_constraint.size() : layout.exceptional_start[variable];
}

template <class T>
T* part(Buffer<T>& buffer, int32_t run, size_t size) {
    return buffer.data() ? buffer.data() + run * size : nullptr;
}

}  // namespace

double worked_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#else
    return now();
#endif
}

Search::Search(std::shared_ptr<Problem> problem_, std::shared_ptr<Layout> layout_,
               std::shared_ptr<PackedNetwork> network_, std::vector<int64_t> constant, SearchOptions options_)
    : problem(std::move(problem_)),
      layout(std::move(layout_)),
      network(std::move(network_)),
      options(options_),
      team_(options_.threads),
      over_runs_(share_runs(options_.runs, options_.threads)),
      constant_(std::move(constant)) {
    const Problem& p = *problem;
    const size_t runs = options.runs, width = network->view().width, values = p.values(), variables = p.variables;
    const bool linear = layout->form == Form::linear;
    const Topology& t = layout->topology;
    if (constant_.size() != size_t(p.instances) * 4) throw std::invalid_argument("constant: not [instances, 4]");

    temperature.assign(runs, options.temperature);
    state = Buffer<float>(runs * values * width);
    logits = Buffer<float>(runs * values);
    const bool guided = *std::max_element(options.guidance.begin(), options.guidance.end()) > 0;
    trace = Buffer<float>(guided ? runs * p.constraints : 0);
    positions = Buffer<int32_t>(runs * variables);
    best_positions = Buffer<int32_t>(runs * variables);
    rows = Buffer<int32_t>(layout->own_rows ? 0 : runs * layout->place.size());
    exceptions = Buffer<int32_t>(runs * layout->exceptional_constraint.size());
    critical = Buffer<int32_t>(has_clauses(p) ? runs * p.constraints : 0);
    labels = Buffer<uint8_t>(runs * layout->labels);
    grades = Buffer<float>(network->view().graded ? runs * layout->labels : 0);
    current.resize(runs * p.instances);
    best_score.resize(runs * p.instances);
    partial_.resize(runs * layout->chunks.size());

    size_t of_part = 0, values_of_part = 0, rows_of_part = 0, constraints_of_part = 0;
    for (const Part& part : layout->parts) {
        const auto [first, last] = part.variables;
        of_part = std::max<size_t>(of_part, part.variables.size());
        values_of_part = std::max<size_t>(values_of_part, p.value_start[last] - p.value_start[first]);
        if (t.any_exceptional)
            rows_of_part = std::max(rows_of_part, rows_before(p, *layout, last) - rows_before(p, *layout, first));
        constraints_of_part = std::max<size_t>(constraints_of_part, part.constraints.size());
    }
    constraints_of_part = std::min<size_t>(constraints_of_part, layout->largest_tile);

    workspaces_.resize(over_runs_ ? options.threads : 1);
    for (Workspace& w : workspaces_) {
        w.x = Buffer<float>(values_of_part * width);
        w.rows = Buffer<float>(rows_of_part * width);
        w.totals = Buffer<float>(linear ? of_part * width : 0);
        w.messages = Buffer<float>(t.any_labelled ? values_of_part * width * (linear ? 1 : 2) : 0);
        w.constraints = Buffer<float>(constraints_of_part * width * (linear ? 1 : 2));
        if (t.tile_count != 1) {
            w.own = Buffer<float>(values * width);
            w.whole = Buffer<float>(variables * width * whole_rows(t, network->view()));
            w.count = Buffer<float>(linear ? values : 0);
        }
    }

    const size_t block = layout->largest_block, padded = (block + 63) / 64 * 64;
    const size_t of_block = layout->most_variables_in_block, of_group = layout->most_variables_in_group;
    const size_t group = t.tile_count == 1 ? (layout->largest_group + 63) / 64 * 64 : 0;  // collects for one at a time
    const size_t whole = t.tile_count == 1 ? of_group * width * whole_rows(t, network->view()) : 0;
    const size_t per_thread = (block * (linear ? 2 : 1) + block + 2 * block + 2 * block + 2 * of_block) * width +
                              2 * padded + group * (width + 1) + whole;
    scratch_memory_ = Buffer<float>(per_thread * options.threads);
    scratch_.resize(options.threads);
    for (int i = 0; i < options.threads; ++i) {
        float* memory = scratch_memory_.data() + i * per_thread;
        auto take = [&](size_t count) {
            float* taken = memory;
            memory += count;
            return taken;
        };
        Scratch& s = scratch_[i];
        s.a = take(block * width * (linear ? 2 : 1));
        s.b = take(block * width);
        for (float** buffer : {&s.zh, &s.gates}) *buffer = take(block * 2 * width);
        for (float** buffer : {&s.pool, &s.pool2}) *buffer = take(of_block * width);
        s.collected = {take(group * width), take(whole), take(group)};
        s.scalar = take(padded);
        s.far = take(padded);
    }

    instance_start_.assign(p.instances + 1, p.variables);
    for (int32_t x = p.variables - 1; x >= 0; --x) {
        if (x + 1 < p.variables && p.variable_instance[x] > p.variable_instance[x + 1])
            throw std::invalid_argument("variables of an instance do not follow one another");
        instance_start_[p.variable_instance[x]] = x;
    }
    for (int32_t i = p.instances - 1; i >= 0; --i)
        instance_start_[i] = std::min(instance_start_[i], instance_start_[i + 1]);
}

size_t Search::bytes() const {
    size_t total = state.bytes() + logits.bytes() + trace.bytes() + positions.bytes() + best_positions.bytes() +
                   rows.bytes() + exceptions.bytes() + critical.bytes() + labels.bytes() + grades.bytes() +
                   scratch_memory_.bytes();
    for (const Workspace& w : workspaces_)
        for (const Buffer<float>* b :
             {&w.x, &w.rows, &w.messages, &w.totals, &w.constraints, &w.own, &w.whole, &w.count})
            total += b->bytes();
    return total;
}

double Search::multiply_adds() const {
    const double values = problem->values(), variables = problem->variables, constraints = problem->constraints;
    const bool linear = layout->form == Form::linear;
    const double per_value = 2 + 2 + (linear ? 1 + 3 : 2) + 6 + 1;  // E, M_V, (W1), U_V, GRU, O
    const double per_variable = 2 + (linear ? 2 : 0), per_constraint = linear ? 0.5 : 3;
    const double d = network->view().hidden;
    return options.runs * d * d * (per_value * values + per_variable * variables + per_constraint * constraints);
}

// Indices of the part's variables, values and constraints, less those before it, are those of its arrays.
Work Search::work_of(Workspace& w, const Part& part) const {
    const int64_t width = network->view().width, messages = layout->form == Form::linear ? 1 : 2;
    const int64_t value = first_value(*problem, part);
    auto at = [&](Buffer<float>& buffer, int64_t before) {
        return buffer.data() ? buffer.data() - before * width : nullptr;
    };
    Work work;
    work.last_variable = part.variables.last;
    work.x = at(w.x, value);
    work.rows = w.rows.data() ? at(w.rows, rows_before(*problem, *layout, part.variables.first)) : nullptr;
    work.messages = at(w.messages, messages * value);
    work.totals = at(w.totals, part.variables.first);
    work.constraints = at(w.constraints, messages * part.constraints.first);
    work.collected = {w.own.data(), w.whole.data(), w.count.data()};
    return work;
}

RunView Search::run_view(int32_t run, uint64_t key) {
    const size_t values = problem->values(), variables = problem->variables;
    RunView view;
    view.state = state.data() + run * values * network->view().width;
    view.positions = positions.data() + run * variables;
    view.rows = part(rows, run, layout->place.size());
    view.exceptions = part(exceptions, run, layout->exceptional_constraint.size());
    view.labels = part(labels, run, layout->labels);
    view.grades = part(grades, run, layout->labels);
    view.logits = logits.data() + run * values;
    view.key = key;
    view.temperature = temperature[run];
    view.guidance = options.guidance[run];
    view.trace = view.guidance > 0 ? part(trace, run, problem->constraints) : nullptr;
    view.sample = !options.local;
    return view;
}

Labels Search::labels_view(int32_t run) {
    const int32_t* at = positions.data() + run * size_t(problem->variables);
    return {{at, layout->label_start.data(), part(labels, run, layout->labels)},
            {at, layout->place.data(), part(exceptions, run, layout->exceptional_constraint.size()),
             part(rows, run, layout->place.size()), part(critical, run, problem->constraints)}};
}

template <class Each>
void Search::relabel_run(int32_t run, Each&& each) {
    const auto& chunks = layout->chunks;
    const Labels view = labels_view(run);
    each(static_cast<int64_t>(chunks.size()), [&](int64_t i, int thread) {
        Scratch& s = scratch_[thread];
        const double begin = s.now ? s.now() : 0;
        partial_[run * chunks.size() + i] = relabel(*problem, chunks[i], view);
        if (network->view().graded) regrade(*problem, chunks[i], view.edges, part(grades, run, layout->labels));
        if (s.now) s.seconds[kRelabel] += s.now() - begin - s.reading;
    });
    Violation* total = current.data() + size_t(run) * problem->instances;
    for (int32_t i = 0; i < problem->instances; ++i) {
        const int64_t* constant = constant_.data() + 4 * i;
        total[i] = {constant[0], constant[2], constant[1], constant[3]};
    }
    for (size_t i = 0; i < chunks.size(); ++i) total[chunks[i].instance].add(partial_[run * chunks.size() + i]);
}

// trace ← memory · trace + [violated]
void Search::update_trace(int32_t run) {
    const Problem& p = *problem;
    const Labels view = labels_view(run);
    float* to = trace.data() + run * size_t(p.constraints);
    for (int32_t c = 0; c < p.constraints; ++c)
        to[c] = options.memory * to[c] + (view.satisfied(p, p.families[p.family_of[c]], c) ? 0.f : 1.f);
}

template <class Each>
void Search::step_run(int32_t run, Workspace& workspace, Each&& each_block) {
    if (options.guidance[run] > 0) update_trace(run);
    const Kernels& k = kernels();
    const Network& n = network->view();
    const Topology& t = layout->topology;
    const RunView view = run_view(run, step_key(options.seed, options.first_run + run, step + 1));
    const auto &variables = layout->variable_blocks, &constraints = layout->constraint_blocks;
    auto each = [&](int64_t count, const auto& body) {
        each_block(count, [&](int64_t i, int thread) {
            if (!abandoned()) body(i, thread);
        });
    };
    auto each_of = [&](Range range, const auto& body) {
        each(range.size(), [&](int64_t i, int thread) { body(range.first + i, thread); });
    };
    for (const Part& part : layout->parts) {
        const Work work = work_of(workspace, part);
        each_of(part.variable_blocks,
                [&](int64_t i, int thread) { k.encode(n, t, view, work, scratch_[thread], variables[i]); });
        for (size_t i = 0; i < layout->tiles.size(); ++i) {
            const bool one = layout->tiles.size() == 1;
            Tile tile = layout->tiles[i];
            tile.last = std::min(tile.last, part.constraints.last);
            each_of(
                one ? part.constraint_blocks : Range{layout->tile_block[i], layout->tile_block[i + 1]},
                [&](int64_t b, int thread) { k.constrain(n, t, view, work, scratch_[thread], tile, constraints[b]); });
            if (one) break;  // update receives block by block
            each_of(part.variable_blocks, [&](int64_t b, int thread) {
                k.collect(n, t, view, work, scratch_[thread], layout->tiles[i], variables[b]);
            });
        }
        each_of(part.groups, [&](int64_t i, int thread) {
            const int32_t first = layout->group_block[i], count = layout->group_block[i + 1] - first;
            k.update(n, t, view, work, scratch_[thread], variables.data() + first, count);
        });
    }
    if (options.local) sample_local(run);
    if (!external) relabel_run(run, each);
}

void Search::relabel_all() {
    if (external) external(*this);
    for (int32_t run = 0; run < options.runs; ++run)
        relabel_run(run, [&](int64_t count, const auto& body) { team_.each(count, body); });
}

// Softmax over all values of an instance but the chosen ones; the draw's counter is the instance's first variable.
void Search::sample_local(int32_t run) {
    const Problem& p = *problem;
    const RunView view = run_view(run, step_key(options.seed, options.first_run + run, step + 1));
    for (int32_t instance = 0; instance < p.instances; ++instance) {
        const int32_t first = instance_start_[instance], last = instance_start_[instance + 1];
        auto for_moves = [&](const auto& body) {
            for (int32_t x = first; x < last; ++x)
                for (int32_t v = p.value_start[x]; v < p.value_start[x + 1]; ++v)
                    if (v - p.value_start[x] != view.positions[x]) body(x, v);
        };
        float highest = -INFINITY;
        for_moves([&](int32_t, int32_t v) { highest = std::max(highest, view.logits[v]); });
        auto weight = [&](int32_t v) { return std::exp((view.logits[v] - highest) / view.temperature); };
        double total = 0;
        for_moves([&](int32_t, int32_t v) { total += weight(v); });
        const double threshold = static_cast<double>(uniform(view.key, first)) * total;
        double cumulative = 0;
        int32_t moved = -1, position = 0;
        for_moves([&](int32_t x, int32_t v) {
            cumulative += weight(v);
            if (moved < 0 && cumulative > threshold) {
                moved = x;
                position = v - p.value_start[x];
            }
        });
        if (moved >= 0) view.positions[moved] = position;
    }
}

void Search::note_improvements(const std::string& found_by) {
    const Problem& p = *problem;
    const double seconds = now() - began_;
    for (int32_t run = 0; run < options.runs; ++run)
        for (int32_t i = 0; i < p.instances; ++i) {
            const Violation& v = current[size_t(run) * p.instances + i];
            int64_t& best = best_score[size_t(run) * p.instances + i];
            if (v.score >= best) continue;
            best = v.score;
            const size_t offset = size_t(run) * p.variables;
            std::copy(positions.data() + offset + instance_start_[i],
                      positions.data() + offset + instance_start_[i + 1],
                      best_positions.data() + offset + instance_start_[i]);
            improvements.push_back({step, seconds, run, i, v, found_by});
        }
}

bool Search::solved() const {
    return problem->instances == 1 &&
           std::any_of(best_score.begin(), best_score.end(), [](int64_t score) { return score <= 0; });
}

// A random assignment, drawn by the key of minus this step, and nothing remembered.
void Search::begin(int32_t run) {
    const Problem& p = *problem;
    const size_t width = network->view().width;
    const uint64_t key = step_key(options.seed, options.first_run + run, uint64_t(0) - step);
    int32_t* to = positions.data() + run * size_t(p.variables);
    for (int32_t x = 0; x < p.variables; ++x)
        to[x] = static_cast<int32_t>(static_cast<double>(uniform(key, x)) * p.domain_size(x));
    float* h = state.data() + run * size_t(p.values()) * width;
    for (int32_t v = 0; v < p.values(); ++v) std::copy_n(network->view().initial_state, width, h + size_t(v) * width);
    if (trace.size() > 0) std::fill_n(trace.data() + run * size_t(p.constraints), p.constraints, 0.f);
}

void Search::start(const int32_t* given) {
    began_ = now();
    abandoned_ = false;
    const Problem& p = *problem;
    step = 0;
    for (int32_t run = 0; run < options.runs; ++run) {
        begin(run);
        clear(p, labels_view(run));
    }
    if (given) std::copy_n(given, positions.size(), positions.data());
    improvements.clear();
    std::fill(best_score.begin(), best_score.end(), INT64_MAX);
    relabel_all();
    note_improvements("initial");
}

void Search::restart(const std::vector<int32_t>& runs) {
    for (const int32_t run : runs) begin(run);
    relabel_all();
    note_improvements("initial");
}

void Search::set_profile(bool on) {
    // Between two readings lies one reading's own time: half of a phase, where blocks are small and the clock is a call
    // into the system.
    constexpr int readings = 1000;
    const double begin = worked_seconds();
    double end = begin;
    for (int i = 0; i < readings; ++i) end = worked_seconds();
    for (Scratch& s : scratch_) {
        s.now = on ? worked_seconds : nullptr;
        s.reading = (end - begin) / readings;
        std::fill_n(s.seconds, int(kPhases), 0.0);
    }
}

std::vector<double> Search::phase_seconds() const {
    std::vector<double> total(kPhases, 0);
    for (const Scratch& s : scratch_)
        for (int phase = 0; phase < kPhases; ++phase) total[phase] += s.seconds[phase];
    return total;
}

void Search::abandon_after(double seconds) { abandon_at_ = now() + seconds; }

bool Search::abandoned() {
    if (!abandoned_ && abandon_at_ < INFINITY && now() >= abandon_at_) abandoned_ = true;
    return abandoned_;
}

int64_t Search::advance(int64_t max_steps, double seconds) {
    const double until = now() + seconds;
    int64_t done = 0;
    while (done < max_steps && !solved() && !abandoned_) {
        if (over_runs_) {
            team_.each(options.runs, [&](int64_t run, int thread) {
                step_run(static_cast<int32_t>(run), workspaces_[thread], [&](int64_t count, const auto& body) {
                    for (int64_t i = 0; i < count; ++i) body(i, thread);
                });
            });
        } else {
            for (int32_t run = 0; run < options.runs; ++run)
                step_run(run, workspaces_[0], [&](int64_t count, const auto& body) { team_.each(count, body); });
        }
        if (abandoned_) break;
        if (external) relabel_all();
        ++step;
        ++done;
        note_improvements("network");
        if (now() >= until) break;
    }
    return done;
}

}  // namespace anycsp
