// Parses an order (order_format.h) without trusting its content. Allocates nothing: the result
// points into the order.
#pragma once

#include "sandbox/init/order_format.h"

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>

namespace ew::sandbox::init {

struct Order {
    bool has_terminal = false;
    bool is_first_process = false;
    bool scopes_sockets_and_signals = false;
    bool has_listener = false;
    bool checks_mounts = false;
    bool may_lack_proc = false;
    unsigned landlock = 0;
    const order_format::Limit* limits = nullptr;
    std::uint32_t limit_count = 0;
    order_format::Expected* expected = nullptr; // may be written to
    std::uint32_t expected_count = 0;
    sock_filter* filter = nullptr;
    std::uint16_t filter_length = 0; // 0 if there is no filter
    char** programs = nullptr;       // this list and the following ones end with a null pointer
    char** argv = nullptr;           // argv[-1] is free, for a shell
    char** environment = nullptr;
    char** writable = nullptr;
    char** device_writable = nullptr;
    char** expected_paths = nullptr; // as many as `expected`
    char** submounts = nullptr;
    const char* directory = nullptr;
    const char* script = nullptr; // for script_fd; empty: none
};

// Changes the slots in `bytes`, which must be aligned as the header; an order can be read only
// once. Returns false if it is not an order, is one of another build, or is damaged.
bool read_order(unsigned char* bytes, std::size_t size, Order& order);

} // namespace ew::sandbox::init
