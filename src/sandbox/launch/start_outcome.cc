#include "sandbox/launch/start_outcome.h"

#include "os/io.h"
#include "sandbox/policy/troubles.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

constexpr std::size_t longest_complaint = 2048; // bytes of bubblewrap's messages

std::string_view step_name(std::uint32_t step) {
    switch (static_cast<wire::Step>(step)) {
    case wire::Step::namespaces: return "entering its namespaces";
    case wire::Step::build: return "making its mounts";
    case wire::Step::proc: return "mounting its /proc";
    case wire::Step::order: return "reading its order";
    case wire::Step::process: return "creating its process";
    case wire::Step::session: return "making it a session leader";
    case wire::Step::terminal: return "giving it its terminal";
    case wire::Step::limits: return "setting its resource limits";
    case wire::Step::directory: return "entering its working directory";
    case wire::Step::capabilities: return "dropping its capabilities";
    case wire::Step::privileges: return "forbidding it new privileges";
    case wire::Step::mounts: return "checking what its sandbox shows";
    case wire::Step::landlock: return "enforcing Landlock";
    case wire::Step::filter: return "installing the system call filter";
    case wire::Step::report: return "reporting that it is confined";
    case wire::Step::exec: return "executing it";
    }
    return "starting it";
}

Error describe_failure(const StartReport& report, const os::SpawnRequest& request) {
    const wire::Record& record = report.record;
    const auto step = static_cast<wire::Step>(record.step);
    const auto error_number = static_cast<std::int32_t>(record.value);
    if (step == wire::Step::exec) return os::describe({os::StartStep::exec, error_number}, request);
    if (step == wire::Step::directory)
        return os::describe({os::StartStep::directory, error_number}, request);
    if (step == wire::Step::mounts)
        return {ErrorKind::sandbox_unavailable,
                fmt::format("the command was not run: its sandbox shows something else than was "
                            "planned at '{}': {}",
                            report.text, ::strerror(error_number)),
                "something in the workspace was moved while the sandbox was made: try again"};
    if (step == wire::Step::build)
        return {ErrorKind::sandbox_unavailable,
                fmt::format("the command was not run: {} failed at '{}': {}",
                            step_name(record.step), report.text, ::strerror(error_number)),
                "execward doctor tells what this machine can enforce"};
    const bool is_of_program = step == wire::Step::terminal || step == wire::Step::limits;
    return {is_of_program ? ErrorKind::spawn_failed : ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: {} failed: {}", step_name(record.step),
                        ::strerror(error_number)),
            is_of_program ? "" : "execward doctor tells what this machine can enforce"};
}

bool is_of_machine(const wire::Record& record) {
    const auto step = static_cast<wire::Step>(record.step);
    if (is_exhaustion(static_cast<std::int32_t>(record.value))) return false;
    return step == wire::Step::namespaces || step == wire::Step::build ||
           step == wire::Step::proc || step == wire::Step::capabilities ||
           step == wire::Step::privileges || step == wire::Step::landlock ||
           step == wire::Step::filter;
}

// Returns the messages that bubblewrap wrote to the output of the program. The program has not run.
std::string complaint_in(const os::Spawned& spawned) {
    const int fd = spawned.error ? spawned.error.get() : spawned.output.get();
    std::string text(longest_complaint, '\0');
    const os::IoResult result = os::read_some(fd, text.data(), text.size());
    text.resize(result.state == os::IoState::progress ? result.count : 0);
    std::erase(text, '\r');
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ') c = ' ';
    return text;
}

// Does bubblewrap's message say that a source or a place of a mount is missing? (bind-mount.c,
// bubblewrap.c of version 0.8)
bool is_about_what_is_gone(std::string_view complaint) {
    return complaint.find("No such file or directory") != std::string_view::npos ||
           complaint.find("in mount table") != std::string_view::npos ||
           complaint.find("Unable to remount destination") != std::string_view::npos;
}

} // namespace

StartOutcome refused_start(const StartReport& report) {
    const std::vector<std::string> texts = report.texts();
    return {Error{static_cast<ErrorKind>(report.record.value),
                  texts.empty() ? "the sandbox could not be made" : texts[0],
                  texts.size() > 1 ? texts[1] : "", texts.size() > 2 ? texts[2] : ""}};
}

StartOutcome failed_start(const StartReport& report, const os::SpawnRequest& request) {
    return {describe_failure(report, request), is_of_machine(report.record),
            static_cast<wire::Step>(report.record.step) == wire::Step::mounts};
}

StartOutcome unreported_end(const os::Spawned& spawned) {
    const std::string complaint = complaint_in(spawned);
    if (is_about_what_is_gone(complaint))
        return {Error{ErrorKind::sandbox_unavailable,
                      fmt::format("the command was not run: what its sandbox was to show is gone: "
                                  "{}",
                                  complaint),
                      "something was moved or removed while the sandbox was made: try again"},
                false, true};
    return {Error{ErrorKind::sandbox_unavailable,
                  complaint.empty()
                      ? "the command was not run: its sandbox ended before it was in force"
                      : fmt::format("the command was not run: its sandbox could not be made: {}",
                                    complaint),
                  "execward doctor tells what this machine can enforce"},
            true};
}

} // namespace ew::sandbox
