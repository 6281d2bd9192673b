// How a call of exec/command begins: where it runs, what exactly, whether it may.
#include "sandbox/policy/refusal.h"
#include "server/environment/remote_plan.h"
#include "server/exec/exec_results.h"
#include "server/exec/exec_service.h"
#include "server/request/sandbox_request.h"
#include "server/session/environment_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace exec_call = core::exec_call;
using core::SandboxPermissions;
using protocol::ExecCommandParams;

namespace {

std::uint64_t clamped(std::uint64_t wanted, Millis least, Millis most) {
    return std::clamp(wanted, static_cast<std::uint64_t>(least.count()),
                      static_cast<std::uint64_t>(most.count()));
}

} // namespace

WaitTerms ExecService::terms_of(const ExecCommandParams& params) const {
    const config::Config& config = session_.settings().config;
    WaitTerms terms;
    terms.yield_ms = clamped(
        params.yield_time_ms.value_or(static_cast<std::uint64_t>(config.default_yield.count())),
        config.min_yield, config.max_yield);
    terms.quiet_ms = params.quiet_ms;
    terms.max_tokens = std::min(params.max_output_tokens.value_or(config.max_output_tokens),
                                config.max_output_tokens);
    terms.format = params.format;
    return terms;
}

WaitTerms ExecService::terms_of(const protocol::ExecWriteParams& params) const {
    const config::Config& config = session_.settings().config;
    const bool is_poll = params.chars.empty() && !params.close_stdin;
    const Millis usual = is_poll ? config.min_poll : config.write_yield;
    WaitTerms terms;
    if (!params.no_timeout)
        terms.yield_ms =
            clamped(params.yield_time_ms.value_or(static_cast<std::uint64_t>(usual.count())),
                    is_poll ? config.min_poll : config.min_yield,
                    is_poll ? config.max_poll : config.max_yield);
    terms.quiet_ms = params.quiet_ms;
    terms.max_tokens = std::min(params.max_output_tokens.value_or(config.max_output_tokens),
                                config.max_output_tokens);
    terms.format = params.format;
    return terms;
}

Result<void> ExecService::check(const ExecCommandParams& params) const {
    const bool has_more = params.additional_permissions.has_value();
    const bool wants_more =
        params.sandbox_permissions == SandboxPermissions::with_additional_permissions;
    if (has_more != wants_more)
        return Error{ErrorKind::invalid_params,
                     "additionalPermissions: expected exactly with sandboxPermissions "
                     "\"withAdditionalPermissions\"",
                     "", "additionalPermissions"};
    if (calls_.size() + waiting_.size() < most_calls) return {};
    return Error{ErrorKind::limit,
                 fmt::format("{} calls wait for their answer already", most_calls),
                 "wait for answers, or cancel calls"};
}

// Of what the policy promises. Empty as long as it is not known what can be enforced here.
sandbox::GuaranteeSet ExecService::missing_for(const sandbox::Policy& policy) const {
    const sandbox::Machine* const machine = host_.machine();
    if (machine == nullptr) return {};
    return sandbox::needed_by(policy) - sandbox::given_by(*machine, policy.network);
}

// As far as it can be told before the start.
protocol::Confinement ExecService::expected_confinement(const ExecPlan& plan,
                                                        const ExtraPermissions& extra) const {
    protocol::Confinement confinement;
    const std::optional<SandboxOrder> start = confined_start(plan, extra);
    if (!start) return confinement;
    if (plan.remote) { // the server there tells what it could not keep
        if (plan.remote->confines) confinement.type = protocol::SandboxType::linux_seccomp;
        return confinement;
    }
    const sandbox::GuaranteeSet missing = missing_for(start->policy);
    for (const sandbox::Guarantee guarantee : missing.list())
        confinement.missing.emplace_back(sandbox::name_of(guarantee));
    // Required, it is there in full or nothing runs.
    const bool is_there = start->policy.enforcement == sandbox::Enforcement::require ||
                          !(sandbox::needed_by(start->policy) - missing).empty();
    if (is_there) confinement.type = protocol::SandboxType::linux_seccomp;
    return confinement;
}

// Nobody is asked about what cannot be run.
std::optional<Error> ExecService::hindrance(const ExecPlan& plan) const {
    const std::optional<SandboxOrder> start = confined_start(plan, plan.extra);
    if (plan.remote) return remote_.hindrance(plan.remote->environment, start.has_value());
    if (!start || start->policy.enforcement != sandbox::Enforcement::require) return std::nullopt;
    const sandbox::GuaranteeSet missing = missing_for(start->policy);
    if (missing.empty()) return std::nullopt;
    return sandbox::refusal(*host_.machine(), missing);
}

