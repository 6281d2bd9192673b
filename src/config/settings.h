// The list of all settings: names, meanings, bounds. Code that reads, shows or documents settings
// uses this list.
#pragma once

#include "config/config.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace ew::config {

struct Setting {
    std::string_view table; // empty: the top of the file
    std::string_view name;
    std::string_view meaning; // a sentence or two
    std::int64_t least = 0;   // lower bound of a number
    std::int64_t most = std::numeric_limits<std::int32_t>::max();

    std::string full_name() const {
        return std::string(table) + (table.empty() ? "" : ".") + std::string(name);
    }
};

// The names of an enum's values in the file, in their order.
template <class Enum>
constexpr std::array<std::string_view, 0> names_of = {};

template <>
inline constexpr std::array<std::string_view, 5> names_of<core::ApprovalPolicy> = {
    "untrusted", "on-failure", "on-request", "never", "granular"};

template <>
inline constexpr std::array<std::string_view, 4> names_of<core::SandboxMode> = {
    "danger-full-access", "read-only", "workspace-write", "external-sandbox"};

template <>
inline constexpr std::array<std::string_view, 3> names_of<core::EnvironmentPolicy::Inherit> = {
    "all", "core", "none"};

template <>
inline constexpr std::array<std::string_view, 2> names_of<Enforcement> = {"require", "best-effort"};

template <class Enum>
std::string_view name_of(Enum value) {
    return names_of<Enum>[static_cast<std::size_t>(value)];
}

// Returns nullopt if no value has that name.
template <class Enum>
std::optional<Enum> value_named(std::string_view name) {
    const auto found = std::ranges::find(names_of<Enum>, name);
    if (found == names_of<Enum>.end()) return std::nullopt;
    return static_cast<Enum>(found - names_of<Enum>.begin());
}

template <class Visitor>
void visit_approval_settings(Visitor& visit, Config& config) {
    visit({"", "approval_policy",
           "When a person is asked before a command runs. It does not decide how commands are "
           "confined."},
          config.approval_policy);
    visit({"", "approval_timeout_ms",
           "How long a question waits for its answer before the call is denied. 0: as long as it "
           "takes."},
          config.approval_timeout);
    visit({"", "sandbox",
           "How commands are confined. What cannot be confined as asked for is not run."},
          config.sandbox);
}

template <class Visitor>
void visit_confinement_settings(Visitor& visit, Config& config) {
    ConfinementOptions& confinement = config.confinement;
    visit({"confinement", "writable_roots",
           "Directories that commands may change with workspace-write, beside the workspace. "
           "Absolute paths."},
          confinement.writable_roots);
    visit({"confinement", "deny_read",
           "What commands cannot read, with read-only and workspace-write: absolute paths, and "
           "patterns of them with * ? [ or {a,b}."},
          confinement.deny_read);
    visit(
        {"confinement", "read_only",
         "What stays read-only where it exists in writable directories: names below each of them, "
         "absolute paths, and ~/… in the home directory. What git and execward's own agents obey "
         "is read-only without being listed."},
        confinement.read_only);
    visit({"confinement", "network_access", "Let confined commands use the network."},
          confinement.network_access);
    visit({"confinement", "network_by_host",
           "Let confined commands reach the hosts that [[network]] rules allow, and no others. "
           "Counts before network_access."},
          confinement.network_by_host);
    visit(
        {"confinement", "network_observe",
         "Let confined commands reach every public host that no rule is strict about, and note in "
         "the audit which ones. Counts before network_by_host."},
        confinement.network_observe);
    visit({"confinement", "network_proxy",
           "The HTTP proxy through which a network by host leads out: http://HOST:PORT, or off. "
           "Empty: as HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY say."},
          confinement.network_proxy);
    visit({"confinement", "shared_tmp",
           "With workspace-write: /tmp and $TMPDIR are the machine's, and writable. Otherwise a "
           "session has a /tmp of its own, which goes when it ends."},
          confinement.shared_tmp);
    visit({"confinement", "exclude_slash_tmp", "With shared_tmp: /tmp is not writable."},
          confinement.exclude_slash_tmp);
    visit({"confinement", "exclude_tmpdir_env_var", "With shared_tmp: $TMPDIR is not writable."},
          confinement.exclude_tmpdir_env_var);
    visit({"confinement", "enforcement",
           "What happens if the machine cannot keep a promise of the confinement. require: the "
           "command does not run. best-effort: it runs, and what is missing is told."},
          confinement.enforcement);
    visit({"confinement", "report_writes",
           "Tell refused changes of files as denials, which makes each opening for writing slower. "
           "Commands of exec/command tell them in any case where the approval policy may ask "
           "after them."},
          confinement.report_writes);
    visit(
        {"confinement", "private_caches",
         "Without shared_tmp: go, npm, pip, ccache and other known tools keep their caches in the "
         "session's own /tmp, where a variable can say so. Otherwise they fail where the home "
         "directory is read-only."},
        confinement.private_caches);
}

