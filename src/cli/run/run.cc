// execward run: runs one command in a sandbox, and ends everything that the command started.
#include "cli/run/run.h"

#include "cli/run/admission.h"
#include "cli/run/run_report.h"
#include "cli/run/run_session.h"
#include "cli/shared/places.h"
#include "cli/shared/printing.h"
#include "config/config.h"
#include "config/paths.h"
#include "config/settings.h"
#include "core/network/hosts.h"
#include "core/network/proxy.h"
#include "core/text/display.h"
#include "core/text/patterns.h"
#include "os/io.h"
#include "protocol/approval.h"
#include "sandbox/gateway/way_out.h"
#include "sandbox/launch/init_place.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/plan/resolved_path.h"
#include "sandbox/policy/troubles.h"
#include "sandbox/trial/trial.h"
#include "sandbox/trial/trial_memory.h"
#include "server/request/start_request.h"
#include "version.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
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
ended too. Rules, approvals and the approval policy decide about it as about a command of an agent.
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
    {.name = "network",
     .argument = "MODE",
     .meaning = "with the network of the machine, or with the hosts that are allowed",
     .usual = "on",
     .choices = "off|on|hosts|ask|observe",
     .may_lack_argument = true,
     .details = "With `hosts`, [[network]] rules and `--allow-host` say which hosts and ports can "
                "be reached. With `ask`, others are asked about on the terminal, while the "
                "command waits for its connection. With `observe`, all public hosts can be reached "
                "that no rule is strict about, and `execward audit network --by-host` tells which "
                "ones were."},
    {.name = "allow-host",
     .argument = "HOST[:PORT]",
     .meaning = "HOST can be reached by TCP; means --network=hosts, if not ask",
     .repeats = true,
     .details = "HOST is a name, `*.NAME` for all names below it, an address or a prefix of "
                "addresses. Without a port, 80 and 443 count. An address of a private network must "
                "be named itself, whatever its name is."},
    {"report-writes", "", "tell of refused changes of files too; costs some time for each"},
    {.name = "best-effort",
     .meaning = "what this machine cannot enforce is told, and the command runs all the same",
     .details = "Without it the command is not run."},
    {.name = "approval-policy",
     .argument = "P",
     .meaning = "what needs a person's approval",
     .usual = "as configured",
     .choices = "untrusted|on-failure|on-request|never|granular"},
    {"directory", "DIR", "run in DIR, and let DIR be written", "the working directory"},
    {"quiet", "", "tell neither what was refused nor what is missing"},
});

constexpr std::string_view notes =
    R"(If stdin, stdout and stderr are one terminal, the command has a terminal of its own in its place,
with keys, size, job control and /dev/tty. Else each of the three is passed on byte for byte. Open
descriptors above 2 are not passed on to a confined command.

What the sandbox refused is told on stderr after the command has ended.

What needs a person's approval is asked on the terminal (/dev/tty): y runs it this once, p allows
exactly this in this project from then on, a everywhere, n does not run it, d never again, without
a question. Without a terminal it is not run, and a line says how to allow it. Of the settings
(execward config) these count here: approval_policy, granular, approval_timeout_ms, environment,
deny_read, read_only, private_caches and network_proxy. Variables that look like secrets are withheld
and named (environment.default_excludes). The audit has the command, and its end if it is confined.

Signals: SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the command; 2 s later, or at the next
of them, it is killed with all that it has started. SIGHUP does not count as one more.

Exit status: the command's; 128+N signal N ended it; 127 it was not found, 126 it cannot be
executed, 125 execward did not run it: it was refused, it cannot be confined as asked, or usage.

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

bool is_out_of_reach(const std::string& directory) {
    return ::access(directory.c_str(), X_OK) != 0 && errno == EACCES;
}

Error already_confined() {
    return {ErrorKind::sandbox_unavailable,
            "the command was not run: this is a sandbox of execward, and there is none in another",
            "run the command as it is, without execward run: the sandbox around it counts for it"};
}

// Rules and settings cannot be read in there, and nothing can be asked: the sandbox around the
// command was made by them.
bool is_in_a_sandbox_without_rules() {
    return sandbox::is_in_sandbox() &&
           is_out_of_reach(config::Paths::from_environment().config_directory);
}

