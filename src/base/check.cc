#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ew {

void check_failed(const char* condition, const char* file, int line) {
    // stdio and not the logger: the logger may be what is broken.
    (void)std::fprintf(stderr, "execward: bug: %s does not hold (%s:%d)\n", condition, file, line);
    std::abort();
}

} // namespace ew
