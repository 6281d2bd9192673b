// The messages of approval/*, approvals/*, policy/* and session/configure.
#pragma once

#include "core/judgement/policy_types.h"
#include "json/types.h"
#include "protocol/exec.h"
#include "protocol/patched_file.h"
#include "protocol/process.h"
#include "protocol/sandbox.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

using core::ApprovalPolicy;

// The settings of a session. An absent member stays unchanged.
struct GranularSettings {
    static constexpr bool refuses_others = true;
    bool sandbox_approval = true;
    bool rules = true;
    bool skill_approval = true;
    bool request_permissions = true;
    bool mcp_elicitations = true;
};

template <class Visitor>
void fields(Visitor& visit, GranularSettings& flags) {
    visit.required("sandboxApproval", flags.sandbox_approval);
    visit.required("rules", flags.rules);
    visit.required("skillApproval", flags.skill_approval);
    visit.required("requestPermissions", flags.request_permissions);
    visit.required("mcpElicitations", flags.mcp_elicitations);
}

// The permissions beyond the mode for a sandbox that Settings::sandbox asks for. Absent members
// stay unchanged.
struct ConfinementSettings {
    static constexpr bool refuses_others = true;
    std::optional<std::vector<Path>> writable_roots = {};
    std::optional<std::vector<std::string>> deny_read = {}; // as in SandboxPolicy
    std::optional<bool> network_access = {};
    std::optional<bool> network_by_host = {};
    std::optional<bool> network_observe = {};
    std::optional<bool> shared_tmp = {};
    std::optional<bool> exclude_slash_tmp = {};
    std::optional<bool> exclude_tmpdir_env_var = {};
    std::optional<Enforcement> enforcement = {};
    std::optional<bool> report_writes = {};
    std::optional<bool> private_caches = {};
    std::optional<std::vector<std::string>> read_only = {};
};

template <class Visitor>
void fields(Visitor& visit, ConfinementSettings& settings) {
    visit.optional("writableRoots", settings.writable_roots);
    visit.optional("denyRead", settings.deny_read);
    visit.optional("readOnly", settings.read_only);
    visit.optional("networkAccess", settings.network_access);
    visit.optional("networkByHost", settings.network_by_host);
    visit.optional("networkObserve", settings.network_observe);
    visit.optional("sharedTmp", settings.shared_tmp);
    visit.optional("excludeSlashTmp", settings.exclude_slash_tmp);
    visit.optional("excludeTmpdirEnvVar", settings.exclude_tmpdir_env_var);
    visit.optional("enforcement", settings.enforcement);
    visit.optional("reportWrites", settings.report_writes);
    visit.optional("privateCaches", settings.private_caches);
}

struct Settings {
    static constexpr bool refuses_others = true;
    std::optional<ApprovalPolicy> approval_policy = {};
    std::optional<GranularSettings> granular = {};
    std::optional<SandboxMode> sandbox = {};
    std::optional<ConfinementSettings> confinement = {};
    std::optional<std::vector<Path>> workspace_roots = {};
    std::optional<std::uint64_t> approval_timeout_ms = {}; // 0: wait without limit
    std::optional<EnvPolicy> env_policy = {};
    std::optional<std::uint64_t> max_output_tokens = {};
};

template <class Visitor>
void fields(Visitor& visit, Settings& settings) {
    visit.optional("approvalPolicy", settings.approval_policy);
    visit.optional("granular", settings.granular);
    visit.optional("sandbox", settings.sandbox);
    visit.optional("confinement", settings.confinement);
    visit.optional("workspaceRoots", settings.workspace_roots, Bounds{1});
    visit.optional("approvalTimeoutMs", settings.approval_timeout_ms);
    visit.optional("envPolicy", settings.env_policy);
    visit.optional("maxOutputTokens", settings.max_output_tokens);
}

enum class ApprovalKind : std::uint8_t {
    command,     // run the command at all
    escalation,  // run the command unconfined
    permissions, // run the command confined, with more permissions
    retry,       // run the command again unconfined, after the sandbox stopped it
    patch,       // change files
    network,     // a program that runs connects to a host
};

enum class ApprovalDecision : std::uint8_t {
    approved,
    approved_for_session,
    approved_with_prefix_rule,
    approved_widened, // stay confined, with the widening of the choice
    edited,           // the command of the answer takes its place, and is judged anew
    denied,
    abort,
    unasked, // the client can ask nobody; needs no offer
};

