// execward run: one command, confined, and gone with it.
#include "cli/run/run.h"

#include "cli/run/run_report.h"
#include "cli/run/run_session.h"
#include "cli/shared/printing.h"
#include "cli/shared/state_place.h"
#include "config/config.h"
#include "config/paths.h"
#include "core/text/display.h"
#include "os/io.h"
#include "sandbox/launch/init_place.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/plan/bubblewrap_arguments.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/resolved_path.h"
#include "sandbox/trial/trial.h"
#include "sandbox/trial/trial_memory.h"
#include "server/request/sandbox_request.h"
#include "server/request/start_request.h"

#include <fmt/format.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view help =
    R"(Usage: execward run [OPTION…] [--] COMMAND [ARGUMENT…]

Runs one command confined. It reads everything, writes below the working directory and in a /tmp of
its own, and has no network but a loopback of its own. When it ends, all that it has started is
ended too.

  --sandbox=P        workspace-write (default), read-only, or danger-full-access: not confined
  --writable=DIR     may be written too; may be given again
  --deny-read=PATH   a path, or a pattern with * ? [, that cannot be read; may be given again
  --shared-tmp       /tmp and $TMPDIR are the machine's, and writable
  --exclude-tmp      with --shared-tmp: they are not writable
  --network          with the network of the machine
  --report-writes    tell of refused changes of files too; costs some time for each
  --best-effort      what this machine cannot enforce is told, and the command runs all the same
  --directory=DIR    run in DIR, and let DIR be written, instead of the working directory
  --quiet            tell neither what was refused nor what is missing
  -h, --help         show this help

If stdin, stdout and stderr are one terminal, the command has a terminal of its own in its place,
with keys, size, job control and /dev/tty. Else each of the three is passed on byte for byte. Open
descriptors above 2 are not passed on.

What was refused is told on stderr after the command has ended. Of the settings (execward config) only
deny_read counts here.

Signals: SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the command; 2 s later, or at the next
of them, it is killed with all that it has started. SIGHUP does not count as one more.

Exit status: the command's; 128+N signal N ended it; 127 it was not found, 126 it cannot be
executed, 125 execward did not run it: it cannot be confined as asked, or usage.

Examples:
  execward run -- make test
  execward run --deny-read ~/.ssh --network -- npm install
)";

enum Letter {
    sandbox_letter = 's',
    writable_letter = 'w',
    deny_letter = 'd',
    directory_letter = 'C'
};

