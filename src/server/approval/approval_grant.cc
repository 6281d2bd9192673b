#include "server/approval/approval_grant.h"

#include "core/judgement/judgement.h"
#include "core/network/internet.h"
#include "core/text/display.h"
#include "server/approval/approval_book.h"
#include "server/request/extra_permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ew::server {

using protocol::ApprovalAnswer;
using protocol::ApprovalDecision;
using protocol::ApprovalKind;
using protocol::ApprovalScope;

namespace {

constexpr Millis question_keep_time{24 * 3600 * 1000};

// Returns text for the list of approvals: the environment, if it is not this machine, and the
// permissions beyond the session's sandbox.
std::string extent_of(const Question& question, bool is_widened) {
    std::string extent;
    if (question.request.environment)
        extent = fmt::format("in the environment {}", *question.request.environment);
    const std::string_view separator = extent.empty() ? "" : ", ";
    const bool is_retry = question.request.kind == ApprovalKind::retry && !is_widened;
    if (question.request.kind == ApprovalKind::escalation || is_retry)
        return fmt::format("{}{}outside the sandbox", extent, separator);
    if (!is_widened && question.request.kind != ApprovalKind::permissions) return extent;
    return fmt::format("{}{}in the sandbox, and it may also {}", extent, separator,
                       described(question.widening.value_or(sandbox::Additions{})));
}

void name_command(store::Grant& grant, const Question& question) {
    const std::vector<std::string> prefix =
        question.request.proposed_prefix_rule.value_or(std::vector<std::string>());
    const bool is_prefix = grant.kind == store::GrantKind::prefix;
    if (is_prefix) grant.key = key_of_prefix(prefix);
    grant.command = fmt::format(
        "{}", fmt::join(is_prefix ? prefix : core::canonical_argv(question.request.argv), " "));
}

// The name is written as it is looked up.
std::string described(const protocol::NetworkTarget& target) {
    return fmt::format("connect to {}",
                       core::shown(target.host, static_cast<std::uint16_t>(target.port)));
}

} // namespace

store::Grant approval_grant(const Question& question, const ApprovalAnswer& answer,
                            const std::string& session) {
    const bool is_prefix = answer.decision == ApprovalDecision::approved_with_prefix_rule;
    const bool is_widened = answer.decision == ApprovalDecision::approved_widened;
    const bool is_host = question.request.kind == ApprovalKind::network;
    store::Grant grant;
    grant.kind = is_prefix ? store::GrantKind::prefix
                 : is_host ? store::GrantKind::host
                           : store::GrantKind::command;
    if (answer.decision == ApprovalDecision::denied) grant.kind = store::GrantKind::denial;
    grant.scope = to_store(answer.scope.value_or(is_prefix || is_host ? ApprovalScope::session
                                                                      : ApprovalScope::directory));
    const bool is_unasked = answer.decision == ApprovalDecision::unasked;
    if (is_unasked) {
        grant.kind = store::GrantKind::question;
        grant.scope =
            question.project.empty() ? store::GrantScope::always : store::GrantScope::project;
    }
    grant.key = is_widened ? question.widened_key : question.grant_key;
    name_command(grant, question);
    if (is_host) grant.command = described(*question.request.network);
    grant.directory = question.request.workdir;
    if (grant.scope == store::GrantScope::workspace) grant.directory = question.workspace_root;
    if (store::ends_with_session(grant.scope)) grant.session = session;
    grant.project = question.project;
    grant.origin = "approval";
    grant.reason = answer.reason.value_or(question.request.justification.value_or(""));
    if (is_unasked) { // the person reads this before deciding: nothing of it is the agent's
        if (!is_host) grant.command = core::shell_quoted(question.request.argv);
        grant.reason.clear();
    }
    if (const std::string extent = extent_of(question, is_widened); !extent.empty())
        grant.reason =
            fmt::format("{}{}{}", extent, grant.reason.empty() ? "" : ": ", grant.reason);
    grant.created_at = store::Moment::now().wall;
    if (is_unasked) grant.expires_at = grant.created_at + question_keep_time.count();
    if (answer.expires_in_ms)
        grant.expires_at =
            grant.created_at +
            static_cast<std::int64_t>(std::min(*answer.expires_in_ms, std::uint64_t{1} << 52));
    return grant;
}

} // namespace ew::server
