// CHECK asserts a condition that only a bug in execward can make false. It prints the place of the
// failed check and aborts.
#pragma once

namespace ew {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

} // namespace ew

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) ::ew::check_failed(#condition, __FILE__, __LINE__);                      \
    } while (false)
