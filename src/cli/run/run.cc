// execward run: runs one command in a sandbox, and ends everything that the command started.
#include "cli/run/run.h"

#include "cli/run/run_report.h"
#include "cli/run/run_session.h"
#include "cli/shared/places.h"
#include "cli/shared/printing.h"
#include "config/config.h"
#include "config/linked_file.h"
#include "config/paths.h"
#include "config/settings.h"
#include "core/text/display.h"
#include "core/text/patterns.h"
#include "os/io.h"
#include "sandbox/launch/init_place.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/resolved_path.h"
#include "sandbox/trial/trial.h"
#include "sandbox/trial/trial_memory.h"
#include "server/request/sandbox_request.h"
#include "server/request/start_request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
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

constexpr std::string_view about =
    R"(Usage: execward run [OPTION…] [--] COMMAND [ARGUMENT…]

Runs one command confined. It reads everything, writes below the working directory and in a /tmp of
its own, and has no network but a loopback of its own. When it ends, all that it has started is
ended too.
)";

constexpr auto options = std::to_array<Option>({
    {.name = "sandbox",
     .argument = "P",
     .meaning = "how it is confined, if at all",
     .usual = "workspace-write",
     .choices = "workspace-write|read-only|danger-full-access",
     .details = "With `danger-full-access` the command is executed in the place of `execward`."},
    {.name = "writable",
     .argument = "DIR",
     .meaning = "DIR may be written too",
     .repeats = true,
     .details = "A path through a link that a confined command could have made is refused."},
    {.name = "deny-read",
     .argument = "PATH",
     .meaning = "a path, or a pattern with * ? [ or {a,b}, that cannot be read",
     .repeats = true},
    {.name = "read-only",
     .argument = "PATH",
     .meaning = "PATH stays read-only, where it exists in a writable directory",
     .repeats = true,
     .details =
         "A name, such as `.idea`, counts below each writable directory. This is in addition "
         "to the setting `confinement.read_only`."},
    {.name = "shared-tmp",
     .meaning = "/tmp and $TMPDIR are the machine's, and writable",
     .details = "Without it the command has an empty /tmp of its own, which TMPDIR, where it is "
                "set, names."},
    {"exclude-tmp", "", "with --shared-tmp: they are not writable"},
    {"network", "", "with the network of the machine"},
    {"report-writes", "", "tell of refused changes of files too; costs some time for each"},
    {.name = "best-effort",
     .meaning = "what this machine cannot enforce is told, and the command runs all the same",
     .details = "Without it the command is not run."},
    {"directory", "DIR", "run in DIR, and let DIR be written", "the working directory"},
    {"quiet", "", "tell neither what was refused nor what is missing"},
});

constexpr std::string_view notes =
    R"(If stdin, stdout and stderr are one terminal, the command has a terminal of its own in its place,
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

constexpr auto actions = std::to_array<Action>(
    {{{}, {.name = "COMMAND", .least = 1, .most = Operands::any, .is_command = true}}});