Result<server::SessionSetup> set_up() {
    server::SessionSetup setup;
    setup.paths = config::Paths::from_environment();
    setup.system_rules_directory = system_rules_directory;
    setup.config = TRY(settings_in_force(setup.paths));
    const std::string named = variable("EXECWARD_CONFIG");
    if (!named.empty()) setup.paths.config_file = TRY(path_of("EXECWARD_CONFIG", named));
    std::string& database = setup.config.database;
    if (const std::string other = variable("EXECWARD_DATABASE"); !other.empty()) database = other;
    std::error_code error; // then the path stays relative and is not found
    if (!database.empty() && database != ":memory:")
        database = std::filesystem::absolute(database, error).string();
    return setup;
}

// The settings of the file hold where they make the sandbox stricter; the rest of the sandbox is
// that of the command line.
Result<protocol::ConfinementSettings> confinement_of(const Arguments& arguments,
                                                     const config::Config& config) {
    protocol::ConfinementSettings confinement;
    std::vector<protocol::Path>& writable = confinement.writable_roots.emplace();
    for (const std::string& path : arguments.values("writable"))
        writable.push_back({TRY(unresolved("--writable", path))});
    std::vector<std::string>& denied = confinement.deny_read.emplace(config.confinement.deny_read);
    for (const std::string& path : arguments.values("deny-read"))
        denied.push_back(TRY(denied_at(path)));
    std::vector<std::string>& read_only =
        confinement.read_only.emplace(config.confinement.read_only);
    for (const std::string& path : arguments.values("read-only"))
        read_only.push_back(path.starts_with("./") ? path.substr(2) : path);
    const std::string network = arguments.value("network").value_or("off");
    confinement.network_access = network == "on" || network.empty();
    confinement.network_by_host =
        network == "hosts" || network == "ask" || arguments.has("allow-host");
    confinement.network_observe = network == "observe";
    confinement.shared_tmp = arguments.has("shared-tmp");
    confinement.exclude_slash_tmp = confinement.exclude_tmpdir_env_var =
        arguments.has("exclude-tmp");
    confinement.report_writes = arguments.has("report-writes");
    confinement.enforcement = arguments.has("best-effort") ? protocol::Enforcement::best_effort
                                                           : protocol::Enforcement::require;
    return confinement;
}

