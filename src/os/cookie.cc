#include "os/cookie.h"

#include "os/proc.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <string_view>

namespace ew::os {

namespace {

constexpr std::uint64_t top = 1ULL << 60; // microseconds
// The distance between the limits of two successive serials. An inner server uses the values in
// between.
constexpr std::uint64_t gap = 1ULL << 24;
constexpr std::uint64_t serials = 1ULL << 34;

std::optional<std::uint64_t> hard_rttime_of(pid_t pid) {
    constexpr std::string_view row = "Max realtime timeout";
    const std::string limits = read_proc_file(fmt::format("/proc/{}/limits", pid));
    const std::size_t start = limits.find(row);
    if (start == std::string::npos) return std::nullopt;
    const char* const end = limits.data() + limits.size();
    const auto skip = [&](const char* at, bool blanks) {
        while (at < end && (*at == ' ') == blanks)
            ++at;
        return at;
    };
    const char* at = skip(limits.data() + start + row.size(), true);
    at = skip(skip(at, false), true); // skips the soft limit and the blanks behind it
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec != std::errc()) return std::nullopt; // "unlimited"
    return value;
}

} // namespace

Cookies Cookies::for_this_process() {
    Cookies cookies;
    cookies.base_ = top;
    rlimit current = {};
    if (::getrlimit(RLIMIT_RTTIME, &current) != 0 || current.rlim_max == RLIM_INFINITY)
        return cookies;
    const std::uint64_t below_top = top - current.rlim_max;
    const bool is_mark = current.rlim_max < top && below_top / gap < serials;
    cookies.depth_ = is_mark && below_top % gap == 0 ? Depth::inner : Depth::too_deep;
    cookies.base_ = current.rlim_max;
    return cookies;
}

Cookies Cookies::with_own_mark() {
    Cookies cookies = for_this_process();
    if (const std::optional<std::uint64_t> mark = cookies.limit_for(own_serial)) {
        const rlimit limit = {*mark, *mark};
        cookies.has_own_mark_ = ::setrlimit(RLIMIT_RTTIME, &limit) == 0;
    }
    return cookies;
}

std::optional<std::uint64_t> Cookies::limit_for(std::uint64_t serial) const {
    switch (depth_) {
    case Depth::outer: return serial < serials ? std::optional(base_ - serial * gap) : std::nullopt;
    case Depth::inner: return serial < gap ? std::optional(base_ - serial) : std::nullopt;
    case Depth::too_deep: return std::nullopt;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Cookies::serial_of(pid_t pid) const {
    if (depth_ == Depth::too_deep) return std::nullopt;
    const std::optional<std::uint64_t> limit = hard_rttime_of(pid);
    if (!limit || *limit >= base_) return std::nullopt;
    const std::uint64_t below = base_ - *limit;
    if (depth_ == Depth::inner) return below < gap ? std::optional(below) : std::nullopt;
    return below / gap < serials ? std::optional(below / gap) : std::nullopt;
}

} // namespace ew::os
