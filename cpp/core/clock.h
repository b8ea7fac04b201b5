// The clock that searches go by: the time that passes, or the processor time of the process. The second is for
// measurements, where other processes are not to count; no result depends on which it is but through the limits.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>

namespace anycsp {

struct Clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<Clock>;
    static constexpr bool is_steady = true;

    inline static std::atomic<bool> counts_cpu_time{false};

    static time_point now() {
        if (counts_cpu_time.load(std::memory_order_relaxed))
            return time_point(duration(int64_t(double(std::clock()) * (1e9 / CLOCKS_PER_SEC))));
        return time_point(std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch()));
    }
};

}  // namespace anycsp