Result<sandbox::Machine> this_machine(const std::string& state_directory) {
    const sandbox::TrialPlaces places = {sandbox::init_place(), state_directory};
    if (std::optional<sandbox::Machine> known = sandbox::remembered_trial(places))
        return std::move(*known);
    sandbox::Machine machine = sandbox::run_trial(places);
    if (std::optional<Error> exhausted = sandbox::exhaustion_of_trial(machine))
        return std::move(*exhausted);
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

Result<std::unique_ptr<Admission>> open_admission(const Arguments& arguments,
                                                  core::SandboxMode mode) {
    server::SessionSetup setup = TRY(set_up());
    const std::string given = directory_of(arguments);
    const std::string directory = TRY(path_of("--directory", given));
    const bool is_quiet = arguments.has("quiet");
    protocol::Settings settings;
    settings.approval_policy =
        config::value_named<core::ApprovalPolicy>(arguments.value("approval-policy").value_or(""));
    settings.sandbox = mode;
    settings.confinement = TRY(confinement_of(arguments, setup.config));
    settings.workspace_roots = {{directory}};
    const server::Warn warn = [is_quiet](const Error& error) {
        if (!is_quiet) report_warning(error);
    };
    if (mode != core::SandboxMode::danger_full_access && !is_quiet)
        tell_if_elsewhere(given, directory);
    std::string& database = setup.config.database;
    if (database.empty() && state_place(setup.paths).empty()) {
        database = ":memory:";
        warn({ErrorKind::store_unavailable, "nothing is remembered, and there is no audit",
              "set XDG_STATE_HOME or HOME to a directory, or EXECWARD_DATABASE to a file"});
    }
    return Admission::open(std::move(setup), settings, warn);
}

// Of the largest one that was reaped; getrusage(2) counts KiB.
std::uint64_t peak_of_children() {
    rusage usage = {};
    (void)::getrusage(RUSAGE_CHILDREN, &usage); // cannot fail
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

int run_confined(const RunOrder& order, Admission& admission) {
    const TimePoint began = clock_now();
    const RunEnd end = run_session(order);
    if (end.failure)
        admission.note_failure(*end.failure);
    else
        admission.note_end({end.status, millis(clock_now() - began), {}, peak_of_children()},
                           end.denials, end.host_uses);
    return end.status;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

// Executes the program in our place. Returns the error if that fails.
Error execute(os::SpawnRequest request) {
    if (::chdir(request.directory.c_str()) != 0) return not_there("--directory", request.directory);
    const std::string program = std::exchange(request.argv.front(), request.arg0.value_or(""));
    std::vector<std::string> variables;
    for (const auto& [name, value] : request.environment)
        variables.push_back(fmt::format("{}={}", name, value));
    ::execvpe(program.c_str(), pointers_to(request.argv).data(), pointers_to(variables).data());
    const bool is_missing = errno == ENOENT;
    Error error = not_there("cannot execute", program);
    error.kind = is_missing ? ErrorKind::spawn_not_found : ErrorKind::spawn_failed;
    return error;
}

Result<std::vector<core::HostRule>> allowed_hosts(const Arguments& arguments) {
    std::vector<core::HostRule> rules;
    for (const std::string& text : arguments.values("allow-host"))
        rules.push_back(TRY(core::allowed_host(text)));
    return rules;
}

void warn_of(const core::Proxies& proxies) {
    for (const std::string& trouble : proxies.troubles())
        report_warning({ErrorKind::config_invalid, trouble,
                        "confinement.network_proxy in the settings names another one, or off"});
}

Result<int> run_judged(const Arguments& arguments, core::SandboxMode mode) {
    const std::string state_directory = state_place(config::Paths::from_environment());
    const std::unique_ptr<Admission> admission = TRY(open_admission(arguments, mode));
    RunOrder order;
    order.is_quiet = arguments.has("quiet");
    sandbox::LaunchOrder& launch = order.launch;
    const bool is_confined = mode != core::SandboxMode::danger_full_access;
    if (is_confined && !state_directory.empty()) {
        launch.journal = state_directory + "/placeholders";
        sandbox::sweep(launch.journal);
    }
    if (is_confined) launch.machine = TRY(this_machine(state_directory));
    TRY(admission->admit(arguments.operands(), is_confined ? &launch.machine : nullptr));
    if (const std::vector<std::string> withheld = admission->withheld();
        !withheld.empty() && !order.is_quiet)
        report_withheld(withheld);
    launch.request = admission->request();
    if (std::optional<server::SandboxOrder> sandbox = admission->confinement()) {
        launch.policy = std::move(sandbox->policy);
        // No question follows, under any approval policy.
        launch.policy.reports_writes = arguments.has("report-writes");
        launch.context = std::move(sandbox->context);
        launch.context.known.clear(); // all of them are of this run
        for (core::HostRule& rule : TRY(allowed_hosts(arguments)))
            launch.context.hosts.push_back(std::move(rule));
        launch.context.looks_afterwards = true;
        const bool asks = arguments.value("network").value_or("") == "ask";
        const std::unique_ptr<RunHosts> hosts = admission->hosts(asks);
        sandbox::WayOut way_out;
        way_out.proxies = admission->proxies();
        launch.way_out = &way_out;
        if (hosts && !order.is_quiet) warn_of(way_out.proxies);
        if (asks && hosts && !hosts->has_terminal() && !order.is_quiet)
            report_warning({ErrorKind::denied,
                            "there is no terminal to ask on: hosts that nothing allows are refused",
                            "--allow-host names hosts; rules allow them, too (docs/rules.md)"});
        order.hosts = hosts.get();
        return run_confined(order, *admission);
    }
    Error error = execute(std::move(launch.request));
    admission->note_failure(error);
    return error;
}

Result<int> run_in(core::SandboxMode mode, const Arguments& arguments) {
    const bool is_confined = mode != core::SandboxMode::danger_full_access;
    const bool has_rules = !is_in_a_sandbox_without_rules();
    const bool must_confine = is_confined && !(has_rules && arguments.has("best-effort"));
    if (sandbox::is_in_sandbox() && must_confine) return already_confined();
    if (has_rules) return run_judged(arguments, mode);
    os::SpawnRequest request;
    request.argv = arguments.operands();
    request.arg0 = request.argv.front();
    request.environment = server::own_environment();
    request.directory = directory_of(arguments);
    return execute(std::move(request));
}

int run(const Arguments& arguments) {
    const auto mode =
        config::value_named<core::SandboxMode>(arguments.value("sandbox").value_or(""));
    Result<int> status = run_in(mode.value_or(core::SandboxMode::workspace_write), arguments);
    if (status) return *status;
    report_error(status.error());
    return status_of_failure(status.error());
}

} // namespace

constinit const Command run_command = {.name = "run",
                                       .summary = "run one command in a sandbox, from a shell",
                                       .about = about,
                                       .options = options,
                                       .notes = notes,
                                       .actions = actions,
                                       .run = run,
                                       .usage_status = status_not_run};

} // namespace ew::cli
