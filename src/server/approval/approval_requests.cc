#include "server/approval/approval_requests.h"

#include "core/judgement/further_words.h"
#include "core/text/display.h"
#include "json/strings.h"
#include "protocol/settings.h"
#include "server/approval/approval_grant.h"
#include "server/approval/explanation.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace ew::server {

namespace {

Result<core::RuleSet> rules_of(const std::vector<protocol::RuleInput>& inputs) {
    core::RuleSet rules;
    for (const protocol::RuleInput& input : inputs) {
        core::PrefixRule& rule = rules.rules.emplace_back();
        for (const std::string& word : input.prefix)
            rule.prefix.push_back({word});
        rule.decision = input.decision;
        rule.justification = input.justification.value_or("");
        rule.layer = core::RuleLayer::user;
        rule.origin = fmt::format("rules[{}]", rules.rules.size() - 1);
        if (Result<void> sound = core::check(rule); !sound)
            return Error{ErrorKind::invalid_params,
                         fmt::format("{}: {}", rule.origin, sound.error().message), "",
                         rule.origin};
    }
    return rules;
}

} // namespace

void ApprovalRequests::list(Reply reply) {
    Result<std::vector<protocol::ApprovalInfo>> approvals = records_.list();
    if (!approvals) return reply.fail(approvals.error());
    // A client that knows the id of another session could resume it.
    for (protocol::ApprovalInfo& approval : *approvals)
        if (approval.session != session_.id()) approval.session.reset();
    reply.send(protocol::ApprovalsListResult{std::move(*approvals)});
}

void ApprovalRequests::handle(Reply reply, const protocol::ApprovalsRevokeParams& params) {
    Result<std::uint64_t> revoked = records_.revoke(params);
    if (!revoked) return reply.fail(revoked.error());
    reply.send(protocol::ApprovalsRevokeResult{*revoked});
}

void ApprovalRequests::handle(Reply reply, const protocol::ApprovalsGrantParams& params) {
    using protocol::ApprovalScope;
    Result<core::RuleSet> sound = rules_of({{params.prefix, core::Decision::allow, {}}});
    if (!sound)
        return reply.fail({ErrorKind::invalid_params,
                           "prefix: expected the name of a program first", "", "prefix"});
    if (!core::can_be_approved(params.prefix))
        return reply.fail({ErrorKind::invalid_params,
                           fmt::format("prefix: it is not known what '{}' does with further words "
                                       "or with its input",
                                       core::shell_quoted(params.prefix)),
                           "name a command of docs/approvals.md, or write a rule by hand",
                           "prefix"});
    if (params.scope == ApprovalScope::directory || params.scope == ApprovalScope::workspace)
        return reply.fail({ErrorKind::invalid_params,
                           "scope: expected one of session, project and always", "", "scope"});
    records_.begin_session();
    Question question;
    question.request.argv = params.prefix;
    question.request.proposed_prefix_rule = params.prefix;
    question.project = session_.project();
    protocol::ApprovalAnswer answer;
    answer.decision = protocol::ApprovalDecision::approved_with_prefix_rule;
    answer.scope = params.scope;
    answer.expires_in_ms = params.expires_in_ms;
    answer.reason = params.reason;
    store::Grant grant = approval_grant(question, answer, session_.id());
    grant.origin = "client";
    store::AuditRow author;
    author.event = "grant";
    author.argv = json::strings_to_json(params.prefix);
    author.decision = json::name_of(params.scope);
    author.decided_by = "client";
    Result<std::int64_t> id = records_.grant(grant, std::move(author));
    if (!id) return reply.fail(id.error());
    reply.send(protocol::ApprovalsGrantResult{fmt::format("{}", *id)});
}

void ApprovalRequests::handle(Reply reply, const protocol::PolicyExplainParams& params) {
    protocol::ExecCommandParams call;
    call.command = params.command;
    call.argv = params.argv;
    call.workdir = params.workdir;
    call.shell = params.shell;
    call.login = params.login;
    call.env = params.env;
    call.sandbox_permissions = params.sandbox_permissions;
    call.prefix_rule = params.prefix_rule;
    SessionSettings settings = session_.settings();
    protocol::Settings changes;
    changes.approval_policy = params.approval_policy;
    changes.sandbox = params.sandbox;
    apply(settings, changes);
    Result<ExecPlan> plan = plan_exec(call, {settings,
                                             gate_.login_shell(),
                                             session_.tag(),
                                             {},
                                             session_.setup().config.environment.set});
    if (!plan) return reply.fail(plan.error());
    core::RuleSet only_rules;
    if (params.rules) {
        Result<core::RuleSet> given = rules_of(*params.rules);
        if (!given) return reply.fail(given.error());
        only_rules = std::move(*given);
    }
    // A command whose program is missing can be judged, too.
    const bool has_program = static_cast<bool>(find_program(*plan));
    const Gate::Ruling ruling =
        gate_.preview(*plan, call, settings, params.rules ? &only_rules : nullptr);
    protocol::PolicyExplainResult result = explanation_of(ruling.judgement);
    result.decision = ruling.decision;
    if (ruling.decided_by == "grant")
        result.reason = fmt::format("allowed before: {}", ruling.rule);
    if (has_program) result.program = plan->program;
    reply.send(result);
}

} // namespace ew::server
