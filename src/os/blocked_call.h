// The system call in which a thread sleeps, as /proc/PID/task/TID/syscall tells it (proc(5)).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ew::os {

struct BlockedCall {
    long number = 0;
    std::array<std::uint64_t, 6> arguments = {};
};

// Returns nullopt if the thread runs, sleeps outside a system call, or may use the numbers of
// another architecture (a 32-bit program).
std::optional<BlockedCall> parse_blocked_call(std::string_view text);

// Calls that wait until there is input.
enum class InputWait : std::uint8_t {
    read,   // the first argument is the descriptor
    poll,   // an array of pollfd, and its length
    select, // the number of descriptors, and a set of them
    epoll,  // the descriptor of an epoll instance
};

// The form of the argument that bounds the wait.
enum class TimeLimit : std::uint8_t { none, milliseconds, timespec, timeval };

struct InputWaitForm {
    InputWait wait = InputWait::read;
    TimeLimit limit = TimeLimit::none;
    std::size_t limit_argument = 0;
};

// Returns nullopt for all other calls.
std::optional<InputWaitForm> input_wait_form(long number);

// The descriptors in the memory of a call, or in the fdinfo of an epoll instance, that the call
// watches for input.
std::vector<int> watched_by_poll(std::string_view memory);
std::vector<int> watched_by_select(std::string_view memory);
std::vector<int> watched_by_epoll(std::string_view fdinfo);

} // namespace ew::os
