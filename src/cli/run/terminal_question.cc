#include "cli/run/terminal_question.h"

#include "os/io.h"
#include "server/exec/exec_results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

namespace {

using protocol::ApprovalDecision;
using protocol::ApprovalScope;

struct Key {
    char letter;
    ApprovalDecision decision;
    std::optional<ApprovalScope> scope;
};

// Each run is a session of its own, so answers for a session have no key. A rule for more words is
// not offered: see execward approvals grant.
constexpr auto keys =
    std::to_array<Key>({{'y', ApprovalDecision::approved, {}},
                        {'p', ApprovalDecision::approved_for_session, ApprovalScope::project},
                        {'a', ApprovalDecision::approved_for_session, ApprovalScope::always},
                        {'n', ApprovalDecision::denied, {}}});

// Returns the letter of the choice, or 0.
char letter_of(const protocol::ApprovalChoice& choice) {
    const auto* const key = std::ranges::find_if(keys, [&](const Key& one) {
        return one.decision == choice.decision && one.scope == choice.scope;
    });
    return key == keys.end() ? '\0' : key->letter;
}

// The texts of `display` are safe on a terminal.
std::string text_of(const protocol::ApprovalRequest& request) {
    const protocol::ApprovalDisplay& display = request.display;
    std::string text = "execward: may this command run?\n";
    const auto add = [&text](std::string_view name, std::string_view value) {
        text += fmt::format("  {:<9}  {}\n", name, value);
    };
    add("command", display.command);
    add("program", display.program);
    add("directory", display.workdir);
    add("sandbox", server::text_of(request.sandbox));
    add("reason", display.reason);
    for (const std::string& note : display.notes)
        add("note", note);
    if (display.has_invisible_characters || display.has_mixed_scripts)
        add("note", "Some of its characters cannot be seen, or look like others.");
    for (const protocol::ApprovalChoice& choice : request.available_decisions)
        if (const char letter = letter_of(choice); letter != 0)
            add(std::string_view(&letter, 1), choice.description);
    return text;
}

// Returns the next line, which is empty at the end of the input. Returns nullopt if it does not
// arrive in time.
std::optional<std::string> line_from(int terminal, std::optional<TimePoint> deadline) {
    std::string line;
    while (!line.ends_with('\n')) {
        pollfd polled = {terminal, POLLIN, 0};
        const auto left =
            deadline ? std::chrono::ceil<Millis>(*deadline - clock_now()) : Millis(-1);
        if (deadline && left.count() <= 0) return std::nullopt;
        constexpr std::int64_t longest = 60'000;
        (void)::poll(&polled, 1, static_cast<int>(std::min<std::int64_t>(left.count(), longest)));
        if (polled.revents == 0) continue;
        char byte = 0;
        const ssize_t count = ::read(terminal, &byte, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return std::string();
        line += byte;
    }
    return line;
}

} // namespace

UniqueFd own_terminal() {
    return UniqueFd(::open("/dev/tty", O_RDWR | O_CLOEXEC));
}

std::optional<protocol::ApprovalAnswer>
ask_on_terminal(int terminal, const protocol::ApprovalRequest& request, Millis patience) {
    std::optional<TimePoint> deadline;
    if (patience.count() > 0) deadline = clock_now() + patience;
    (void)::tcflush(terminal, TCIFLUSH); // what was typed before the question does not answer it
    (void)os::write_all(terminal, text_of(request));
    while (true) {
        (void)os::write_all(terminal, "execward: your answer? ");
        const std::optional<std::string> line = line_from(terminal, deadline);
        if (!line || line->empty()) (void)os::write_all(terminal, "\n");
        if (!line) return std::nullopt;
        if (line->empty()) return protocol::ApprovalAnswer{};
        for (const protocol::ApprovalChoice& choice : request.available_decisions)
            if (const char letter = letter_of(choice);
                letter != 0 && *line == fmt::format("{}\n", letter))
                return protocol::ApprovalAnswer{choice.decision, choice.scope};
    }
}

} // namespace ew::cli
