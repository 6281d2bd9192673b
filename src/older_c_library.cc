// What libstdc++ asks of a newer C library (glibc 2.32 and 2.36), for a program that also runs with
// an older one.
#include <stdlib.h>
#include <sys/random.h>
#include <sys/single_threaded.h>

#include <cstdint>

// Never set: libstdc++ then counts references as if there were threads.
// NOLINTNEXTLINE: the C library's name
char __libc_single_threaded = 0;

// For std::random_device. Its contract has no error.
std::uint32_t arc4random() noexcept {
    std::uint32_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) ::abort();
    return number;
}
