// Takes an order (order_format.h) apart, and believes nothing in it. Allocates nothing: what it
// returns points into the order.
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
    std::uint16_t filter_length = 0; // 0: none
    char** programs = nullptr;       // this and the following lists end with a null pointer
    char** argv = nullptr;           // argv[-1] is free, for a shell
    char** environment = nullptr;
    char** writable = nullptr;
    char** device_writable = nullptr;
    char** expected_paths = nullptr; // as many as `expected`
    char** submounts = nullptr;
    const char* directory = nullptr;
};

// Changes the slots in `bytes`, which are aligned as the header and can be read once. False: no
// order, one of another build, or a damaged one.
bool read_order(unsigned char* bytes, std::size_t size, Order& order);

} // namespace ew::sandbox::init
