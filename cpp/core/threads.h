// A small team of threads for loops over blocks, or over runs. Our own rather than OpenMP's: it needs no runtime library beside
// torch's, exists on every compiler, and the thread sanitizer understands it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace anycsp {

class Team {
  public:
    explicit Team(int threads);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int size() const { return static_cast<int>(workers_.size()) + 1; }

    // body(index, thread) for every index below count; returns when all are done.
    template <class Body>
    void each(int64_t count, const Body& body) {
        if (workers_.empty() || count <= 1) {
            for (int64_t i = 0; i < count; ++i) body(i, 0);
            return;
        }
        run(
            count, [](const void* context, int64_t i, int thread) { (*static_cast<const Body*>(context))(i, thread); },
            &body);
    }

  private:
    using Call = void (*)(const void*, int64_t, int);
    void run(int64_t count, Call call, const void* context);
    void work(int thread);
    void take(int thread);

    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::atomic<uint64_t> job_{0};  // rises with every loop
    std::atomic<int64_t> next_{0};
    std::atomic<int> busy_{0};
    std::atomic<bool> stop_{false}, sleeping_{false};  // sleeping_: the caller waits for done_
    int64_t count_ = 0;
    Call call_ = nullptr;
    const void* context_ = nullptr;
};

}  // namespace anycsp