constexpr std::array<option, 12> long_options = {{
    {"sandbox", required_argument, nullptr, sandbox_letter},
    {"writable", required_argument, nullptr, writable_letter},
    {"deny-read", required_argument, nullptr, deny_letter},
    {"shared-tmp", no_argument, nullptr, 't'},
    {"exclude-tmp", no_argument, nullptr, 'x'},
    {"network", no_argument, nullptr, 'n'},
    {"report-writes", no_argument, nullptr, 'r'},
    {"best-effort", no_argument, nullptr, 'b'},
    {"directory", required_argument, nullptr, directory_letter},
    {"quiet", no_argument, nullptr, 'q'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

struct Options {
    std::string seen; // letters of the options that were given
    std::string sandbox = "workspace-write";
    std::vector<std::string> writable;
    std::vector<std::string> deny_read;
    std::string directory = ".";
    std::vector<char*> command; // ends with a null pointer

    bool has(char letter) const { return seen.find(letter) != std::string::npos; }
};

int refuse(std::string_view why) {
    fmt::print(stderr, "execward: {}; see execward run --help\n", why);
    return status_not_confined;
}

int refuse_usage() { // getopt has said what is wrong
    fmt::print(stderr, "execward: see execward run --help\n");
    return status_not_confined;
}

// '?' among the letters: getopt has said what is wrong.
Options parse(int argc, char** argv) {
    Options options;
    std::string program = "execward"; // for what getopt says
    char* const name = std::exchange(argv[0], program.data());
    // "+": the words of the command keep what looks like options of ours.
    for (int found = 0;
         (found = ::getopt_long(argc, argv, "+h", long_options.data(), nullptr)) != -1;) {
        options.seen += static_cast<char>(found);
        if (found == sandbox_letter) options.sandbox = optarg;
        if (found == writable_letter) options.writable.emplace_back(optarg);
        if (found == deny_letter) options.deny_read.emplace_back(optarg);
        if (found == directory_letter) options.directory = optarg;
    }
    argv[0] = name;
    options.command.assign(argv + optind, argv + argc + 1);
    return options;
}

std::optional<core::SandboxMode> mode_named(std::string_view name) {
    if (name == "workspace-write") return core::SandboxMode::workspace_write;
    if (name == "read-only") return core::SandboxMode::read_only;
    if (name == "danger-full-access") return core::SandboxMode::danger_full_access;
    return std::nullopt;
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

Error not_there(std::string_view what, const std::string& path) {
    return {ErrorKind::invalid_params,
            fmt::format("{} '{}': {}", what, path, std::strerror(errno))};
}

Result<std::string> path_of(std::string_view what, const std::string& path) {
    std::optional<std::string> real = os::real_path(path);
    if (!real) return not_there(what, path);
    return std::move(*real);
}

// Links stay, for the policy to judge: who works in the sandbox may have made them. Only what goes
// back behind one has no telling.
Result<std::string> unresolved(std::string_view what, const std::string& path) {
    const std::string real = TRY(path_of(what, path));
    std::error_code error;
    std::string absolute = std::filesystem::absolute(path, error).lexically_normal().string();
    if (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
    if (error || os::real_path(absolute) != real)
        return Error{
            ErrorKind::invalid_params,
            fmt::format("{} '{}': it goes back behind a link; name '{}'", what, path, real)};
    return absolute;
}

// Without a change of what it means: it may not exist, or be a pattern.
Result<std::string> denied_at(const std::string& path) {
    if (std::optional<std::string> real = os::real_path(path)) return std::move(*real);
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (path.empty() || error) return Error{ErrorKind::invalid_params, "--deny-read needs a path"};
    return absolute.lexically_normal().string();
}

// Of the settings counts only what makes it stricter: what is denied, and which files are
// execward's own.
struct Strictness {
    std::vector<std::string> deny_read;
    std::vector<std::string> hidden;
};

bool is_out_of_reach(const std::string& directory) {
    return ::access(directory.c_str(), X_OK) != 0 && errno == EACCES;
}

// In one of our sandboxes, whose filter allows no other in it and which hides our settings.
bool is_in_sandbox() {
    return ::access(std::string(sandbox::init_path).c_str(), F_OK) == 0;
}

Error already_confined() {
    return {ErrorKind::sandbox_unavailable,
            "the command was not run: this is a sandbox of execward, and there is none in another",
            "run the command as it is, without execward run: the sandbox around it counts for it"};
}

Result<Strictness> configured(config::Paths paths) {
    if (is_in_sandbox() && is_out_of_reach(paths.config_directory)) return already_confined();
    const std::string named = variable("EXECWARD_CONFIG");
    if (!named.empty()) paths.config_file = TRY(path_of("EXECWARD_CONFIG", named));
    const config::Config config =
        TRY(config::load_config(paths.config_file, named.empty() ? config::WhenMissing::use_defaults
                                                                 : config::WhenMissing::fail))
            .config;
    std::string database = variable("EXECWARD_DATABASE");
    if (database.empty()) database = config.database;
    std::error_code error; // then it stays relative, and is nowhere
    if (!database.empty()) database = std::filesystem::absolute(database, error).string();
    return Strictness{config.confinement.deny_read, server::hidden_places(paths, database)};
}

Result<sandbox::ModeOptions> mode_options(const Options& options) {
    sandbox::ModeOptions mode;
    for (const std::string& path : options.writable)
        mode.writable_roots.push_back(TRY(unresolved("--writable", path)));
    for (const std::string& path : options.deny_read)
        mode.deny_read.push_back(TRY(denied_at(path)));
    mode.has_network = options.has('n');
    mode.shares_tmp = options.has('t');
    mode.excludes_slash_tmp = mode.excludes_tmpdir = options.has('x');
    mode.reports_writes = options.has('r');
    if (options.has('b')) mode.enforcement = sandbox::Enforcement::best_effort;
    return mode;
}

sandbox::Machine this_machine(const std::string& state_directory) {
    const sandbox::TrialPlaces places = {sandbox::init_place(), state_directory};
    if (std::optional<sandbox::Machine> known = sandbox::remembered_trial(places))
        return std::move(*known);
    sandbox::Machine machine = sandbox::run_trial(places);
    sandbox::remember_trial(places, machine);
    return machine;
}

// No policy says who may have made a link that leads to the workspace itself.
void tell_if_elsewhere(const std::string& given, const std::string& directory) {
    std::error_code error;
    const std::vector<sandbox::Link> links =
        sandbox::way_to(std::filesystem::absolute(given, error).string()).links;
    const bool is_somebodys = std::ranges::any_of(
        links, [](const sandbox::Link& link) { return !sandbox::is_of_the_machine(link.path); });
    if (is_somebodys)
        report_missing({},
                       {fmt::format("--directory {} is a link, and {} is what can be written",
                                    core::shell_quoted({given}), core::shell_quoted({directory}))});
}

Result<RunOrder> order_of(const Options& options, core::SandboxMode mode) {
    if (is_in_sandbox() && !options.has('b')) return already_confined();
    const config::Paths paths = config::Paths::from_environment();
    const std::string state_directory = state_place(paths);
    RunOrder order;
    order.is_quiet = options.has('q');
    sandbox::LaunchOrder& launch = order.launch;
    sandbox::ModeOptions wish = TRY(mode_options(options));
    Strictness strictness = TRY(configured(paths));
    wish.deny_read.insert(wish.deny_read.end(), strictness.deny_read.begin(),
                          strictness.deny_read.end());
    launch.policy = sandbox::policy_of(mode, wish);
    const std::string directory = TRY(path_of("--directory", options.directory));
    if (!order.is_quiet) tell_if_elsewhere(options.directory, directory);
    const std::string tmpdir = variable("TMPDIR");
    launch.context = {directory,
                      {directory},
                      tmpdir.starts_with('/') ? tmpdir : "",
                      std::move(strictness.hidden)};
    if (!state_directory.empty()) {
        launch.journal = state_directory + "/placeholders";
        sandbox::sweep(launch.journal);
    }
    launch.machine = this_machine(state_directory);
    launch.request.argv.assign(options.command.begin(), options.command.end() - 1);
    launch.request.environment = server::own_environment();
    // What has no name is no variable, and no command is given it.
    std::erase_if(launch.request.environment,
                  [](const auto& entry) { return entry.first.empty(); });
    launch.request.directory = directory;
    return order;
}

// Returns only if it cannot be executed.
int run_unconfined(const Options& options) {
    if (::chdir(options.directory.c_str()) != 0) {
        report_error(not_there("--directory", options.directory));
        return status_not_confined;
    }
    ::execvp(options.command[0], options.command.data());
    const int status = errno == ENOENT ? status_not_found : status_not_executable;
    report_error(not_there("cannot execute", options.command[0]));
    return status;
}

} // namespace

int run(int argc, char** argv) {
    const Options options = parse(argc, argv);
    if (options.has('?')) return refuse_usage();
    if (options.has('h')) {
        print_line(help.substr(0, help.size() - 1)); // without the newline
        return finish(status_ok);
    }
    const std::optional<core::SandboxMode> mode = mode_named(options.sandbox);
    if (!mode)
        return refuse(fmt::format("there is no sandbox '{}'", core::visible(options.sandbox)));
    if (options.command[0] == nullptr) return refuse("there is no command");
    if (*mode == core::SandboxMode::danger_full_access) return run_unconfined(options);

    Result<RunOrder> order = order_of(options, *mode);
    if (!order) {
        report_error(order.error());
        return status_not_confined;
    }
    return run_session(std::move(*order));
}

} // namespace ew::cli
