// execward replay: plays a transcript against a server and shows where the server differs.
#include "cli/replay.h"

#include "cli/schema_text.h"
#include "cli/shared/printing.h"
#include "transcript/player.h"

#include <fmt/core.h>
#include <getopt.h>

#include <array>
#include <cerrno>
#include <charconv>
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

constexpr std::string_view help =
    R"(Usage: execward replay [OPTION…] FILE [-- SERVER [ARGUMENT…]]

Plays the client's side of a transcript against a fresh server, and compares what the server says
with what is written. Without SERVER, this program is the server. Prints nothing when all of it
fits, else the first difference.

  --timeout=SECONDS  how long to wait for each message that is expected (30)
  -h, --help         show this help

Example:
  execward serve --record session.transcript    let a client talk to this, then
  execward replay session.transcript            see whether it still goes the same way

Exit status: 0 everything was as written, 1 something was not, 2 usage.
)";

struct Options {
    std::string file;
    transcript::PlaySettings play;
    bool wants_help = false;
};

// A line on stderr that says why.
std::nullopt_t refuse(std::string_view why) {
    fmt::print(stderr, "execward: {}; see execward replay --help\n", why);
    return std::nullopt;
}

std::optional<int> parse_seconds(std::string_view text) {
    constexpr int most = 24 * 3600;
    int seconds = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    if (!is_whole || seconds < 1 || seconds > most) return std::nullopt;
    return seconds;
}

// Absent: they cannot be meant, and a line has said why.
std::optional<Options> parse(int argc, char** argv) {
    constexpr std::array<option, 3> long_options = {{
        {"timeout", required_argument, nullptr, 't'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    }};
    Options options;
    // "+": the first argument that is no option ends the options, so that the server keeps its own.
    for (int found = 0;
         (found = ::getopt_long(argc, argv, "+h", long_options.data(), nullptr)) != -1;) {
        if (found == '?') return refuse("the options are wrong");
        if (found == 'h') options.wants_help = true;
        if (found != 't') continue;
        const std::optional<int> seconds = parse_seconds(optarg);
        if (!seconds) return refuse("--timeout takes a number of seconds from 1");
        options.play.patience = Millis(*seconds * 1000);
    }
    if (options.wants_help) return options;
    if (optind >= argc) return refuse("a FILE is needed");
    options.file = argv[optind++];
    if (optind < argc && std::string_view(argv[optind++]) != "--")
        return refuse("what follows the FILE must be -- and a server");
    while (optind < argc)
        options.play.server.emplace_back(argv[optind++]);
    if (options.play.server.empty())
        options.play.server = {"/proc/self/exe", "serve", "--test-ids"};
    return options;
}

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

} // namespace

int replay(int argc, char** argv) {
    std::optional<Options> options = parse(argc, argv);
    if (!options) return status_usage;
    if (options->wants_help) {
        fmt::print("{}", help);
        return status_ok;
    }
    const std::optional<std::string> text = read_file(options->file);
    if (!text) return fail(options->file, fmt::format(" cannot be read: {}", strerror(errno)));
    Result<std::vector<transcript::Step>> steps = transcript::parse_transcript(*text);
    if (!steps) return fail(options->file, steps.error().message);
    Result<transcript::Shapes> shapes = transcript::Shapes::parse(protocol_json(), types_json());
    if (!shapes) return fail(options->file, " the schema cannot be read");

    (void)std::signal(SIGPIPE, SIG_IGN); // a server that is gone is an error of write
    const std::optional<transcript::Discord> discord =
        transcript::play(*steps, *shapes, options->play);
    if (!discord) return status_ok;
    fmt::print(stderr, "{}", transcript::describe(*discord, options->file));
    return status_failure;
}

} // namespace ew::cli
