#include "cli/run/run_report.h"

#include "core/text/display.h"
#include "sandbox/policy/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ew::cli {

namespace {

constexpr std::size_t most_lines = 16; // for denials; one more line counts the rest

// Does not use fmt::print(), which throws when the disk is full or the reader has gone.
void say(std::string_view line) {
    const std::string text = fmt::format("execward: {}\n", line);
    (void)std::fwrite(text.data(), 1, text.size(), stderr); // a failure cannot be reported anywhere
}

// For what a network by host refused: the narrowest option, or the reason.
std::string way_out_to_host(const sandbox::Denial& denial, std::string_view reason) {
    if (denial.allow.empty()) return core::visible(reason);
    return fmt::format("--allow-host {} allows it", denial.target);
}

std::string way_out(const sandbox::Denial& denial) {
    constexpr std::string_view by_host = "network: hosts: ";
    if (denial.rule.starts_with(by_host))
        return way_out_to_host(denial, std::string_view(denial.rule).substr(by_host.size()));
    if (denial.allow.empty()) return "nothing allows it";
    if (denial.kind == sandbox::DenialKind::network) return "--network allows it";
    const char* const home = std::getenv("HOME");
    const std::string directory =
        sandbox::directory_to_open(denial.operation, denial.target, home == nullptr ? "" : home);
    return fmt::format("--writable={} allows it{}", core::shell_quoted({directory}),
                       directory == denial.target ? ", once it exists" : "");
}

// The program chooses the path, which may read like a sentence of ours: quotes show where it ends.
// Addresses are written by us.
std::string target_of(const sandbox::Denial& denial) {
    if (denial.kind == sandbox::DenialKind::network) return denial.target;
    return core::shell_quoted({denial.target});
}

std::string times(std::uint64_t count) {
    return count == 1 ? std::string() : fmt::format(" {} times", count);
}

// Not a call that was refused: something that was there when the command had ended.
std::string set_aside_line(const sandbox::Denial& denial) {
    if (denial.operation == "look")
        return fmt::format("not looked at: {} ({})", denial.target, denial.rule);
    if (denial.moved_to.empty())
        return fmt::format(
            "cannot be moved aside: {} ({}); remove it before git or an agent uses it",
            target_of(denial), core::visible(denial.rule));
    return fmt::format("moved aside: {} ({}); {} brings it back", target_of(denial),
                       core::visible(denial.rule), denial.allow);
}

} // namespace

int status_of_failure(const Error& failure) {
    if (failure.path == "cwd") return status_not_run; // see os::describe()
    if (failure.kind == ErrorKind::spawn_not_found) return status_not_found;
    if (failure.kind == ErrorKind::spawn_failed) return status_not_executable;
    return status_not_run;
}

void report_error(const Error& error) {
    say(core::visible(error.message));
    if (!error.hint.empty()) say(fmt::format("hint: {}", core::visible(error.hint)));
}

void report_warning(const Error& warning) {
    const std::string hint = warning.hint.empty() ? "" : "; " + core::visible(warning.hint);
    say(fmt::format("warning: {}{}", core::visible(warning.message), hint));
}

void report_withheld(const std::vector<std::string>& names) {
    constexpr std::size_t most = 8;
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        list += (list.empty() ? "" : ", ") + core::visible(names[i]);
    if (names.size() > most) list += fmt::format(" and {} more", names.size() - most);
    say(fmt::format("withheld, since they look like secrets: {} (environment.default_excludes = "
                    "false passes them on)",
                    list));
}

void report_missing(sandbox::GuaranteeSet missing, const std::vector<std::string>& notes) {
    for (const sandbox::Guarantee guarantee : missing.list())
        say(fmt::format("not guaranteed here: {} ({})", name_of(guarantee), meaning_of(guarantee)));
    for (const std::string& note : notes)
        say(core::visible(note));
}

void report_denials(const sandbox::DenialLog& denials) {
    std::uint64_t told = 0;
    std::size_t lines = 0;
    for (const sandbox::Denial& denial : denials.kept()) {
        if (++lines > most_lines) break;
        told += denial.count;
        say(denial.kind == sandbox::DenialKind::set_aside
                ? set_aside_line(denial)
                : fmt::format("refused{}: {} {} ({})", times(denial.count), denial.operation,
                              target_of(denial), way_out(denial)));
    }
    if (denials.total() > told) say(fmt::format("refused: {} more", denials.total() - told));
}

} // namespace ew::cli
