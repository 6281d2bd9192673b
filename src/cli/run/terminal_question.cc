#include "cli/run/terminal_question.h"

#include "core/text/display.h"
#include "core/text/long_words.h"
#include "os/file_lock.h"
#include "os/io.h"
#include "server/exec/exec_results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
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

constexpr std::size_t indent = 13; // columns in front of each value

// Each run is a session of its own, so answers for a session have no key. A rule for more words is
// not offered: see execward approvals grant.
constexpr auto keys =
    std::to_array<Key>({{'y', ApprovalDecision::approved, {}},
                        {'p', ApprovalDecision::approved_for_session, ApprovalScope::project},
                        {'a', ApprovalDecision::approved_for_session, ApprovalScope::always},
                        {'n', ApprovalDecision::denied, {}},
                        {'d', ApprovalDecision::denied, ApprovalScope::always}});

// Returns the letter of the choice, or 0.
char letter_of(const protocol::ApprovalChoice& choice) {
    const auto* const key = std::ranges::find_if(keys, [&](const Key& one) {
        return one.decision == choice.decision && one.scope == choice.scope;
    });
    return key == keys.end() ? '\0' : key->letter;
}

// Long rows of blanks would push what stands behind them out of view, or to where a person expects
// a text of ours.
std::string without_gaps(std::string_view text) {
    constexpr std::size_t longest_gap = 8;
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_not_of(' ', at), text.size());
        const std::size_t blanks = end - at;
        shown += blanks > longest_gap ? fmt::format(" … ({} blanks) … ", blanks)
                                      : std::string(blanks, ' ');
        const std::size_t next = std::min(text.find(' ', end), text.size());
        shown += text.substr(end, next - end);
        at = next;
    }
    return shown;
}

constexpr std::size_t longest_begin = 1'000;
constexpr std::size_t longest_end = 300;

// Breaks lines, so that nothing but our own words begins one. A character that may take two columns
// counts as two.
std::string wrapped(std::string_view text, std::size_t width) {
    std::string lines;
    std::size_t column = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool begins = (byte & 0xc0) != 0x80;
        const std::size_t columns = byte < 0x80 ? 1 : 2;
        if (begins && column + columns > width) {
            lines += fmt::format("\n{:{}}", "", indent);
            column = 0;
        }
        if (begins) column += columns;
        lines += c;
    }
    return lines;
}

std::size_t width_of(int terminal) {
    constexpr std::size_t usual = 80;
    constexpr std::size_t least = 20; // columns behind the indent
    winsize size = {};
    const bool is_known = ::ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::size_t columns = is_known ? size.ws_col : usual;
    return std::max(columns, indent + least) - indent;
}

// A program that runs may have begun a sequence in which the terminal shows nothing, or have set
// its colours, character set or margins: CAN, ST, DECSTR, SGR and the usual character set end that.
constexpr std::string_view leave_sequences = "\x18\x1b\\\x1b[!p\x1b[0m\x1b(B\x0f";

