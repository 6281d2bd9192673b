// execward serve: the server. Reads options, takes over stdio, splits into keeper and worker.
#include "cli/serve.h"

#include "base/log.h"
#include "cli/shared/printing.h"
#include "config/config.h"
#include "config/paths.h"
#include "config/rule_files.h"
#include "keeper.h"
#include "os/io.h"
#include "os/signals.h"
#include "server/server.h"
#include "transcript/recorder.h"
#include "version.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <getopt.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace ew::cli {

namespace {

constexpr std::string_view help =
    R"(Usage: execward serve [OPTION…]

Serves one client over stdin and stdout: JSON-RPC 2.0, one message a line, or with Content-Length
headers. The client starts programs in terminals and pipes, sees their output, types, signals and
stops them. When stdin ends, or this process is ended, every program is ended too.

  --framing=auto|lines|headers  how messages are delimited; auto looks at the first byte (auto)
  --client-process-id=PID       end when this process ends
  --utf8-hold=MS                hold back the start of an unfinished character so long (500)
  --close-grace=MS              tell that a process is closed so long after its exit even if somebody
                                still holds its output open (wait as long as it takes)
  --sandbox=auto|require|forbid programs are started with or without a sandbox, as each start asks
                                for; only with one; only without (auto)
  --config=FILE                 settings, instead of $XDG_CONFIG_HOME/execward/config.toml
  --database=FILE               approvals and audit, instead of
                                $XDG_STATE_HOME/execward/execward.db; :memory: keeps nothing
  --record=FILE                 write what passes over the wire as a transcript
  --log-level=LEVEL             error, warning, info, debug or trace (warning)
  --log-format=text|json        how log lines look (text)
  --log-file=FILE               log there instead of to stderr
  --test-ids                    predictable ids, for tests
  -h, --help                    show this help

Every option can be given as an environment variable too: --log-level is EXECWARD_LOG_LEVEL. The
command line wins. Exit status: 0 the client closed in order, 1 it sent exit without shutdown or the
server could not start, 2 usage, 70 the server crashed, 128+N it was ended by signal N.
)";

struct Options {
    server::ServerSettings server;
    log::Settings log;
    std::string record;
    std::string config; // empty: the usual place
    std::string database;
    bool wants_help = false;
};

template <class Enum, std::size_t size>
bool parse_name(std::string_view text, const std::array<std::string_view, size>& names, Enum& out) {
    for (std::size_t i = 0; i < size; ++i) {
        if (names[i] != text) continue;
        out = static_cast<Enum>(i);
        return true;
    }
    return false;
}

std::optional<std::int64_t> parse_number(std::string_view text, std::int64_t least) {
    constexpr std::int64_t most = 2147483647;
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    if (!is_whole || number < least || number > most) return std::nullopt;
    return number;
}

// One option and its value. False: the value cannot be meant.
bool apply(Options& options, std::string_view name, std::string_view value) {
    constexpr std::array<std::string_view, 3> framings = {"auto", "lines", "headers"};
    constexpr std::array<std::string_view, 5> levels = {"error", "warning", "info", "debug",
                                                        "trace"};
    constexpr std::array<std::string_view, 2> formats = {"text", "json"};
    constexpr std::array<std::string_view, 3> selections = {"auto", "require", "forbid"};
    if (name == "sandbox") return parse_name(value, selections, options.server.processes.selection);
    if (name == "framing") return parse_name(value, framings, options.server.framing);
    if (name == "log-level") return parse_name(value, levels, options.log.level);
    if (name == "log-format") return parse_name(value, formats, options.log.format);
    if (name == "log-file") options.log.file = value;
    if (name == "record") options.record = value;
    if (name == "config") options.config = value;
    if (name == "database") options.database = value;
    if (name == "test-ids") options.server.has_test_ids = value != "0";
    if (name == "client-process-id") {
        const auto pid = parse_number(value, 1);
        if (pid) options.server.client_process = static_cast<pid_t>(*pid);
        return pid.has_value();
    }
    if (name == "utf8-hold") {
        const auto millis = parse_number(value, 0);
        if (millis) options.server.processes.output.utf8_hold = Millis(*millis);
        return millis.has_value();
    }
    if (name == "close-grace") {
        const auto millis = parse_number(value, 0);
        if (millis) options.server.processes.close_grace = Millis(*millis);
        return millis.has_value();
    }
    return true;
}