enum class ApprovalScope : std::uint8_t { directory, workspace, session, project, always };

// The permissions that are added to the confinement.
struct Widening {
    std::vector<std::string> read = {}; // absolute paths
    std::vector<std::string> write = {};
    bool network = false; // full network access
};

template <class Visitor>
void fields(Visitor& visit, Widening& widening) {
    visit.required("read", widening.read);
    visit.required("write", widening.write);
    visit.required("network", widening.network);
}

// One of the possible answers.
struct ApprovalChoice {
    ApprovalDecision decision = ApprovalDecision::denied;
    std::optional<ApprovalScope> scope = {};
    std::string description = {};
    std::optional<Widening> widening = {}; // of approved_widened
};

template <class Visitor>
void fields(Visitor& visit, ApprovalChoice& choice) {
    visit.required("decision", choice.decision);
    visit.optional("scope", choice.scope);
    visit.required("description", choice.description);
    visit.optional("widening", choice.widening);
}

// The texts of a question. They are safe to show: no invisible characters, nothing that moves the
// cursor.
struct ApprovalDisplay {
    std::string command = {};
    std::string program = {};
    std::string workdir = {};
    std::string reason = {};
    std::optional<std::string> justification = {};
    std::optional<std::string> stdin_text = {};
    std::optional<std::string> prefix_rule = {};
    std::vector<std::string> environment = {}; // variables of the call that affect programs
    std::vector<std::string> notes = {};       // other special properties, one sentence each
    bool has_invisible_characters = false;
    bool has_mixed_scripts = false;
};

template <class Visitor>
void fields(Visitor& visit, ApprovalDisplay& display) {
    visit.required("command", display.command);
    visit.required("program", display.program);
    visit.required("workdir", display.workdir);
    visit.required("reason", display.reason);
    visit.optional("justification", display.justification);
    visit.optional("stdin", display.stdin_text);
    visit.optional("prefixRule", display.prefix_rule);
    visit.required("environment", display.environment);
    visit.required("notes", display.notes);
    visit.required("hasInvisibleCharacters", display.has_invisible_characters);
    visit.required("hasMixedScripts", display.has_mixed_scripts);
}

// The connection that a question of kind network is about.
struct NetworkTarget {
    std::string host = {}; // a name in lower case, or an address
    std::uint64_t port = 0;
    bool is_address = false;                    // the program named no name
    std::string program = {};                   // which connects: its path, as far as it is known
    std::vector<std::string> argv = {};         // its own, as it shows them
    std::optional<std::string> rule = {};       // that wants the question
    std::optional<std::string> process_id = {}; // of the command or process that it belongs to
};

template <class Visitor>
void fields(Visitor& visit, NetworkTarget& target) {
    visit.required("host", target.host);
    visit.required("port", target.port);
    visit.required("isAddress", target.is_address);
    visit.required("program", target.program);
    visit.required("argv", target.argv);
    visit.optional("rule", target.rule);
    visit.optional("processId", target.process_id);
}

struct ApprovalRequest {
    std::string approval_id = {};
    std::string call_id = {};
    ApprovalKind kind = ApprovalKind::command;
    std::vector<std::string> argv = {};
    std::string program = {};                    // the absolute path that will run
    std::optional<std::string> environment = {}; // where the command runs; absent: on this machine
    ApprovalDisplay display = {};
    std::string workdir = {};
    bool tty = false;                           // later input to the terminal is not reviewed
    std::optional<std::string> stdin_text = {}; // the text that the program gets as stdin
    std::string reason = {};
    std::optional<std::string> justification = {};
    Confinement sandbox = {};
    std::optional<AdditionalPermissions> additional_permissions = {};
    std::vector<Denial> denials = {};
    std::optional<std::vector<std::string>> proposed_prefix_rule = {};
    std::optional<std::vector<PatchedFile>> files = {}; // of a patch
    std::optional<NetworkTarget> network = {};          // of a connection
    std::vector<ApprovalChoice> available_decisions = {};
};

template <class Visitor>
void fields(Visitor& visit, ApprovalRequest& request) {
    visit.required("approvalId", request.approval_id);
    visit.required("callId", request.call_id);
    visit.required("kind", request.kind);
    visit.required("argv", request.argv);
    visit.required("program", request.program);
    visit.optional("environment", request.environment);
    visit.required("display", request.display);
    visit.required("workdir", request.workdir);
    visit.optional("tty", request.tty);
    visit.optional("stdin", request.stdin_text);
    visit.required("reason", request.reason);
    visit.optional("justification", request.justification);
    visit.required("sandbox", request.sandbox);
    visit.optional("additionalPermissions", request.additional_permissions);
    visit.required("denials", request.denials);
    visit.optional("proposedPrefixRule", request.proposed_prefix_rule);
    visit.optional("files", request.files);
    visit.optional("network", request.network);
    visit.required("availableDecisions", request.available_decisions);
}