template <class Visitor>
void visit_granular_settings(Visitor& visit, Config& config) {
    core::GranularFlags& granular = config.granular;
    visit({"granular", "sandbox_approval",
           "With approval_policy granular: questions about leaving or widening the sandbox, and "
           "about commands that no rule mentions. false refuses them unasked."},
          granular.sandbox_approval);
    visit({"granular", "rules", "The same for questions that a rule asks for."}, granular.rules);
    visit({"granular", "skill_approval", "The same for questions about skills."},
          granular.skill_approval);
    visit({"granular", "request_permissions",
           "The same for questions of calls that ask to leave or widen the sandbox."},
          granular.request_permissions);
    visit({"granular", "mcp_elicitations", "The same for questions of MCP servers."},
          granular.mcp_elicitations);
}

template <class Visitor>
void visit_exec_settings(Visitor& visit, Config& config) {
    constexpr std::int64_t an_hour = 3'600'000; // milliseconds
    visit({"", "shell",
           "The shell for scripts: bash, dash, ksh, sh, zsh or an absolute path. Empty: the "
           "user's own if it is one of these."},
          config.shell);
    visit({"", "login_shell", "Start it as a login shell, which reads the profile."},
          config.login_shell);
    visit({"", "max_output_tokens",
           "The most output an answer holds, in tokens of 4 bytes; more is cut out of the middle.",
           0, most_output_tokens},
          config.max_output_tokens);
    visit(
        {"", "default_yield_ms", "How long exec/command waits for the command to end.", 0, an_hour},
        config.default_yield);
    visit({"", "write_yield_ms", "How long exec/writeStdin waits after it typed something.", 0,
           an_hour},
          config.write_yield);
    visit({"", "min_yield_ms", "Calls that ask for a shorter wait get this one.", 0, an_hour},
          config.min_yield);
    visit({"", "max_yield_ms", "Calls that ask for a longer wait get this one.", 0, an_hour},
          config.max_yield);
    visit({"", "min_poll_ms", "The same as min_yield_ms for exec/writeStdin that types nothing.", 0,
           an_hour},
          config.min_poll);
    visit({"", "max_poll_ms", "The same as max_yield_ms for exec/writeStdin that types nothing.", 0,
           an_hour},
          config.max_poll);
}

template <class Visitor>
void visit_environment_settings(Visitor& visit, Config& config) {
    core::EnvironmentPolicy& environment = config.environment;
    visit({"environment", "inherit", "Which of the server's own variables commands get."},
          environment.inherit);
    bool default_excludes = !environment.ignore_default_excludes;
    visit({"environment", "default_excludes",
           "Keep back variables whose name has a word such as KEY, SECRET, TOKEN or PASSWORD."},
          default_excludes);
    environment.ignore_default_excludes = !default_excludes;
    visit({"environment", "exclude",
           "Patterns of more names to keep back, such as AWS_*. Case does not matter."},
          environment.exclude);
    visit({"environment", "set", "Variables to add or replace."}, environment.set);
    visit({"environment", "include_only",
           "If there are any: patterns of the only names to keep, also of those that are set."},
          environment.include_only);
}

template <class Visitor>
void visit_place_settings(Visitor& visit, Config& config) {
    visit({"", "default_environment",
           "Where commands run that name no environment: the id of one below. Empty or local: on "
           "this machine."},
          config.default_environment);
    visit({"", "environments",
           "Where commands can run beside this machine: behind servers that are started as "
           "programs."},
          config.environments);
}

template <class Visitor>
void visit_store_settings(Visitor& visit, Config& config) {
    constexpr std::int64_t a_minute = 60'000;  // milliseconds
    constexpr std::int64_t a_century = 36'500; // days
    visit({"", "database",
           "The file of approvals and of the audit, or :memory: for none. Empty: execward.db in "
           "the state directory."},
          config.database);
    visit({"", "audit_flush_ms",
           "Rows of the audit that need not be on the disk before anything else happens are "
           "written at most so long after.",
           0, a_minute},
          config.audit_flush);
    visit({"", "audit_keep_days", "Older rows of the audit are deleted. 0: never.", 0, a_century},
          config.audit_keep_days);
    visit({"", "session_keep_days",
           "Sessions that are not used for so long are forgotten, with their approvals.", 1,
           a_century},
          config.session_keep_days);
}

// Calls visit(Setting, value) for each setting, in the order of the tables of the file.
template <class Visitor>
void visit_settings(Visitor& visit, Config& config) {
    visit_approval_settings(visit, config);
    visit_exec_settings(visit, config);
    visit_place_settings(visit, config);
    visit_store_settings(visit, config);
    visit_confinement_settings(visit, config);
    visit_granular_settings(visit, config);
    visit_environment_settings(visit, config);
}

} // namespace ew::config
