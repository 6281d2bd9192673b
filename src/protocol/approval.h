// The question that a person is asked before something runs, and the answer: approval/request.
#pragma once

#include "json/types.h"
#include "protocol/patched_file.h"
#include "protocol/permissions.h"
#include "protocol/sandbox.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

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

} // namespace ew::protocol

namespace ew::json {

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

} // namespace ew::json