struct ApprovalAnswer {
    ApprovalDecision decision = ApprovalDecision::denied;
    std::optional<ApprovalScope> scope = {};
    std::optional<std::uint64_t> expires_in_ms = {};
    std::optional<std::string> reason = {};
    std::optional<std::string> command = {}; // of edited: either this or argv
    std::optional<std::vector<std::string>> argv = {};
};

template <class Visitor>
void fields(Visitor& visit, ApprovalAnswer& answer) {
    visit.required("decision", answer.decision);
    visit.optional("scope", answer.scope);
    visit.optional("expiresInMs", answer.expires_in_ms);
    visit.optional("reason", answer.reason);
    visit.optional("command", answer.command);
    visit.optional("argv", answer.argv, Bounds{1});
}

// How a person allows what a client could ask nobody about; the id of the question follows.
constexpr std::string_view grant_question_command = "execward approvals grant --question=";

enum class GrantKindName : std::uint8_t { command, prefix, denial, question, host };

struct ApprovalInfo {
    std::string id = {};
    GrantKindName kind = GrantKindName::command;
    ApprovalScope scope = ApprovalScope::directory;
    std::string command = {};
    std::optional<std::vector<std::string>> prefix = {};
    std::optional<std::string> directory = {};
    std::optional<std::string> project = {};
    std::optional<std::string> session = {};
    std::string origin = {};
    std::optional<std::string> reason = {};
    std::optional<std::uint64_t> created_at_ms = {};
    std::optional<std::uint64_t> expires_at_ms = {};
    std::optional<std::uint64_t> last_used_at_ms = {};
    std::uint64_t uses = 0;
};

template <class Visitor>
void fields(Visitor& visit, ApprovalInfo& info) {
    visit.required("id", info.id);
    visit.required("kind", info.kind);
    visit.required("scope", info.scope);
    visit.required("command", info.command);
    visit.optional("prefix", info.prefix);
    visit.optional("directory", info.directory);
    visit.optional("project", info.project);
    visit.optional("session", info.session);
    visit.required("origin", info.origin);
    visit.optional("reason", info.reason);
    visit.optional("createdAtMs", info.created_at_ms);
    visit.optional("expiresAtMs", info.expires_at_ms);
    visit.optional("lastUsedAtMs", info.last_used_at_ms);
    visit.required("uses", info.uses);
}

struct ApprovalsListResult {
    std::vector<ApprovalInfo> approvals = {};
};

template <class Visitor>
void fields(Visitor& visit, ApprovalsListResult& result) {
    visit.required("approvals", result.approvals);
}

// Exactly one member says what to revoke.
struct ApprovalsRevokeParams {
    static constexpr bool refuses_others = true;
    std::optional<std::string> id = {};
    std::optional<std::string> session = {};
    std::optional<Path> project = {};
    bool everything = false;
};

template <class Visitor>
void fields(Visitor& visit, ApprovalsRevokeParams& params) {
    visit.optional("id", params.id);
    visit.optional("session", params.session);
    visit.optional("project", params.project);
    visit.optional("everything", params.everything);
}

struct ApprovalsRevokeResult {
    std::uint64_t revoked = 0;
};

template <class Visitor>
void fields(Visitor& visit, ApprovalsRevokeResult& result) {
    visit.required("revoked", result.revoked);
}

struct ApprovalsGrantParams {
    static constexpr bool refuses_others = true;
    std::vector<std::string> prefix = {};
    ApprovalScope scope = ApprovalScope::session; // session, project or always
    std::optional<std::uint64_t> expires_in_ms = {};
    std::optional<std::string> reason = {};
};

template <class Visitor>
void fields(Visitor& visit, ApprovalsGrantParams& params) {
    visit.required("prefix", params.prefix, Bounds{1});
    visit.required("scope", params.scope);
    visit.optional("expiresInMs", params.expires_in_ms);
    visit.optional("reason", params.reason);
}

struct ApprovalsGrantResult {
    std::string id = {};
};

template <class Visitor>
void fields(Visitor& visit, ApprovalsGrantResult& result) {
    visit.required("id", result.id);
}