constexpr std::array<option, 14> long_options = {{
    {"framing", required_argument, nullptr, 0},
    {"client-process-id", required_argument, nullptr, 0},
    {"utf8-hold", required_argument, nullptr, 0},
    {"close-grace", required_argument, nullptr, 0},
    {"sandbox", required_argument, nullptr, 0},
    {"record", required_argument, nullptr, 0},
    {"config", required_argument, nullptr, 0},
    {"database", required_argument, nullptr, 0},
    {"log-level", required_argument, nullptr, 0},
    {"log-format", required_argument, nullptr, 0},
    {"log-file", required_argument, nullptr, 0},
    {"test-ids", no_argument, nullptr, 0},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

std::string variable_of(std::string_view option_name) {
    std::string variable = "EXECWARD_";
    for (const char c : option_name)
        variable += c == '-' ? '_' : static_cast<char>(c - ('a' <= c && c <= 'z' ? 32 : 0));
    return variable;
}

Result<void> wrong(std::string_view name, std::string_view value) {
    return Error{
        ErrorKind::internal,
        fmt::format("{}: '{}' is not a value it takes; see execward serve --help", name, value)};
}

Result<Options> parse(int argc, char** argv) {
    Options options;
    for (const option& known : long_options) {
        if (known.name == nullptr || known.val == 'h') continue;
        const std::string variable = variable_of(known.name);
        const char* const value = std::getenv(variable.c_str());
        if (value != nullptr && !apply(options, known.name, value)) TRY(wrong(variable, value));
    }
    int index = 0;
    for (int found = 0;
         (found = ::getopt_long(argc, argv, "h", long_options.data(), &index)) != -1;) {
        if (found == 'h') options.wants_help = true;
        if (found == '?')
            return Error{ErrorKind::internal, "see execward serve --help"}; // getopt has said why
        if (found != 0) continue;
        const char* const name = long_options[static_cast<std::size_t>(index)].name;
        const char* const value = optarg != nullptr ? optarg : "1";
        if (!apply(options, name, value)) TRY(wrong(fmt::format("--{}", name), value));
    }
    if (optind < argc)
        return Error{
            ErrorKind::internal,
            fmt::format("'{}' is one argument too many; see execward serve --help", argv[optind])};
    return options;
}

// What a session starts from: the configuration, and where things are.
Result<server::SessionSetup> set_up(const Options& options) {
    server::SessionSetup setup;
    setup.paths = config::Paths::from_environment();
    setup.system_rules_directory = system_rules_directory;
    const bool is_asked_for = !options.config.empty();
    setup.config = TRY(config::load_config(is_asked_for ? options.config : setup.paths.config_file,
                                           is_asked_for ? config::WhenMissing::fail
                                                        : config::WhenMissing::use_defaults))
                       .config;
    if (!options.database.empty()) setup.config.database = options.database;
    if (is_asked_for) // for those who have to keep programs away from it
        setup.paths.config_file = os::real_path(options.config).value_or(options.config);
    return setup;
}

// From here on nothing that writes to descriptor 1 can get between two messages.
void move_stdio_away() {
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    (void)::dup2(nothing.get(), STDIN_FILENO);
    (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
}

int fail(const Error& error, int status) {
    fmt::print(stderr, "execward: {}{}{}\n", error.message, error.hint.empty() ? "" : "; ",
               error.hint);
    return status;
}

} // namespace

int serve(int argc, char** argv) {
    Result<Options> options = parse(argc, argv);
    if (!options) return fail(options.error(), status_usage);
    if (options->wants_help) {
        fmt::print("{}", help);
        return status_ok;
    }
    os::mark_inherited_descriptors_close_on_exec();
    os::take_over_signals();
    if (Result<void> ready = log::configure(options->log); !ready)
        return fail(ready.error(), status_failure);
    Result<server::SessionSetup> setup = set_up(*options);
    if (!setup) return fail(setup.error(), status_failure);
    options->server.session = std::move(*setup);
    std::unique_ptr<transcript::Recorder> recorder;
    if (!options->record.empty()) {
        Result<std::unique_ptr<transcript::Recorder>> opened =
            transcript::Recorder::open(options->record);
        if (!opened) return fail(opened.error(), status_failure);
        recorder = std::move(*opened);
    }
    Result<os::StdioEnd> in = os::StdioEnd::open(STDIN_FILENO, false);
    if (!in) return fail(in.error(), status_failure);
    Result<os::StdioEnd> out = os::StdioEnd::open(STDOUT_FILENO, true);
    if (!out) return fail(out.error(), status_failure);
    const bool is_in_foreground = in->is_terminal();
    move_stdio_away();

    server::Server server(std::move(options->server), std::move(*in), std::move(*out),
                          recorder.get());
    if (const std::optional<int> status = server.run_handshake()) return *status;
    const pid_t keeper = ::getpid();
    const pid_t worker = ::fork();
    if (worker < 0) return fail(os::system_error("fork", errno), status_failure);
    if (worker > 0) keep(worker);
    become_worker(keeper, is_in_foreground);
    return server.run(keeper);
}

} // namespace ew::cli
