#include "server/request/exec_request.h"

#include "base/byte_buffer.h"
#include "core/judgement/command_safety.h"
#include "core/judgement/judgement.h"
#include "core/output/utf8.h"
#include "core/sha256.h"
#include "core/text/long_words.h"
#include "json/writer.h"
#include "os/io.h"
#include "os/programs.h"
#include "sandbox/launch/init_place.h"
#include "server/request/sandbox_request.h"
#include "server/request/start_request.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

namespace ew::server {

namespace {

using protocol::ExecCommandParams;
using protocol::ExecMode;

std::string_view value_of(const core::Variables& variables, std::string_view name) {
    const auto at = std::find_if(variables.begin(), variables.end(),
                                 [&](const auto& variable) { return variable.first == name; });
    return at == variables.end() ? std::string_view() : std::string_view(at->second);
}

Result<std::string> resolve_directory(const std::optional<std::string>& wanted,
                                      const std::string& root) {
    const bool is_relative = wanted && !wanted->empty() && wanted->front() != '/';
    std::string path = is_relative ? fmt::format("{}/{}", root, *wanted) : wanted.value_or("");
    if (path.empty()) path = root;
    if (path.find('\0') != std::string::npos)
        return Error{ErrorKind::invalid_params, "workdir: expected a path without NUL", "",
                     "workdir"};
    const std::string result = os::real_path(path).value_or("");
    struct stat info = {};
    if (result.empty() || ::stat(result.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
        return Error{ErrorKind::spawn_not_found,
                     fmt::format("the directory '{}' does not exist", core::shortened(path)),
                     "give an existing directory as workdir", "workdir"};
    return result;
}

Result<os::ShellProgram> shell_of(const ExecCommandParams& params, const ExecPlace& place) {
    if (!params.command || !params.shell) return place.login_shell;
    return os::find_shell(params.shell);
}

// They come last, so that a program of that name elsewhere stays what it was. Without PATH, there
// is none.
void add_tools(core::Variables& variables) {
    static const std::string tools = sandbox::tools_place();
    const auto path = std::ranges::find(variables, "PATH", &core::Variables::value_type::first);
    if (path != variables.end() && !path->second.empty()) path->second.append(":").append(tools);
}

// Plans the confinement of the session, with the additional permissions of the call.
Result<void> plan_confinement(ExecPlan& plan, const ExecCommandParams& params,
                              const ExecPlace& place) {
    const SessionSettings& settings = place.settings;
    sandbox::Additions additions;
    if (params.additional_permissions)
        additions = TRY(additions_of(*params.additional_permissions, plan.workdir));
    TRY(confine(plan, params, settings, std::move(additions)));
    if (!plan.policy) return {};
    // Leaves out the variables that the call sets: TMPDIR names a writable directory.
    const core::ExecEnvironment usual = core::exec_environment(
        settings.config.environment, own_environment(), place.session_tag, {});
    plan.context = context_of(settings, plan.workdir, tmpdir_in(usual.variables), place.hidden);
    return {};
}

// Returns everything that an approval of a confined run depends on, each part as a word.
std::vector<std::string> words_of(const sandbox::Policy& policy) {
    const auto number = [](auto value) { return static_cast<unsigned>(value); };
    std::vector<std::string> words = {
        fmt::format("{} {} {} {} {} {}", number(policy.file_system), number(policy.network),
                    policy.has_private_tmp, policy.protects_metadata, policy.glob_depth.value_or(0),
                    number(policy.enforcement))};
    for (const sandbox::Entry& entry : policy.entries)
        words.push_back(fmt::format("{} {} {} {} {}", number(entry.kind), number(entry.special),
                                    number(entry.access), entry.skip_if_missing, entry.path));
    words.insert(words.end(), policy.read_only.begin(), policy.read_only.end());
    return words;
}

} // namespace

ExecMode mode_of(const ExecCommandParams& params) {
    if (params.argv) return ExecMode::direct;
    return params.tty ? ExecMode::interactive_shell : ExecMode::shell;
}

Result<std::vector<std::string>> argv_of(const ExecCommandParams& params,
                                         const os::ShellProgram& shell, bool is_login) {
    if (params.command.has_value() == params.argv.has_value())
        return Error{ErrorKind::invalid_params, "command: expected exactly one of command and argv",
                     "command is a script for the shell, argv a program with its arguments",
                     "command"};
    if (params.command) return os::shell_argv(shell, is_login, *params.command);
    if (params.shell || params.login)
        return Error{ErrorKind::invalid_params,
                     "shell: expected to be absent with argv, which no shell runs", "",
                     params.shell ? "shell" : "login"};
    if (params.argv->front().empty())
        return Error{ErrorKind::invalid_params, "argv[0]: expected a string that is not empty", "",
                     "argv[0]"};
    return *params.argv;
}

Result<void> confine(ExecPlan& plan, const ExecCommandParams& params,
                     const SessionSettings& settings, sandbox::Additions additions) {
    plan.sandbox_mode = settings.config.sandbox;
    plan.extra.permissions = params.sandbox_permissions;
    sandbox::Policy policy = policy_of(settings);
    if (!sandbox::needs_sandbox(policy)) return {}; // without a sandbox, nothing can be added
    plan.policy = std::move(policy);
    plan.extra.additions = std::move(additions);
    return sandbox::check(sandbox::widened(*plan.policy, plan.extra.additions));
}

void add_own_variables(ExecPlan& plan, const ExecCommandParams& params,
                       const SessionSettings& settings, const core::Variables& set_by_user) {
    core::Variables by_client = settings.config.environment.set;
    std::erase_if(by_client, [&](const auto& variable) {
        return std::find(set_by_user.begin(), set_by_user.end(), variable) != set_by_user.end();
    });
    for (const auto& variable : core::overlaid(std::move(by_client), params.env)) {
        if (core::is_inert_variable(variable.first, variable.second)) continue;
        plan.own_variables.push_back(fmt::format("{}={}", variable.first, variable.second));
    }
    std::sort(plan.own_variables.begin(), plan.own_variables.end());
}

bool is_login_shell(const ExecCommandParams& params, const SessionSettings& settings) {
    if (params.command) return params.login.value_or(settings.config.login_shell);
    return params.argv && core::is_plain_shell_call(*params.argv) &&
           core::shell_call(*params.argv).is_login;
}

Result<ExecPlan> plan_exec(const ExecCommandParams& params, const ExecPlace& place) {
    ExecPlan plan;
    plan.mode = mode_of(params);
    plan.is_login = is_login_shell(params, place.settings);
    const os::ShellProgram shell = TRY(shell_of(params, place));
    plan.argv = TRY(argv_of(params, shell, plan.is_login));
    plan.workdir = TRY(resolve_directory(params.workdir, place.settings.workspace_roots.front()));
    plan.environment = core::exec_environment(place.settings.config.environment, own_environment(),
                                              place.session_tag, params.env);
    add_tools(plan.environment.variables);
    add_own_variables(plan, params, place.settings, place.set_by_user);
    if (params.tty) plan.terminal = window_size(params.size.value_or(protocol::WindowSize{}));
    TRY(plan_confinement(plan, params, place));
    return plan;
}

std::string_view search_path(const ExecPlan& plan) {
    return value_of(plan.environment.variables, "PATH");
}

bool has_utf8_locale(const ExecPlan& plan) {
    for (const std::string_view name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const std::string_view locale = value_of(plan.environment.variables, name);
        if (locale.empty()) continue; // locale(7): the first one that is set and not empty
        const std::string_view charset = locale.substr(std::min(locale.find('.'), locale.size()));
        return locale == "C" || locale == "POSIX" || charset.starts_with(".UTF-8") ||
               charset.starts_with(".utf8");
    }
    return true;
}

Result<void> find_program(ExecPlan& plan) {
    plan.program = TRY(os::resolve_program(plan.argv.front(), search_path(plan), plan.workdir));
    return {};
}

os::SpawnRequest spawn_request(const ExecPlan& plan, core::Hardening hardening, bool has_stdin) {
    os::SpawnRequest request;
    request.argv = plan.argv;
    request.arg0 = plan.argv.front();
    request.argv.front() = plan.program;
    if (plan.mode != ExecMode::direct && plan.argv.back().size() > core::longest_word) {
        os::ScriptInFile in_file = os::script_in_file(plan.program, plan.argv.back());
        request.argv.back() = std::move(in_file.command);
        request.script = std::move(in_file.content);
    }
    request.directory = plan.workdir;
    request.environment = core::hardened(plan.environment.variables, hardening);
    request.terminal = plan.terminal;
    request.pipe_stdin = has_stdin;
    return request;
}

std::optional<SandboxOrder> confined_start(const ExecPlan& plan, const ExtraPermissions& extra) {
    if (!plan.policy || extra.permissions == core::SandboxPermissions::require_escalated)
        return std::nullopt;
    sandbox::Policy policy = sandbox::widened(*plan.policy, extra.additions);
    if (!sandbox::needs_sandbox(policy)) return std::nullopt;
    SandboxOrder order{std::move(policy), plan.context, plan.policy};
    for (core::HostRule& rule : rules_of(extra.additions))
        order.context.hosts.push_back(std::move(rule));
    return order;
}

bool has_network_by_host(const ExecPlan& plan, const ExtraPermissions& extra) {
    if (!plan.policy || plan.remote) return false;
    if (extra.permissions == core::SandboxPermissions::require_escalated) return false;
    return sandbox::widened_network(*plan.policy, extra.additions) == sandbox::Network::hosts;
}

std::string approval_key(const ExecPlan& plan, const ExecCommandParams& params,
                         const ExtraPermissions& extra) {
    ByteBuffer out;
    json::FieldWriter writer(out);
    writer.required("argv", core::canonical_argv(plan.argv));
    writer.required("program", plan.program);
    writer.required("login", plan.is_login);
    if (core::starts_relative_program(plan.argv)) writer.required("directory", plan.workdir);
    writer.required("sandbox", plan.sandbox_mode);
    writer.required("permissions", extra.permissions);
    if (!extra.additions.empty()) writer.required("additional", permissions_of(extra.additions));
    if (confined_start(plan, extra)) writer.required("policy", words_of(*plan.policy));
    writer.required("environment", plan.own_variables);
    if (params.tty) writer.required("tty", true); // input that is typed later is not judged
    writer.optional("stdin", params.stdin_text);
    if (plan.remote) {
        writer.required("elsewhere", plan.remote->environment);
        writer.required("reachedBy", plan.remote->reached_by);
        writer.required("surroundings", plan.remote->surroundings);
    }
    writer.end();
    // The text may hold secrets, and is only compared: its digest is enough.
    return core::sha256(out.view());
}

} // namespace ew::server
