#include "report/wording.h"

#include "core/judgement/command_safety.h"
#include "core/text/display.h"
#include "os/signals.h"

#include <fmt/format.h>

#include <ctime>

namespace ew::report {

namespace {

std::tm parts_of(UnixMs time) {
    const std::time_t seconds = time / 1000;
    std::tm parts = {};
    (void)::gmtime_r(&seconds, &parts); // fails for years that do not fit into an int
    return parts;
}

} // namespace

std::string day_text(UnixMs time) {
    const std::tm parts = parts_of(time);
    return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string clock_text(UnixMs time) {
    const std::tm parts = parts_of(time);
    return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string minute_text(UnixMs time) {
    const std::tm parts = parts_of(time);
    return fmt::format("{} {:02}:{:02}", day_text(time), parts.tm_hour, parts.tm_min);
}

std::string second_text(UnixMs time) {
    return fmt::format("{} {}", day_text(time), clock_text(time));
}

std::string duration_text(UnixMs ms) {
    constexpr UnixMs second = 1000;
    constexpr UnixMs minute = 60 * second;
    constexpr UnixMs hour = 60 * minute;
    if (ms < second) return fmt::format("{} ms", ms);
    if (ms < minute) return fmt::format("{:.1f} s", static_cast<double>(ms) / second);
    if (ms < hour) return fmt::format("{} min {} s", ms / minute, ms % minute / second);
    return fmt::format("{} h {} min", ms / hour, ms % hour / minute);
}

std::string memory_text(std::int64_t bytes) {
    constexpr std::int64_t mib = 1 << 20;
    const auto count = static_cast<double>(bytes);
    if (bytes < mib) return fmt::format("{} KiB", bytes / 1024);
    if (bytes < 1024 * mib) return fmt::format("{:.1f} MiB", count / mib);
    return fmt::format("{:.1f} GiB", count / (1024 * mib));
}

std::string counted(std::uint64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view label_of(Outcome outcome) {
    switch (outcome) {
    case Outcome::waiting: return "unanswered";
    case Outcome::by_rule: return "ran unasked";
    case Outcome::by_person: return "allowed by a person";
    case Outcome::denied: return "denied";
    case Outcome::refused: return "sandbox refused";
    case Outcome::failed: return "failed";
    case Outcome::killed: return "killed";
    case Outcome::running: return "no end recorded";
    }
    return {};
}

std::string_view name_of(Outcome outcome) {
    switch (outcome) {
    case Outcome::waiting: return "waiting";
    case Outcome::by_rule: return "by-rule";
    case Outcome::by_person: return "by-person";
    case Outcome::denied: return "denied";
    case Outcome::refused: return "refused";
    case Outcome::failed: return "failed";
    case Outcome::killed: return "killed";
    case Outcome::running: return "running";
    }
    return {};
}

std::string author_text(std::string_view decided_by) {
    if (decided_by == "client") return "a person";
    if (decided_by == "rule") return "a rule";
    if (decided_by == "grant") return "an earlier approval";
    if (decided_by == "denial") return "an earlier denial";
    if (decided_by == "policy") return "the approval policy";
    if (decided_by == "safe list") return "the list of harmless commands";
    return std::string(decided_by);
}

std::string subject_text(std::string_view kind) {
    if (kind == "command") return "the command";
    if (kind == "escalation") return "running outside the sandbox";
    if (kind == "permissions") return "more permissions in the sandbox";
    if (kind == "retry") return "a second attempt";
    if (kind == "patch") return "the patch";
    if (kind == "network") return "a connection";
    return std::string(kind);
}

std::string typed_text(const std::vector<std::string>& argv) {
    return core::is_plain_shell_call(argv) ? core::shell_call(argv).script
                                           : core::shell_quoted(argv);
}

std::string signal_text(std::int64_t code) {
    constexpr std::int64_t base = 128;
    if (!is_status_of_kill(code)) return {};
    if (code < base) return "the time limit";
    return os::signal_name(static_cast<int>(code - base));
}

} // namespace ew::report
