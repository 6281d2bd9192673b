// execward replay: plays a transcript against a server and shows the differences.
#include "cli/replay.h"

#include "cli/schema_text.h"
#include "cli/shared/printing.h"
#include "transcript/player.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward replay [OPTION…] FILE [-- SERVER [ARGUMENT…]]

Plays the client's side of a transcript against a fresh server, and compares what the server says
with what is written. Without SERVER, this program is the server. Prints nothing when all of it
fits, else the first difference.
)";

constexpr auto options = std::to_array<Option>({
    {"timeout", "SECONDS", "how long to wait for each message that is expected", "30"},
});

constexpr std::string_view notes =
    R"(Example:
  execward serve --record session.transcript    let a client talk to this, then
  execward replay session.transcript            see whether it still goes the same way

Exit status: 0 everything was as written, 1 something was not, 2 usage.
)";

constexpr auto actions = std::to_array<Action>(
    {{{}, {.name = "FILE", .least = 1, .most = Operands::any, .is_command = true}}});

constexpr std::int64_t longest_timeout = 24 * std::int64_t{3600}; // seconds

std::optional<std::string> read_file(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                               &std::fclose);
    if (!file) return std::nullopt;
    std::string text;
    std::array<char, 64 << 10> piece;
    for (std::size_t count = 1; count > 0;) {
        count = std::fread(piece.data(), 1, piece.size(), file.get());
        text.append(piece.data(), count);
    }
    if (std::ferror(file.get()) != 0) return std::nullopt;
    return text;
}

int fail(std::string_view file, std::string_view why) {
    fmt::print(stderr, "{}:{}\n", file, why);
    return status_failure;
}

int replay(const Arguments& arguments) {
    transcript::PlaySettings settings;
    if (const std::optional<std::string> timeout = arguments.value("timeout")) {
        const std::optional<std::int64_t> seconds = whole_number(*timeout, 1, longest_timeout);
        if (!seconds) return arguments.refuse("--timeout takes a number of seconds from 1");
        settings.patience = Millis(*seconds * 1000);
    }
    const std::vector<std::string>& words = arguments.operands();
    const std::string& file = words.front();
    if (words.size() > 1 && words[1] != "--")
        return arguments.refuse("what follows the FILE must be -- and a server");
    if (words.size() > 2) settings.server.assign(words.begin() + 2, words.end());
    settings.has_test_ids = settings.server.empty();
    if (settings.server.empty()) settings.server = {"/proc/self/exe", "serve"};

    const std::optional<std::string> text = read_file(file);
    if (!text) return fail(file, fmt::format(" cannot be read: {}", strerror(errno)));
    Result<std::vector<transcript::Step>> steps = transcript::parse_transcript(*text);
    if (!steps) return fail(file, steps.error().message);
    Result<transcript::Shapes> shapes = transcript::Shapes::parse(protocol_json(), types_json());
    if (!shapes) return fail(file, " the schema cannot be read");

    (void)std::signal(SIGPIPE, SIG_IGN); // writing to a server that has ended fails with EPIPE
    const std::optional<transcript::Discord> discord = transcript::play(*steps, *shapes, settings);
    if (!discord) return status_ok;
    fmt::print(stderr, "{}", transcript::describe(*discord, file));
    return status_failure;
}

} // namespace

constinit const Command replay_command = {
    .name = "replay",
    .summary = "play a recorded session against a server and show what differs",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = replay};

} // namespace ew::cli
