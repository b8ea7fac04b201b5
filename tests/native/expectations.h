// A broken property ends the process, which is what libFuzzer takes for a finding.
#pragma once

#include <cstdio>
#include <cstdlib>

#define EXPECT(condition)                                                            \
    do {                                                                             \
        if (!(condition)) {                                                          \
            std::fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                            \
        }                                                                            \
    } while (false)