using DecisionName = core::Decision;

struct RuleInput {
    static constexpr bool refuses_others = true;
    std::vector<std::string> prefix = {};
    DecisionName decision = DecisionName::prompt;
    std::optional<std::string> justification = {};
};

template <class Visitor>
void fields(Visitor& visit, RuleInput& rule) {
    visit.required("prefix", rule.prefix, Bounds{1});
    visit.required("decision", rule.decision);
    visit.optional("justification", rule.justification);
}

struct PolicyExplainParams {
    static constexpr bool refuses_others = true;
    std::optional<std::string> command = {}; // either this or argv
    std::optional<std::vector<std::string>> argv = {};
    std::optional<std::string> workdir = {};
    std::optional<std::string> cwd = {}; // another name of workdir; decode() moves it there
    std::optional<std::string> shell = {};
    std::optional<bool> login = {};
    StringMap env = {};
    std::optional<ApprovalPolicy> approval_policy = {};
    std::optional<SandboxMode> sandbox = {};
    SandboxPermissions sandbox_permissions = SandboxPermissions::use_default;
    std::optional<std::vector<std::string>> prefix_rule = {};
    std::optional<std::vector<RuleInput>> rules = {}; // these instead of the rules in force
};

template <class Visitor>
void fields(Visitor& visit, PolicyExplainParams& params) {
    visit.optional("command", params.command);
    visit.optional("argv", params.argv, Bounds{1});
    visit.optional("workdir", params.workdir);
    visit.optional("cwd", params.cwd);
    visit.optional("shell", params.shell);
    visit.optional("login", params.login);
    visit.optional("env", params.env);
    visit.optional("approvalPolicy", params.approval_policy);
    visit.optional("sandbox", params.sandbox);
    visit.optional("sandboxPermissions", params.sandbox_permissions);
    visit.optional("prefixRule", params.prefix_rule);
    visit.optional("rules", params.rules);
}

struct CommandVerdict {
    std::vector<std::string> words = {};
    DecisionName decision = DecisionName::prompt;
    std::string why = {};
    std::optional<std::string> rule = {};
    std::optional<std::string> justification = {};
};

template <class Visitor>
void fields(Visitor& visit, CommandVerdict& verdict) {
    visit.required("words", verdict.words);
    visit.required("decision", verdict.decision);
    visit.required("why", verdict.why);
    visit.optional("rule", verdict.rule);
    visit.optional("justification", verdict.justification);
}

struct PolicyExplainResult {
    DecisionName decision = DecisionName::prompt;
    std::string reason = {};
    std::optional<std::string> obstacle = {}; // why the script could not be decomposed
    std::vector<CommandVerdict> commands = {};
    std::optional<std::vector<std::string>> proposed_prefix_rule = {};
    std::optional<std::string> program = {}; // the absolute path that would run
};

template <class Visitor>
void fields(Visitor& visit, PolicyExplainResult& result) {
    visit.required("decision", result.decision);
    visit.required("reason", result.reason);
    visit.optional("obstacle", result.obstacle);
    visit.required("commands", result.commands);
    visit.optional("proposedPrefixRule", result.proposed_prefix_rule);
    visit.optional("program", result.program);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<core::ApprovalPolicy> {
    static constexpr std::array<std::string_view, 5> list = {"untrusted", "on-failure",
                                                             "on-request", "never", "granular"};
};

template <>
struct Names<core::Decision> {
    static constexpr std::array<std::string_view, 3> list = {"allow", "prompt", "forbidden"};
};

template <>
struct Names<protocol::ApprovalKind> {
    static constexpr std::array<std::string_view, 6> list = {"command", "escalation", "permissions",
                                                             "retry",   "patch",      "network"};
};

template <>
struct Names<protocol::ApprovalDecision> {
    static constexpr std::array<std::string_view, 8> list = {"approved",
                                                             "approvedForSession",
                                                             "approvedWithPrefixRule",
                                                             "approvedWidened",
                                                             "edited",
                                                             "denied",
                                                             "abort",
                                                             "unasked"};
};

template <>
struct Names<protocol::ApprovalScope> {
    static constexpr std::array<std::string_view, 5> list = {"directory", "workspace", "session",
                                                             "project", "always"};
};

template <>
struct Names<protocol::GrantKindName> {
    static constexpr std::array<std::string_view, 5> list = {"command", "prefix", "denial",
                                                             "question", "host"};
};

} // namespace ew::json
