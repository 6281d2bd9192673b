#include "server/local/lost_orphans.h"

#include "os/stream_state.h"
#include "server/local/local_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>

namespace ew::server {

namespace {

// The kernel tells the start of a process in clock ticks, and started_at is of another clock.
constexpr Millis inaccuracy{50};

bool is_in_session_of(const os::ProcessIdentity& orphan, const LocalProcess& local) {
    const pid_t leader = local.leader();
    return ::getsid(orphan.pid) == leader || ::getpgid(orphan.pid) == leader;
}

bool holds_stream_of(const os::ProcessIdentity& orphan, const LocalProcess& local) {
    const std::vector<std::string> files = os::open_files_of(orphan.pid);
    return std::ranges::any_of(local.streams, [&](const OutputStream& stream) {
        if (!stream.fd) return false;
        const std::string name = os::name_of_other_end(stream.fd.get());
        return std::ranges::find(files, name) != files.end();
    });
}

TimePoint start_of(const os::ProcessIdentity& process) {
    timespec now = {};
    (void)::clock_gettime(CLOCK_BOOTTIME, &now);
    const std::int64_t since_boot = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
    const std::int64_t ticks = std::max(::sysconf(_SC_CLK_TCK), 1L);
    const std::int64_t start = static_cast<std::int64_t>(process.start_time) * 1000 / ticks;
    return clock_now() - Millis(since_boot - start);
}

// The programs of a sandbox end with its process 1, so none of them is an orphan here.
bool may_own(const Process& process, TimePoint orphan_start) {
    if (process.local->sandbox || process.started_at > orphan_start + inaccuracy) return false;
    if (!process.exit || !process.backend->descendants(process).empty()) return true;
    const auto lived = Millis(process.exit->usage.wall_ms);
    return process.started_at + lived + inaccuracy >= orphan_start;
}

} // namespace

std::vector<std::uint64_t> possible_owners(const os::ProcessIdentity& orphan,
                                           ProcessService& processes) {
    std::vector<std::uint64_t> known;
    std::vector<std::uint64_t> possible;
    const TimePoint start = start_of(orphan);
    processes.for_each([&](const Process& process) {
        if (!process.local || process.local->pid == 0) return;
        if (is_in_session_of(orphan, *process.local) || holds_stream_of(orphan, *process.local))
            known.push_back(process.serial);
        if (may_own(process, start)) possible.push_back(process.serial);
    });
    return known.size() == 1 ? known : possible;
}

} // namespace ew::server
