#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ew {

void check_failed(const char* condition, const char* file, int line) {
    // This uses stdio, because the logger itself may be broken.
    (void)std::fprintf(stderr, "execward: bug: %s does not hold (%s:%d)\n", condition, file, line);
    std::abort();
}

} // namespace ew
