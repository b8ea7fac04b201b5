// How large a number is, whatever its sign.
#pragma once

#include <cstdint>

namespace anycsp {

// That of INT64_MIN does not fit into 64 bits, and neither do sums and products of what is yet to be checked.
inline __int128 magnitude(int64_t number) { return number < 0 ? -__int128(number) : number; }

}  // namespace anycsp
