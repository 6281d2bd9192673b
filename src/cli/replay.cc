// execward replay: shows a transcript, or plays it against a server and shows the differences.
#include "cli/replay.h"

#include "cli/schema_text.h"
#include "cli/shared/printing.h"
#include "cli/shared/whole_file.h"
#include "core/text/display.h"
#include "transcript/listing.h"
#include "transcript/player.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward replay FILE
       execward replay --run [OPTION…] FILE [-- SERVER [ARGUMENT…]]

Shows a recorded session: the client's and the server's messages, when they passed and what they
say. Starts nothing.

With --run: plays the client's side against a fresh server, which runs the recorded commands again.
Compares what the server says with what is written, and prints the first difference. Without SERVER,
this program is the server. The server starts in an empty directory, with empty settings and no
approvals; its commands can act on other directories that the recording names, as far as the server
lets them. Each question is answered with "denied", and a recording that sets its own policy, or
that acts without asking the server to decide, is not played.
)";

constexpr auto options = std::to_array<Option>({
    {"run", "", "play the recording against a server, which runs its commands"},
    {"trust-recording", "",
     "with --run: play everything, and give the recorded answers to questions; meant for tests"},
    {"timeout", "SECONDS", "how long to wait for each message that is expected", "30"},
});

constexpr std::string_view notes =
    R"(Example:
  execward serve --record session.transcript    let a client talk to this, then
  execward replay session.transcript            read what was said

Exit status: 0 it was shown, or with --run everything was as written; 1 the file could not be read,
or with --run something was not as written or must not be played; 2 usage.
)";

constexpr auto actions = std::to_array<Action>(
    {{{}, {.name = "FILE", .least = 1, .most = Operands::any, .is_command = true}}});

constexpr std::int64_t longest_timeout = 24 * std::int64_t{3600}; // seconds

int fail(std::string_view file, std::string_view why) {
    fmt::print(stderr, "{}:{}\n", core::visible(file), why);
    return status_failure;
}

void announce(const std::string& file, const transcript::PlaySettings& settings) {
    fmt::print(
        stderr,
        "execward: plays {} against a server in an empty directory, with empty settings; {}\n",
        core::visible(file),
        settings.trusts_recording
            ? "runs what it says, and gives the recorded answers to questions"
            : "runs what that server allows, and answers questions with denied");
}

int play(const std::string& file, const std::vector<transcript::Step>& steps,
         const transcript::PlaySettings& settings) {
    Result<transcript::Shapes> shapes = transcript::Shapes::parse(protocol_json(), types_json());
    if (!shapes) return fail(file, " the schema cannot be read");
    announce(file, settings);
    (void)std::signal(SIGPIPE, SIG_IGN); // writing to a server that has ended fails with EPIPE
    const std::optional<transcript::Discord> discord = transcript::play(steps, *shapes, settings);
    if (!discord) return status_ok;
    fmt::print(stderr, "{}", transcript::describe(*discord, file));
    return status_failure;
}

int replay(const Arguments& arguments) {
    transcript::PlaySettings settings;
    settings.trusts_recording = arguments.has("trust-recording");
    if (const std::optional<std::string> timeout = arguments.value("timeout")) {
        const std::optional<std::int64_t> seconds = whole_number(*timeout, 1, longest_timeout);
        if (!seconds) return arguments.refuse("--timeout takes a number of seconds from 1");
        settings.patience = Millis(*seconds * 1000);
    }
    const bool is_played = arguments.has("run");
    const std::vector<std::string>& words = arguments.operands();
    const std::string& file = words.front();
    if (words.size() > 1 && words[1] != "--")
        return arguments.refuse("what follows the FILE must be -- and a server");
    if (!is_played && (words.size() > 1 || arguments.has("timeout") || settings.trusts_recording))
        return arguments.refuse("a server, --timeout and --trust-recording go with --run");
    if (words.size() > 2) settings.server.assign(words.begin() + 2, words.end());
    settings.has_test_ids = settings.server.empty();
    if (settings.server.empty()) settings.server = {"/proc/self/exe", "serve"};

    const std::optional<std::string> text = read_file(file);
    if (!text) return fail(file, fmt::format(" cannot be read: {}", strerror(errno)));
    Result<std::vector<transcript::Step>> steps = transcript::parse_transcript(*text);
    if (!steps) return fail(file, steps.error().message);
    if (is_played) return play(file, *steps, settings);
    std::string shown = transcript::listing(*text, *steps);
    if (shown.ends_with('\n')) shown.pop_back(); // print_line() adds it
    if (!shown.empty()) print_line(shown);
    return finish(status_ok);
}

} // namespace

constinit const Command replay_command = {
    .name = "replay",
    .summary = "show a recorded session, or play it against a server",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = replay};

} // namespace ew::cli
