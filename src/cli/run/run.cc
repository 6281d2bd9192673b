// execward run: runs one command in a sandbox, and ends everything that the command started.
#include "cli/run/run.h"

#include "cli/run/admission.h"
#include "cli/run/run_arguments.h"
#include "cli/run/run_report.h"
#include "cli/run/run_session.h"
#include "cli/shared/places.h"
#include "cli/shared/printing.h"
#include "config/config.h"
#include "config/paths.h"
#include "core/network/hosts.h"
#include "core/network/proxy.h"
#include "core/text/display.h"
#include "protocol/settings.h"
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

Result<std::unique_ptr<Admission>> open_admission(const RunArguments& arguments) {
    server::SessionSetup setup = TRY(set_up());
    const std::string directory = TRY(arguments.directory());
    const bool is_quiet = arguments.is_quiet();
    protocol::Settings settings;
    settings.approval_policy = arguments.approval_policy();
    settings.sandbox = arguments.mode();
    settings.confinement = TRY(arguments.confinement(setup.config));
    settings.workspace_roots = {{directory}};
    const server::Warn warn = [is_quiet](const Error& error) {
        if (!is_quiet) report_warning(error);
    };
    if (arguments.is_confined() && !is_quiet)
        tell_if_elsewhere(arguments.given_directory(), directory);
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

void warn_of(const core::Proxies& proxies) {
    for (const std::string& trouble : proxies.troubles())
        report_warning({ErrorKind::config_invalid, trouble,
                        "confinement.network_proxy in the settings names another one, or off"});
}

Result<int> run_judged(const RunArguments& arguments) {
    const std::string state_directory = state_place(config::Paths::from_environment());
    const std::unique_ptr<Admission> admission = TRY(open_admission(arguments));
    RunOrder order;
    order.is_quiet = arguments.is_quiet();
    sandbox::LaunchOrder& launch = order.launch;
    const bool is_confined = arguments.is_confined();
    if (is_confined && !state_directory.empty()) {
        launch.journal = state_directory + "/placeholders";
        sandbox::sweep(launch.journal);
    }
    if (is_confined) launch.machine = TRY(this_machine(state_directory));
    TRY(admission->admit(arguments.command(), is_confined ? &launch.machine : nullptr));
    if (const std::vector<std::string> withheld = admission->withheld();
        !withheld.empty() && !order.is_quiet)
        report_withheld(withheld);
    launch.request = admission->request();
    if (std::optional<server::SandboxOrder> sandbox = admission->confinement()) {
        launch.policy = std::move(sandbox->policy);
        // No question follows, under any approval policy.
        launch.policy.reports_writes = arguments.reports_writes();
        launch.context = std::move(sandbox->context);
        launch.context.known.clear(); // all of them are of this run
        for (core::HostRule& rule : TRY(arguments.allowed_hosts()))
            launch.context.hosts.push_back(std::move(rule));
        launch.context.looks_afterwards = true;
        const bool asks = arguments.asks_about_hosts();
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

Result<int> run_as_asked(const RunArguments& arguments) {
    const bool has_rules = !is_in_a_sandbox_without_rules();
    const bool must_confine = arguments.is_confined() && !(has_rules && arguments.is_best_effort());
    if (sandbox::is_in_sandbox() && must_confine) return already_confined();
    if (has_rules) return run_judged(arguments);
    os::SpawnRequest request;
    request.argv = arguments.command();
    request.arg0 = request.argv.front();
    request.environment = server::own_environment();
    request.directory = arguments.given_directory();
    return execute(std::move(request));
}

int run(const Arguments& arguments) {
    Result<int> status = run_as_asked(RunArguments(arguments));
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
