#include "server/exec/call_judge.h"

#include "core/text/long_words.h"
#include "server/approval/host_gate.h"
#include "server/exec/attempt.h"
#include "server/exec/exec_results.h"
#include "server/exec/expected_confinement.h"
#include "server/exec/plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::server {

namespace exec_call = core::exec_call;
namespace event = core::exec_call::event;
using core::exec_call::Bounds;
using core::exec_call::Refusals;

namespace {

std::string home_directory() {
    const char* const home = std::getenv("HOME");
    return home == nullptr ? std::string() : home;
}

// `hindrance` says why the program cannot run. Such a call asks no question.
exec_call::Verdict verdict_on(const Gate::Ruling& ruling, const ExecPlan& plan,
                              const Session& session, std::optional<Error> hindrance) {
    const config::Config& config = session.settings().config;
    const bool can_ask = session.answers_questions();
    exec_call::Verdict verdict;
    if (plan.policy && can_ask)
        verdict.retry = exec_call::retry_rule(config.approval_policy, config.granular);
    if (plan.extra.permissions == core::SandboxPermissions::require_escalated)
        verdict.bounds = Bounds::none;
    const std::string& reason = ruling.judgement.reason;
    if (hindrance && ruling.decision != core::Decision::forbidden) {
        verdict.refusal = std::move(*hindrance);
        return verdict;
    }
    switch (ruling.decision) {
    case core::Decision::allow: verdict.kind = exec_call::Verdict::Kind::run; break;
    case core::Decision::forbidden:
        verdict.refusal = {ErrorKind::denied, fmt::format("the command was not run: {}", reason),
                           ruling.way_out.empty() ? "policy/explain tells what decided"
                                                  : ruling.way_out};
        break;
    case core::Decision::prompt:
        if (can_ask) {
            verdict.kind = exec_call::Verdict::Kind::ask;
            break;
        }
        verdict.refusal = {
            ErrorKind::denied,
            fmt::format("the command was not run: it needs a person's approval ({}), and the "
                        "client cannot ask: it did not declare capabilities.approvals",
                        reason),
            "allow it by a rule or a stored approval, or use a client that answers questions"};
    }
    return verdict;
}

} // namespace

exec_call::Verdict CallJudge::judge(Call& call) {
    const ExecPlan& plan = call.plan;
    if (plan.policy && !plan.remote) parts_.host.need(parts_.now);
    const bool is_by_host = plan.policy && (plan.policy->network == sandbox::Network::hosts ||
                                            !plan.extra.additions.hosts.empty());
    if (is_by_host) call.plan.context.hosts = parts_.gate.host_rules();
    const protocol::Confinement confinement = expected_confinement(parts_.host.machine(), plan, {});
    const bool is_confined = confinement.type != protocol::SandboxType::none;
    call.ruling = parts_.gate.rule_on(plan, call.params, is_confined);
    const bool is_confined_there = confined_start(plan, plan.extra).has_value();
    return verdict_on(call.ruling, plan, parts_.session,
                      plan.remote
                          ? parts_.remote.hindrance(plan.remote->environment, is_confined_there)
                          : hindrance(parts_.host.machine(), plan));
}

exec_call::Verdict CallJudge::judge_edited(Call& call, const protocol::ApprovalAnswer& answer) {
    protocol::ExecCommandParams params = call.params;
    params.command = answer.command;
    params.argv = answer.argv;
    params.prefix_rule.reset(); // it was proposed for the other command
    const std::vector<std::string> from =
        call.edited ? call.edited->from : core::shown_words(call.plan.argv);
    ++call.edits;
    Result<ExecPlan> plan = call.plan.remote ? plan_there(params, call.plan.remote->environment,
                                                          parts_.session, parts_.remote)
                                             : plan_here(params, parts_.session, parts_.gate);
    if (!plan) {
        call.edited = {
            from, core::shown_words(answer.argv ? *answer.argv : std::vector{*answer.command})};
        exec_call::Verdict verdict;
        verdict.refusal = plan.error();
        return verdict;
    }
    call.edited = {from, core::shown_words(plan->argv)};
    call.params = std::move(params);
    call.plan = std::move(*plan);
    return judge(call);
}

// A second attempt needs denials, and a program that failed by itself. Its output proves nothing,
// and a client that ended the program wants no second attempt.
event::Ended CallJudge::judge_end(Call& call, const Process& process) {
    std::vector<protocol::Denial> denials = process.denials();
    // What a person has refused is not asked about again.
    std::erase_if(denials, [](const auto& denial) {
        return denial.rule && denial.rule->find(host_refusal) != std::string::npos;
    });
    // The program ended before anything was moved aside: that is not why it failed.
    std::erase_if(denials, [](const auto& denial) { return denial.kind == "setAside"; });
    if (denials.empty() || !has_failed_by_itself(process)) return {};
    event::Ended ended;
    const bool has_network = std::any_of(denials.begin(), denials.end(), [](const auto& denial) {
        return denial.kind == "network";
    });
    ended.refusals = has_network ? Refusals::network : Refusals::some;
    if (!may_run_again(call.state, ended.refusals)) return ended;
    call.denied_by = parts_.gate.take_denial(
        approval_key(call.plan, call.params, extra_again(call, Bounds::none)), call.plan);
    if (!call.denied_by.empty()) {
        ended.refusals = Refusals::none;
        return ended;
    }
    // The paths of a remote environment cannot be examined from here.
    if (!call.plan.remote) call.widening = widening_for(denials, home_directory());
    for (const Bounds bounds : {Bounds::widened, Bounds::none}) {
        if (bounds == Bounds::widened && !call.widening) continue;
        call.allowed_by = parts_.gate.take_approval(
            approval_key(call.plan, call.params, extra_again(call, bounds)), call.plan);
        if (call.allowed_by.empty()) continue;
        ended.allowed = bounds;
        break;
    }
    return ended;
}

} // namespace ew::server
