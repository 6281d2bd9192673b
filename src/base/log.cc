#include "base/log.h"

#include "base/unique_fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <iterator>

namespace ew::log {

namespace {

constexpr std::array<std::string_view, 5> level_names = {"error", "warning", "info", "debug",
                                                         "trace"};

// poll() reports a pipe as writable when PIPE_BUF bytes fit (pipe(7)). A longer line could block.
constexpr std::size_t longest_line = PIPE_BUF - 64;
constexpr std::size_t longest_ending = 128; // length of the text behind the message

struct Logger {
    Settings settings;
    UniqueFd file;
    std::uint64_t dropped = 0;
};

Logger& logger() {
    // Never destroyed, because code may log while the program exits.
    static auto* const instance = new Logger; // NOLINT: the one exception to "no statics"
    return *instance;
}

bool can_take_a_line(int fd) {
    pollfd poll_fd = {fd, POLLOUT, 0};
    return ::poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLOUT) != 0;
}

void append_escaped(std::string& out, std::string_view text, Format format) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_inside_character = (byte & 0xc0) == 0x80;
        // A UTF-8 character has at most three bytes after its first byte.
        if (out.size() > longest_line - longest_ending + (is_inside_character ? 3 : 0)) return;
        if (format == Format::json && (c == '"' || c == '\\')) {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7f) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
        } else {
            out += c;
        }
    }
}

std::string timestamp() {
    timespec now = {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm utc = {};
    ::gmtime_r(&now.tv_sec, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       now.tv_nsec / 1'000'000);
}

std::string render(Level level, std::string_view component, std::string_view message,
                   std::uint64_t dropped) {
    const std::string_view name = level_names[static_cast<std::size_t>(level)];
    const Format format = logger().settings.format;
    std::string out;
    if (format == Format::json)
        out = fmt::format(R"({{"time":"{}","level":"{}","component":"{}","message":")", timestamp(),
                          name, component);
    else
        out = fmt::format("execward: {} {}: ", name, component);
    append_escaped(out, message, format);
    const bool json = format == Format::json;
    if (dropped > 0)
        out += json ? fmt::format(R"(","dropped":{}}})", dropped)
                    : fmt::format(" ({} lines before this one were dropped)", dropped);
    else if (json)
        out += "\"}";
    return out + '\n';
}

} // namespace

Result<void> configure(const Settings& settings) {
    Logger& log = logger();
    log.settings = settings;
    if (settings.file.empty()) return {};
    log.file = UniqueFd(::open(settings.file.c_str(),
                               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));
    if (log.file) return {};
    return Error{ErrorKind::internal,
                 fmt::format("cannot open the log file '{}': {}", settings.file, strerror(errno))};
}

bool enabled(Level level) {
    return level <= logger().settings.level;
}

void write(Level level, std::string_view component, std::string_view message) {
    Logger& log = logger();
    const int fd = log.file ? log.file.get() : STDERR_FILENO;
    if (!can_take_a_line(fd)) {
        ++log.dropped;
        return;
    }
    const std::string text = render(level, component, message, log.dropped);
    if (::write(fd, text.data(), text.size()) < 0)
        ++log.dropped;
    else
        log.dropped = 0;
}

} // namespace ew::log
