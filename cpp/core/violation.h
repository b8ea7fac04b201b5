// What an assignment violates, and the news that a run found one that violates less than all it had seen.
#pragma once

#include <cstdint>
#include <string>

namespace anycsp {

struct Violation {
    int64_t violated = 0, hard = 0;
    int64_t weight = 0;  // in units; model/score.py
    int64_t score = 0;   // what a search minimises: any hard constraint before all the soft ones together

    void add(const Violation& other) {
        violated += other.violated;
        hard += other.hard;
        weight += other.weight;
        score += other.score;
    }
};

struct Improvement {
    int64_t step;
    double seconds;  // since the start
    int32_t run, instance;
    Violation violation;
    std::string found_by;  // empty where only one thing searches
};

}  // namespace anycsp
