// All time inside execward is monotonic. Code that waits receives `now` as a parameter.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace ew {

using TimePoint = std::chrono::steady_clock::time_point;
using Millis = std::chrono::milliseconds;

inline TimePoint clock_now() {
    return std::chrono::steady_clock::now();
}

// Returns `now` plus a number of milliseconds from a client. Returns nullopt ("never") if the
// number is too large.
inline std::optional<TimePoint> deadline_after(TimePoint now, std::uint64_t millis) {
    constexpr std::uint64_t a_century = 100ULL * 365 * 24 * 3600 * 1000;
    if (millis >= a_century) return std::nullopt;
    return now + Millis(static_cast<std::int64_t>(millis));
}

// Whole milliseconds, the unit of the protocol.
inline std::uint64_t millis(std::chrono::nanoseconds duration) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<Millis>(duration).count());
}

// Returns the earlier of two deadlines; nullopt means "never".
inline std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
    if (!a) return b;
    if (!b) return a;
    return *a < *b ? a : b;
}

inline bool is_due(const std::optional<TimePoint>& deadline, TimePoint now) {
    return deadline && *deadline <= now;
}

} // namespace ew
