#include "cli/serving.h"

#include "base/clock.h"
#include "config/config.h"
#include "config/paths.h"
#include "config/rule_files.h"
#include "core/text/display.h"
#include "keeper.h"
#include "mcp/arguments.h"
#include "os/io.h"
#include "os/signals.h"
#include "protocol/exec.h"
#include "server/server.h"
#include "transcript/recorder.h"
#include "version.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

// The tools say how long they wait and how much they show: their own limits count.
void set_limits_of_tools(config::Config& config) {
    config.min_poll = Millis(1);
    config.max_output_tokens = protocol::most_output_tokens;
    config.max_yield = config.max_poll = Millis(mcp::longest_wait_ms);
}

// The configuration and the paths that a session starts with.
Result<server::SessionSetup> set_up(const Wishes& wishes) {
    server::SessionSetup setup;
    setup.paths = config::Paths::from_environment();
    setup.system_rules_directory = system_rules_directory;
    const bool is_asked_for = !wishes.config.empty();
    setup.config = TRY(config::load_config(is_asked_for ? wishes.config : setup.paths.config_file,
                                           is_asked_for ? config::WhenMissing::fail
                                                        : config::WhenMissing::use_defaults))
                       .config;
    if (wishes.server.mcp) set_limits_of_tools(setup.config);
    if (!wishes.database.empty()) setup.config.database = wishes.database;
    if (is_asked_for) // the rules of the sandbox keep programs away from this file
        setup.paths.config_file = os::real_path(wishes.config).value_or(wishes.config);
    return setup;
}

// From here on, nothing that writes to descriptor 1 can get between two messages.
void move_stdio_away() {
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    (void)::dup2(nothing.get(), STDIN_FILENO);
    (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
}

int could_not_start(const Error& error) {
    fmt::print(stderr, "execward: {}{}{}\n", error.message, error.hint.empty() ? "" : "; ",
               error.hint);
    return status_failure;
}

using Options = std::span<const Option>;

const Option& option_named(Options options, std::string_view name) {
    return *std::ranges::find(options, name, &Option::name);
}

// `Enum` must list the choices of the option in the same order.
template <class Enum>
bool take_choice(const Option& option, std::string_view value, Enum& out) {
    const std::vector<std::string_view> choices = choices_of(option.choices);
    const auto found = std::ranges::find(choices, value);
    if (found != choices.end()) out = static_cast<Enum>(found - choices.begin());
    return found != choices.end();
}

// Sets one option. Returns false if the option does not take that value.
bool take(Wishes& wishes, const Option& option, std::string_view value) {
    const std::string_view name = option.name;
    server::ServerSettings& server = wishes.server;
    if (name == "process-sandbox") return take_choice(option, value, server.processes.selection);
    if (name == "framing") return take_choice(option, value, server.framing);
    if (name == "log-level") return take_choice(option, value, wishes.log.level);
    if (name == "log-format") return take_choice(option, value, wishes.log.format);
    if (name == "log-file") wishes.log.file = value;
    if (name == "record") wishes.record = value;
    if (name == "config") wishes.config = value;
    if (name == "database") wishes.database = value;
    // `replay` gives each of its servers another number in the variable.
    if (name == "test-ids") {
        const std::int64_t number = whole_number(value, 0, 255).value_or(1);
        server.test_ids = static_cast<std::uint8_t>(number);
    }
    if (name == "workspace") {
        wishes.workspace = os::real_path(std::string(value)).value_or("");
        return wishes.workspace.size() > 1 && std::filesystem::is_directory(wishes.workspace);
    }
    const bool is_process = name == "client-process-id";
    if (!is_process && name != "utf8-hold" && name != "close-grace") return true;
    const std::optional<std::int64_t> number = whole_number(value, is_process ? 1 : 0);
    if (!number) return false;
    if (is_process) server.client_process = static_cast<pid_t>(*number);
    if (name == "utf8-hold") server.processes.output.utf8_hold = Millis(*number);
    if (name == "close-grace") server.processes.close_grace = Millis(*number);
    return true;
}

std::string variable_of(std::string_view option_name) {
    std::string variable = "EXECWARD_";
    for (const char c : option_name)
        variable += c == '-' ? '_' : static_cast<char>(c - ('a' <= c && c <= 'z' ? 32 : 0));
    return variable;
}

struct Given {
    std::string_view option;
    std::string source; // the variable, or the option as it was written
    std::string value;
};

// The variable of an option comes before the option, so that the command line wins.
std::vector<Given> given_by(Options options, const Arguments& arguments) {
    std::vector<Given> all;
    for (const Option& option : options) {
        for (const std::string_view option_name : {option.old_name, option.name}) {
            std::string variable = variable_of(option_name);
            const char* const set = std::getenv(variable.c_str());
            if (set != nullptr && !option_name.empty())
                all.push_back({option.name, std::move(variable), set});
        }
        if (const std::optional<std::string> value = arguments.value(option.name))
            all.push_back({option.name, flag_of(option), option.argument.empty() ? "1" : *value});
    }
    return all;
}

// The handshake has seen that a fork is possible. Others may have taken the last process since, so
// this tries for a while. Returns -1 and sets errno if it remains impossible.
pid_t fork_worker() {
    constexpr Millis longest{2000};
    constexpr int pause = 10; // ms
    const TimePoint begun = clock_now();
    while (true) {
        const pid_t worker = ::fork();
        if (worker >= 0 || errno != EAGAIN || clock_now() - begun > longest) return worker;
        (void)::poll(nullptr, 0, pause);
    }
}

} // namespace

