// The logger belongs to the whole process, so each scene plays in a child of its own.
#include "base/log.h"
#include "os/io.h"
#include "support/child_process.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <fcntl.h>
#include <poll.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace logging = ew::log;

namespace {

// What a logger with these settings writes while `scene` plays.
template <class Scene>
std::string logged(logging::Settings settings, Scene scene) {
    return ew::test::in_child([&] {
               (void)logging::configure(settings); // stderr cannot fail to open
               scene();
               return true;
           })
        .errors;
}

// Fills the pipe on stderr up to the last byte it takes.
void fill_stderr() {
    const int flags = ::fcntl(STDERR_FILENO, F_GETFL);
    (void)::fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    const std::string block(512, '.');
    while (::write(STDERR_FILENO, block.data(), block.size()) > 0)
        continue;
    (void)::fcntl(STDERR_FILENO, F_SETFL, flags);
}

// A pipe on stderr whose other end is here too, so that it can be full and be emptied.
ew::UniqueFd own_pipe_as_stderr() {
    int ends[2] = {-1, -1};
    (void)!::pipe(ends);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    return ew::UniqueFd(ends[0]);
}

std::string drain(int fd) {
    std::string all(1 << 20, '\0');
    all.resize(static_cast<std::size_t>(::read(fd, all.data(), all.size())));
    return all;
}

} // namespace

TEST_SUITE_BEGIN("base/log");

TEST_CASE("a text line names program, level and component") {
    const std::string line = logged({}, [] { logging::warning("pump", "{} bytes lost", 7); });

    CHECK(line == "execward: warning pump: 7 bytes lost\n");
}

TEST_CASE("lines above the level are left out") {
    const std::string lines = logged({.level = logging::Level::info}, [] {
        logging::debug("a", "not this");
        logging::info("a", "this");
        logging::line(logging::Level::error, "a", "and this");
    });

    CHECK(lines == "execward: info a: this\nexecward: error a: and this\n");
}

TEST_CASE("a json line is a JSON object whatever the message holds") {
    const std::string line = logged({.format = logging::Format::json},
                                    [] { logging::warning("a", "quote \" backslash \\ tab \t"); });

    ew::test::Parsed parsed(line);
    REQUIRE(parsed.is_json());
    std::string_view text;
    REQUIRE(parsed.element()["message"].get(text) == simdjson::SUCCESS);
    CHECK(text == "quote \" backslash \\ tab \t");
    REQUIRE(parsed.element()["level"].get(text) == simdjson::SUCCESS);
    CHECK(text == "warning");
    REQUIRE(parsed.element()["component"].get(text) == simdjson::SUCCESS);
    CHECK(text == "a");
    REQUIRE(parsed.element()["time"].get(text) == simdjson::SUCCESS);
    CHECK(text.size() == std::string_view("2026-01-31T23:59:59.999Z").size());
}

TEST_CASE("control characters in a message are made visible") {
    const std::string line = logged(
        {}, [] { logging::warning("a", "\x1b[2J{}\nsecond line\x7f", std::string(1, '\0')); });

    CHECK(line == "execward: warning a: \\u001b[2J\\u0000\\u000asecond line\\u007f\n");
}

TEST_CASE("a long text message is cut to a line that a pipe takes whole") {
    const std::string line =
        logged({}, [] { logging::warning("a", "{}", std::string(100'000, '\n')); });

    CHECK(line.size() <= 4096);
    CHECK(line.back() == '\n');
}

TEST_CASE("a long json message is cut too, and the line stays JSON that a pipe takes whole") {
    for (const std::string_view character : {"x", "\n", "\xe2\x82\xac"}) {
        std::string message = "#";
        for (int i = 0; i < 10'000; ++i)
            message += character;
        const std::string line = logged({.format = logging::Format::json},
                                        [&] { logging::warning("a", "{}", message); });

        CAPTURE(character);
        CHECK(line.size() <= 4096);
        CHECK(ew::test::Parsed(line).is_json());
    }
}

TEST_CASE("a log file is appended to") {
    std::string path = "/tmp/execward-log-XXXXXX";
    ::close(::mkstemp(path.data()));
    std::ofstream(path) << "before\n";

    const std::string on_stderr =
        logged({.file = path}, [] { logging::warning("a", "into the file"); });

    std::ifstream file(path);
    const std::string content(std::istreambuf_iterator<char>(file), {});
    CHECK(on_stderr.empty());
    CHECK(content == "before\nexecward: warning a: into the file\n");
    ::unlink(path.c_str());
}

TEST_CASE("a log file that cannot be opened is an error with its name") {
    const auto outcome = ew::test::in_child([] {
        ew::Result<void> result = logging::configure({.file = "/nowhere/log"});
        return !result && result.error().message.find("'/nowhere/log'") != std::string::npos;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("a full stderr pipe holds nobody up") {
    const auto outcome = ew::test::in_child([] {
        const ew::UniqueFd unread = own_pipe_as_stderr();
        fill_stderr();

        logging::warning("a",
                         "dropped"); // blocks for good if it is not dropped; alarm(2) would end us

        return true;
    });

    CHECK(outcome.is_true);
}

TEST_CASE("lines that were dropped are counted in the next one that gets through") {
    const auto outcome = ew::test::in_child([] {
        const ew::UniqueFd reader = own_pipe_as_stderr();
        fill_stderr();
        logging::warning("a", "dropped");
        logging::warning("a", "dropped");
        (void)drain(reader.get());

        logging::warning("a", "third");
        logging::warning("a", "fourth");

        return drain(reader.get()) ==
               "execward: warning a: third (2 lines before this one were dropped)\n"
               "execward: warning a: fourth\n";
    });

    CHECK(outcome.is_true);
}

TEST_CASE("the count of dropped lines is a member of a json line") {
    const auto outcome = ew::test::in_child([] {
        const ew::UniqueFd reader = own_pipe_as_stderr();
        (void)logging::configure({.format = logging::Format::json}); // stderr cannot fail to open
        fill_stderr();
        logging::warning("a", "dropped");
        (void)drain(reader.get());

        logging::warning("a", "second");

        ew::test::Parsed parsed(drain(reader.get()));
        std::uint64_t dropped = 0;
        return parsed.is_json() && parsed.element()["dropped"].get(dropped) == simdjson::SUCCESS &&
               dropped == 1;
    });

    CHECK(outcome.is_true);
}

TEST_SUITE_END();