exec_call::Verdict ExecService::verdict_on(const Gate::Ruling& ruling, const ExecPlan& plan) const {
    const config::Config& config = session_.settings().config;
    exec_call::Verdict verdict;
    if (plan.policy && session_.answers_questions())
        verdict.retry = exec_call::retry_rule(config.approval_policy, config.granular);
    if (plan.extra.permissions == SandboxPermissions::require_escalated)
        verdict.bounds = exec_call::Bounds::none;
    const std::string& reason = ruling.judgement.reason;
    if (ruling.decision != core::Decision::forbidden) {
        if (std::optional<Error> error = hindrance(plan)) {
            verdict.refusal = std::move(*error);
            return verdict;
        }
    }
    switch (ruling.decision) {
    case core::Decision::allow: verdict.kind = exec_call::Verdict::Kind::run; break;
    case core::Decision::forbidden:
        verdict.refusal = {ErrorKind::denied, fmt::format("the command was not run: {}", reason),
                           "policy/explain tells what decided"};
        break;
    case core::Decision::prompt:
        if (session_.answers_questions()) {
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

void ExecService::handle(Reply reply, ExecCommandParams params) {
    if (Result<void> fine = check(params); !fine) return reply.fail(fine.error());
    Result<const config::Environment*> environment =
        chosen_environment(session_.settings(), params.environment);
    if (!environment) return reply.fail(environment.error());
    if (*environment != nullptr)
        return begin_there({std::move(reply), std::move(params), (*environment)->id});
    Result<ExecPlan> plan =
        plan_exec(params, {session_.settings(), gate_.login_shell(), session_.tag(),
                           hidden_places(session_.setup().paths, session_.database())});
    if (plan)
        if (Result<void> found = find_program(*plan); !found) plan = found.error();
    if (!plan) return fail_call(std::move(reply), params, plan.error(), {});
    begin_call(std::move(reply), std::move(params), std::move(*plan));
}

// What is to run there depends on the server: its shell, its directory, what it can do. It may be
// lost again before this comes to know of it.
void ExecService::begin_there(WaitingCall call) {
    const peer::Peer* const peer = remote_.connect(call.environment);
    if (peer == nullptr && call.tries == most_tries)
        return fail_call(std::move(call.reply), call.params, remote_.failure(call.environment),
                         call.environment);
    if (peer == nullptr) {
        ++call.tries;
        call.connection = remote_.connection(call.environment);
        waiting_.push_back(std::move(call));
        return;
    }
    Result<ExecPlan> plan =
        plan_exec_there(call.params, {session_.settings(), remote_.settings(call.environment),
                                      *peer, session_.tag()});
    if (!plan) return fail_call(std::move(call.reply), call.params, plan.error(), call.environment);
    begin_call(std::move(call.reply), std::move(call.params), std::move(*plan));
}

// Those that the news is about. A failed connection is none to who waits for the next one.
std::vector<ExecService::WaitingCall> ExecService::take_waiting(const RemoteBackend::News& news) {
    std::vector<WaitingCall> taken;
    std::vector<WaitingCall> others;
    for (WaitingCall& call : waiting_)
        (call.environment == news.environment && call.connection <= news.connection ? taken
                                                                                    : others)
            .push_back(std::move(call));
    waiting_ = std::move(others);
    return taken;
}

void ExecService::begin_waiting(const RemoteBackend::News& news) {
    for (WaitingCall& call : take_waiting(news)) {
        if (news.failure)
            fail_call(std::move(call.reply), call.params, *news.failure, call.environment);
        else
            begin_there(std::move(call));
    }
}

// That nothing could be started is a result, unless the request itself is wrong.
void ExecService::fail_call(Reply reply, const ExecCommandParams& params, const Error& error,
                            const std::optional<std::string>& environment) const {
    if (error.kind == ErrorKind::invalid_params) return reply.fail(error);
    protocol::ExecResult result =
        make_failure(params.call_id.value_or(reply.call_id()), error, terms_of(params));
    result.environment = environment;
    reply.send(result);
}

void ExecService::begin_call(Reply reply, ExecCommandParams params, ExecPlan plan) {
    const std::string call_id = params.call_id.value_or(reply.call_id());
    const WaitTerms terms = terms_of(params);
    if (plan.policy && !plan.remote) host_.need(now_);
    const bool is_confined = expected_confinement(plan, {}).type != protocol::SandboxType::none;
    Gate::Ruling ruling = gate_.rule_on(plan, params, is_confined);
    const exec_call::Verdict verdict = verdict_on(ruling, plan);
    const std::uint64_t serial = ++last_call_;
    const auto at =
        calls_.emplace(serial, Call{std::move(reply), std::move(params), call_id, std::move(plan),
                                    std::move(ruling), terms, exec_call::state::Answered{}});
    take(serial, at.first->second, exec_call::begin(verdict));
    work();
}

} // namespace ew::server