std::string directory_of(const Arguments& arguments) {
    return arguments.value("directory").value_or(".");
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

// Keeps symbolic links in the path, so that the policy can judge them: a program in the sandbox may
// have made them. Fails if the path goes back ("..") behind a link.
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

// Keeps the meaning of the path: it may not exist, or may be a pattern.
Result<std::string> denied_at(const std::string& path) {
    if (std::optional<std::string> real = os::real_path(path))
        return core::is_pattern(*real) ? core::pattern_for(*real) : std::move(*real);
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (path.empty() || error) return Error{ErrorKind::invalid_params, "--deny-read needs a path"};
    return absolute.lexically_normal().string();
}

// `execward run` takes only those settings that make it stricter: the denied paths, and the files
// of execward itself.
struct Strictness {
    std::vector<std::string> deny_read;
    std::vector<std::string> hidden;
    std::vector<std::string> read_only;
    bool has_private_caches = true;
    std::string config_file = {};
};

bool is_out_of_reach(const std::string& directory) {
    return ::access(directory.c_str(), X_OK) != 0 && errno == EACCES;
}

Error already_confined() {
    return {ErrorKind::sandbox_unavailable,
            "the command was not run: this is a sandbox of execward, and there is none in another",
            "run the command as it is, without execward run: the sandbox around it counts for it"};
}

Result<Strictness> configured(config::Paths paths) {
    if (sandbox::is_in_sandbox() && is_out_of_reach(paths.config_directory))
        return already_confined();
    const std::string named = variable("EXECWARD_CONFIG");
    if (!named.empty()) paths.config_file = TRY(path_of("EXECWARD_CONFIG", named));
    const config::Config config =
        TRY(config::load_config(paths.config_file, named.empty() ? config::WhenMissing::use_defaults
                                                                 : config::WhenMissing::fail))
            .config;
    std::string database = variable("EXECWARD_DATABASE");
    if (database.empty()) database = config.database;
    std::error_code error; // then the path stays relative and is not found
    if (!database.empty()) database = std::filesystem::absolute(database, error).string();
    return Strictness{config.confinement.deny_read, server::hidden_places(paths, database),
                      config.confinement.read_only, config.confinement.private_caches,
                      paths.config_file};
}

Result<sandbox::ModeOptions> mode_options(const Arguments& arguments) {
    sandbox::ModeOptions mode;
    for (const std::string& path : arguments.values("writable"))
        mode.writable_roots.push_back(TRY(unresolved("--writable", path)));
    for (const std::string& path : arguments.values("deny-read"))
        mode.deny_read.push_back(TRY(denied_at(path)));
    for (const std::string& path : arguments.values("read-only"))
        mode.read_only.push_back(path.starts_with("./") ? path.substr(2) : path);
    mode.has_network = arguments.has("network");
    mode.shares_tmp = arguments.has("shared-tmp");
    mode.excludes_slash_tmp = mode.excludes_tmpdir = arguments.has("exclude-tmp");
    mode.reports_writes = arguments.has("report-writes");
    if (arguments.has("best-effort")) mode.enforcement = sandbox::Enforcement::best_effort;
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

// Reports that --directory leads through a link which a program may have made. The policy does not
// judge links that lead to the workspace itself.
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

Result<RunOrder> order_of(const Arguments& arguments, core::SandboxMode mode) {
    if (sandbox::is_in_sandbox() && !arguments.has("best-effort")) return already_confined();
    const config::Paths paths = config::Paths::from_environment();
    const std::string state_directory = state_place(paths);
    RunOrder order;
    order.is_quiet = arguments.has("quiet");
    sandbox::LaunchOrder& launch = order.launch;
    sandbox::ModeOptions wish = TRY(mode_options(arguments));
    Strictness strictness = TRY(configured(paths));
    wish.deny_read.insert(wish.deny_read.end(), strictness.deny_read.begin(),
                          strictness.deny_read.end());
    wish.has_private_caches = strictness.has_private_caches;
    wish.read_only.insert(wish.read_only.end(), strictness.read_only.begin(),
                          strictness.read_only.end());
    launch.policy = sandbox::policy_of(mode, wish);
    const std::string given = directory_of(arguments);
    const std::string directory = TRY(path_of("--directory", given));
    if (mode == core::SandboxMode::workspace_write) {
        std::vector<std::string> writable = wish.writable_roots;
        writable.push_back(directory);
        TRY(config::check_link(strictness.config_file, writable));
    }
    if (!order.is_quiet) tell_if_elsewhere(given, directory);
    const std::string tmpdir = variable("TMPDIR");
    launch.context = {directory,
                      {directory},
                      tmpdir.starts_with('/') ? tmpdir : "",
                      std::move(strictness.hidden)};
    if (!state_directory.empty()) {
        launch.journal = state_directory + "/placeholders";
        sandbox::sweep(launch.journal);
    }
    launch.context.looks_afterwards = true;
    launch.machine = this_machine(state_directory);
    launch.request.argv = arguments.operands();
    launch.request.environment = server::own_environment();
    // An entry without a name is not a variable; no command gets it.
    std::erase_if(launch.request.environment,
                  [](const auto& entry) { return entry.first.empty(); });
    launch.request.directory = directory;
    return order;
}

// Returns only if the command cannot be executed.
int run_unconfined(const Arguments& arguments) {
    const std::string directory = directory_of(arguments);
    if (::chdir(directory.c_str()) != 0) {
        report_error(not_there("--directory", directory));
        return status_not_confined;
    }
    std::vector<std::string> command = arguments.operands();
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (std::string& word : command)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv.front(), argv.data());
    const int status = errno == ENOENT ? status_not_found : status_not_executable;
    report_error(not_there("cannot execute", command.front()));
    return status;
}

int run(const Arguments& arguments) {
    const auto mode =
        config::value_named<core::SandboxMode>(arguments.value("sandbox").value_or(""))
            .value_or(core::SandboxMode::workspace_write);
    if (mode == core::SandboxMode::danger_full_access) return run_unconfined(arguments);

    Result<RunOrder> order = order_of(arguments, mode);
    if (!order) {
        report_error(order.error());
        return status_not_confined;
    }
    return run_session(std::move(*order));
}

} // namespace

constinit const Command run_command = {.name = "run",
                                       .summary = "run one command in a sandbox, from a shell",
                                       .about = about,
                                       .options = options,
                                       .notes = notes,
                                       .actions = actions,
                                       .run = run,
                                       .usage_status = status_not_confined};

} // namespace ew::cli
