// What persons have allowed or denied for later: the messages of approvals/*.
#pragma once

#include "json/types.h"
#include "protocol/approval.h"
#include "protocol/sandbox.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

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

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::GrantKindName> {
    static constexpr std::array<std::string_view, 5> list = {"command", "prefix", "denial",
                                                             "question", "host"};
};

} // namespace ew::json
