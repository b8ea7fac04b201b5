#include "core/threads.h"

namespace anycsp {
namespace {

// Loops follow one another within microseconds, a sleeping thread takes longer to wake: look for work for about
// 50 µs before sleeping. Who waits for the others to finish then yields for about a millisecond before it sleeps: a
// slice of local search takes longer than that, a block of the policy step does not.
constexpr int kPatience = 2000, kYields = 1000;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

Team::Team(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

Team::~Team() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stop_.store(true);
        job_.fetch_add(1);
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void Team::take(int thread) {
    for (int64_t i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) call_(context_, i, thread);
}

void Team::run(int64_t count, Call call, const void* context) {
    count_ = count;
    call_ = call;
    context_ = context;
    next_.store(0);
    busy_.store(static_cast<int>(workers_.size()));
    {
        std::lock_guard<std::mutex> lock(mutex_);  // a worker between its last look and its sleep must not miss this
        job_.fetch_add(1);
    }
    wake_.notify_all();
    take(0);
    for (int spin = 0; spin < kPatience && busy_.load() != 0; ++spin) pause();
    for (int spin = 0; spin < kYields && busy_.load() != 0; ++spin) std::this_thread::yield();
    if (busy_.load() == 0) return;
    std::unique_lock<std::mutex> lock(mutex_);
    sleeping_.store(true);  // before the last look at busy_: whoever sets that to 0 afterwards sees it
    done_.wait(lock, [&] { return busy_.load() == 0; });
    sleeping_.store(false);
}

void Team::work(int thread) {
    uint64_t seen = 0;
    while (true) {
        for (int spin = 0; spin < kPatience && job_.load() == seen; ++spin) pause();
        if (job_.load() == seen) {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return job_.load() != seen; });
        }
        seen = job_.load();
        if (stop_.load()) return;
        take(thread);
        if (busy_.fetch_sub(1) == 1 && sleeping_.load()) {
            std::lock_guard<std::mutex> lock(mutex_);  // not between the caller's last look and its sleep
            done_.notify_one();
        }
    }
}

}  // namespace anycsp
