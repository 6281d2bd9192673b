#include "os/blocked_call.h"

#include "os/proc_text.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <climits>
#include <cstring>

namespace ew::os {

namespace {

struct KnownCall {
    long number;
    InputWaitForm form;
};

constexpr KnownCall known_calls[] = {
    {SYS_read, {}},
    {SYS_readv, {}},
    {SYS_pread64, {}},
    {SYS_preadv, {}},
    {SYS_preadv2, {}},
    {SYS_splice, {}},
    {SYS_tee, {}},
#ifdef SYS_poll
    {SYS_poll, {InputWait::poll, TimeLimit::milliseconds, 2}},
#endif
    {SYS_ppoll, {InputWait::poll, TimeLimit::timespec, 2}},
#ifdef SYS_select
    {SYS_select, {InputWait::select, TimeLimit::timeval, 4}},
#endif
    {SYS_pselect6, {InputWait::select, TimeLimit::timespec, 4}},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, {InputWait::epoll, TimeLimit::milliseconds, 3}},
#endif
    {SYS_epoll_pwait, {InputWait::epoll, TimeLimit::milliseconds, 3}},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, {InputWait::epoll, TimeLimit::timespec, 3}},
#endif
};

// Returns the word behind this label.
std::string_view word_after(std::string_view line, std::string_view label) {
    const std::size_t at = line.find(label);
    if (at == std::string_view::npos) return {};
    line.remove_prefix(at + label.size());
    return next_word(line);
}

} // namespace

// The text is the number, six arguments, the stack pointer and the program counter; "running"; or
// -1 and the last two. No 64-bit program has its stack in the first 4 GiB.
std::optional<BlockedCall> parse_blocked_call(std::string_view text) {
    const std::optional<long> number = number_in<long>(next_word(text), 10);
    if (!number || *number < 0) return std::nullopt;
    BlockedCall call = {*number, {}};
    for (std::uint64_t& argument : call.arguments) {
        const std::optional<std::uint64_t> value = number_in<std::uint64_t>(next_word(text), 16);
        if (!value) return std::nullopt;
        argument = *value;
    }
    const std::optional<std::uint64_t> stack = number_in<std::uint64_t>(next_word(text), 16);
    if (!stack || *stack <= UINT32_MAX) return std::nullopt;
    return call;
}

std::optional<InputWaitForm> input_wait_form(long number) {
    for (const KnownCall& known : known_calls)
        if (known.number == number) return known.form;
    return std::nullopt;
}

std::vector<int> watched_by_poll(std::string_view memory) {
    std::vector<int> found;
    for (pollfd entry = {}; memory.size() >= sizeof entry; memory.remove_prefix(sizeof entry)) {
        std::memcpy(&entry, memory.data(), sizeof entry);
        if (entry.fd >= 0 && (entry.events & (POLLIN | POLLRDNORM)) != 0) found.push_back(entry.fd);
    }
    return found;
}

std::vector<int> watched_by_select(std::string_view memory) {
    std::vector<int> found;
    for (std::size_t i = 0; i < memory.size() * CHAR_BIT; ++i) {
        const auto byte = static_cast<unsigned char>(memory[i / CHAR_BIT]); // little-endian words
        if ((byte >> (i % CHAR_BIT) & 1) != 0) found.push_back(static_cast<int>(i));
    }
    return found;
}

std::vector<int> watched_by_epoll(std::string_view fdinfo) {
    std::vector<int> found;
    while (!fdinfo.empty()) {
        const std::string_view line = fdinfo.substr(0, fdinfo.find('\n'));
        fdinfo.remove_prefix(std::min(line.size() + 1, fdinfo.size()));
        if (!line.starts_with("tfd:")) continue;
        const std::optional<int> fd = number_in<int>(word_after(line, "tfd:"), 10);
        const auto events = number_in<std::uint32_t>(word_after(line, "events:"), 16);
        if (fd && events && (*events & EPOLLIN) != 0) found.push_back(*fd);
    }
    return found;
}

} // namespace ew::os
