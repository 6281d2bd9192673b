// CHECK states what cannot be false. A failure is a bug of ours: it says where, and aborts.
#pragma once

namespace ew {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

} // namespace ew

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) ::ew::check_failed(#condition, __FILE__, __LINE__);                      \
    } while (false)