std::string take_wishes(Wishes& wishes, std::span<const Option> options,
                        const Arguments& arguments) {
    for (const Given& given : given_by(options, arguments)) {
        if (take(wishes, option_named(options, given.option), given.value)) continue;
        std::error_code unused; // no directory then
        const bool is_missing =
            given.option == "workspace" && !std::filesystem::is_directory(given.value, unused);
        return fmt::format("{}: '{}' {}", given.source, core::visible(given.value),
                           is_missing ? "is not a directory" : "is not a value it takes");
    }
    return {};
}

int serve_client(Wishes wishes) {
    os::mark_inherited_descriptors_close_on_exec();
    os::take_over_signals();
    if (Result<void> ready = log::configure(wishes.log); !ready)
        return could_not_start(ready.error());
    Result<server::SessionSetup> setup = set_up(wishes);
    if (!setup) return could_not_start(setup.error());
    wishes.server.session = std::move(*setup);
    std::unique_ptr<transcript::Recorder> recorder;
    if (!wishes.record.empty()) {
        Result<std::unique_ptr<transcript::Recorder>> opened =
            transcript::Recorder::open(wishes.record);
        if (!opened) return could_not_start(opened.error());
        recorder = std::move(*opened);
    }
    Result<os::StdioEnd> in = os::StdioEnd::open(STDIN_FILENO, false);
    if (!in) return could_not_start(in.error());
    Result<os::StdioEnd> out = os::StdioEnd::open(STDOUT_FILENO, true);
    if (!out) return could_not_start(out.error());
    const bool is_in_foreground = in->is_terminal();
    move_stdio_away();

    server::Server server(std::move(wishes.server), std::move(*in), std::move(*out),
                          recorder.get());
    if (const std::optional<int> status = server.run_handshake()) return *status;
    const pid_t keeper = ::getpid();
    const pid_t worker = fork_worker();
    if (worker < 0)
        return could_not_start({ErrorKind::internal,
                                fmt::format("the server cannot start the process that serves the "
                                            "client: fork: {}",
                                            strerror(errno)),
                                "raise the limit of processes (ulimit -u), or end other ones"});
    if (worker > 0) keep(worker);
    become_worker(keeper, is_in_foreground);
    return server.run(keeper);
}

} // namespace ew::cli