// The texts of `display` have no control characters.
std::string text_of(const protocol::ApprovalRequest& request, std::size_t width) {
    const protocol::ApprovalDisplay& display = request.display;
    std::string text = "execward: may this command run?\n";
    if (request.network)
        text =
            fmt::format("{}\nexecward: may this command connect to {}, port {}?\n", leave_sequences,
                        core::visible(request.network->host), request.network->port);
    const auto add = [&](std::string_view name, std::string_view value) {
        text += fmt::format(
            "  {:<9}  {}\n", name,
            wrapped(core::without_middle(without_gaps(value), longest_begin, longest_end), width));
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

// Such as "y/p/a/n/d".
std::string letters_of(const protocol::ApprovalRequest& request) {
    std::string letters;
    for (const protocol::ApprovalChoice& choice : request.available_decisions)
        if (const char letter = letter_of(choice); letter != 0)
            letters += fmt::format("{}{}", letters.empty() ? "" : "/", letter);
    return letters;
}

// Tells whether this process was stopped and goes on, as after Ctrl-Z and fg: SIGCONT, which comes
// only while wait() waits.
class Continuing {
public:
    Continuing() {
        struct sigaction action = {};
        action.sa_handler = [](int) { continued() = 1; };
        (void)::sigaction(SIGCONT, &action, &before_); // cannot fail for this signal
        sigemptyset(&only_);
        sigaddset(&only_, SIGCONT);
        (void)::sigprocmask(SIG_BLOCK, &only_, &usual_);
        waiting_ = usual_;
        sigdelset(&waiting_, SIGCONT);
    }

    ~Continuing() {
        (void)::sigprocmask(SIG_SETMASK, &usual_, nullptr);
        (void)::sigaction(SIGCONT, &before_, nullptr);
    }

    Continuing(const Continuing&) = delete;
    Continuing& operator=(const Continuing&) = delete;

    // Forgets what has come until now.
    void forget() {
        while (take_pending()) {}
        continued() = 0;
    }

    bool has_come() const { return continued() != 0; }

    // Returns true if the terminal has input.
    bool wait(int terminal, Millis time) const {
        pollfd polled = {terminal, POLLIN, 0};
        const std::int64_t millis = time.count();
        const timespec longest = {millis / 1000, millis % 1000 * 1'000'000};
        const bool has_input = ::ppoll(&polled, 1, &longest, &waiting_) > 0;
        if (take_pending()) continued() = 1; // ppoll(2) leaves it pending if there is input
        return has_input;
    }

private:
    // Set by the signal's handler.
    static volatile std::sig_atomic_t& continued() {
        static volatile std::sig_atomic_t has_continued = 0;
        return has_continued;
    }

    bool take_pending() const {
        const timespec at_once = {};
        return ::sigtimedwait(&only_, nullptr, &at_once) > 0;
    }

    struct sigaction before_ = {};
    sigset_t only_ = {};
    sigset_t waiting_ = {};
    sigset_t usual_ = {};
};

struct Typed {
    bool is_late = false;
    bool is_anew = false;  // the process was stopped meanwhile: the question is to be shown again
    std::string line = {}; // empty at the end of the input
};

Typed line_from(int terminal, std::optional<TimePoint> deadline, const Continuing& continuing) {
    constexpr Millis longest{60'000};
    Typed typed;
    while (!typed.line.ends_with('\n')) {
        const Millis left = deadline ? std::chrono::ceil<Millis>(*deadline - clock_now()) : longest;
        if (left.count() <= 0) return {.is_late = true};
        const bool has_input = continuing.wait(terminal, std::min(left, longest));
        if (continuing.has_come()) return {.is_anew = true};
        if (!has_input) continue;
        char byte = 0;
        const ssize_t count = ::read(terminal, &byte, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return {};
        typed.line += byte;
    }
    return typed;
}

// Makes the lines that are typed end, be seen and be edited, as a program may have left them raw.
class LineMode {
public:
    explicit LineMode(int terminal) : terminal_(terminal) {
        if (::tcgetattr(terminal, &before_) != 0) return;
        wanted_ = before_;
        wanted_.c_lflag |= ICANON | ECHO | ISIG;
        wanted_.c_iflag |= ICRNL;
        wanted_.c_oflag |= OPOST | ONLCR;
        is_set_ = ::tcsetattr(terminal, TCSANOW, &wanted_) == 0;
    }

    // Others may have changed it meanwhile. Stops us in the background.
    void set_again() const {
        if (is_set_) (void)::tcsetattr(terminal_, TCSANOW, &wanted_);
    }

    LineMode(const LineMode&) = delete;
    LineMode& operator=(const LineMode&) = delete;

    ~LineMode() {
        if (is_set_) (void)::tcsetattr(terminal_, TCSANOW, &before_); // it may be gone
    }

private:
    int terminal_;
    termios before_ = {};
    termios wanted_ = {};
    bool is_set_ = false;
};

// Returns a descriptor whose lock means this terminal. /dev/tty itself is one file for all
// terminals of the machine.
UniqueFd lock_of(int terminal) {
    unsigned int device = 0;
    if (::ioctl(terminal, TIOCGDEV, &device) != 0) return {};
    UniqueFd named(::open(fmt::format("/dev/pts/{}", minor(device)).c_str(),
                          O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    struct stat status = {};
    const bool is_it = named && ::fstat(named.get(), &status) == 0 && status.st_rdev == device;
    return is_it ? std::move(named) : UniqueFd();
}

// Two questions at a time on one terminal could get each other's answers. Returns false if another
// one is not answered in time.
bool wait_for_turn(int terminal, int lock, std::optional<TimePoint> deadline) {
    (void)::tcdrain(terminal); // stops us in the background, before we keep others waiting
    if (lock < 0 || os::lock_within(lock, LOCK_EX, Millis(500)) || errno != EWOULDBLOCK)
        return true;
    (void)os::write_all(terminal, "execward: another question is open on this terminal\n");
    while (!deadline || clock_now() < *deadline) {
        constexpr int between_tries = 100; // ms
        (void)::poll(nullptr, 0, between_tries);
        if (os::lock_within(lock, LOCK_EX, Millis(0)) || errno != EWOULDBLOCK) return true;
    }
    return false;
}

} // namespace

UniqueFd own_terminal() {
    return UniqueFd(::open("/dev/tty", O_RDWR | O_CLOEXEC));
}

std::optional<protocol::ApprovalAnswer>
ask_on_terminal(int terminal, const protocol::ApprovalRequest& request, Millis patience) {
    std::optional<TimePoint> deadline;
    if (patience.count() > 0) deadline = clock_now() + patience;
    const UniqueFd lock = lock_of(terminal);
    if (!wait_for_turn(terminal, lock.get(), deadline)) return std::nullopt;
    const LineMode mode(terminal);
    Continuing continuing;
    (void)os::write_all(terminal, text_of(request, width_of(terminal)));
    const std::string letters = letters_of(request);
    while (true) {
        (void)::tcdrain(terminal);
        (void)::tcflush(terminal, TCIFLUSH); // what was typed before the question is no answer
        (void)os::write_all(terminal,
                            fmt::format("execward: your answer ({}, then Enter)? ", letters));
        const Typed typed = line_from(terminal, deadline, continuing);
        if (typed.is_anew) {
            mode.set_again();
            continuing.forget();
            (void)os::write_all(terminal, "\n" + text_of(request, width_of(terminal)));
            continue;
        }
        if (typed.line.empty()) (void)os::write_all(terminal, "\n");
        if (typed.is_late) return std::nullopt;
        if (typed.line.empty()) return protocol::ApprovalAnswer{};
        for (const protocol::ApprovalChoice& choice : request.available_decisions)
            if (const char letter = letter_of(choice);
                letter != 0 && typed.line == fmt::format("{}\n", letter))
                return protocol::ApprovalAnswer{choice.decision, choice.scope};
    }
}

} // namespace ew::cli
