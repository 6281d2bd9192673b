#include "server/exec/exec_service.h"

#include "protocol/process_start.h"
#include "server/exec/exec_results.h"
#include "server/exec/plans.h"
#include "server/request/start_request.h"
#include "server/session/environment_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

using core::SandboxPermissions;
using protocol::ExecCommandParams;

namespace {

std::uint64_t clamped(std::optional<std::uint64_t> wanted, Millis usual, Millis least,
                      Millis most) {
    const auto number = [](Millis time) { return static_cast<std::uint64_t>(time.count()); };
    return std::clamp(wanted.value_or(number(usual)), number(least), number(most));
}

// Returns all terms but the time limits.
template <class Params>
WaitTerms shape_of(const Params& params, const config::Config& config) {
    WaitTerms terms;
    terms.until = params.until;
    if (params.until) terms.quiet_ms = params.until->quiet_ms;
    if constexpr (requires { params.quiet_ms; })
        if (params.quiet_ms) terms.quiet_ms = params.quiet_ms;
    terms.max_tokens = std::min(params.max_output_tokens.value_or(config.max_output_tokens),
                                config.max_output_tokens);
    terms.format = params.format;
    return terms;
}

} // namespace

WaitTerms ExecService::terms_of(const ExecCommandParams& params) const {
    const config::Config& config = session_.settings().config;
    WaitTerms terms = shape_of(params, config);
    terms.yield_ms =
        clamped(params.yield_time_ms, config.default_yield, config.min_yield, config.max_yield);
    return terms;
}

WaitTerms ExecService::terms_of(const protocol::ExecWriteParams& params) const {
    const config::Config& config = session_.settings().config;
    WaitTerms terms = shape_of(params, config);
    if (params.no_timeout) return terms;
    const bool types = !params.chars.empty() || params.paste || !params.keys.empty();
    const bool is_poll = !types && !params.close_stdin;
    terms.yield_ms =
        is_poll
            ? clamped(params.yield_time_ms, config.min_poll, config.min_poll, config.max_poll)
            : clamped(params.yield_time_ms, config.write_yield, config.min_yield, config.max_yield);
    return terms;
}

WaitTerms ExecService::terms_of(const protocol::ExecWaitParams& params) const {
    WaitTerms terms = shape_of(params, session_.settings().config);
    terms.yield_ms = params.timeout_ms.value_or(0);
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
    if (params.until) (void)TRY(UntilWatch::of(*params.until, 0)); // before the command runs
    if (params.answer_queries) {
        std::optional<os::WindowSize> terminal;
        if (params.tty) terminal = window_size(params.size.value_or(protocol::WindowSize{}));
        TRY(check_answers(terminal));
    }
    if (calls_.size() + queue_.size() < most_calls) return {};
    return Error{ErrorKind::limit,
                 fmt::format("{} calls wait for their answer already", most_calls),
                 "wait for answers, or cancel calls"};
}

void ExecService::handle(Reply reply, ExecCommandParams params) {
    if (Result<void> fine = check(params); !fine) return reply.fail(fine.error());
    Result<const config::Environment*> environment =
        chosen_environment(session_.settings(), params.environment);
    if (!environment) return reply.fail(environment.error());
    if (*environment == nullptr) return begin_here(std::move(reply), std::move(params));
    begin_there({std::move(reply), std::move(params), (*environment)->id});
}

void ExecService::begin_here(Reply reply, ExecCommandParams params) {
    Result<ExecPlan> plan = plan_here(params, session_, gate_);
    if (!plan) return fail_call(std::move(reply), params, plan.error(), {});
    const WaitTerms terms = terms_of(params);
    calls_.begin(std::move(reply), std::move(params), std::move(*plan), terms);
}

// The command depends on the server there: its shell, its directory, its abilities. The connection
// may be lost again before this function runs.
void ExecService::begin_there(QueuedCall call) {
    if (call.params.until)
        if (const std::optional<Error> refusal = refusal_elsewhere(*call.params.until))
            return call.reply.fail(*refusal);
    const peer::Peer* const peer = remote_.connect(call.environment);
    if (peer == nullptr && call.tries < EnvironmentQueue::most_tries) {
        const std::uint64_t connection = remote_.connection(call.environment);
        return queue_.add(std::move(call), connection);
    }
    Result<ExecPlan> plan = peer == nullptr
                                ? remote_.failure(call.environment)
                                : plan_there(call.params, call.environment, session_, remote_);
    if (!plan) return fail_call(std::move(call.reply), call.params, plan.error(), call.environment);
    const WaitTerms terms = terms_of(call.params);
    calls_.begin(std::move(call.reply), std::move(call.params), std::move(*plan), terms);
}

// A failed start is a result, unless the request itself is wrong. `environment` is nullopt for this
// machine.
void ExecService::fail_call(Reply reply, const ExecCommandParams& params, const Error& error,
                            const std::optional<std::string>& environment) const {
    if (error.kind == ErrorKind::invalid_params) return reply.fail(error);
    protocol::ExecResult result =
        make_failure(params.call_id.value_or(reply.call_id()), error, terms_of(params));
    result.environment = environment;
    reply.send(result);
}

void ExecService::handle(Reply reply, const protocol::ExecWriteParams& params) {
    if (Process* const process = programs_.write(std::move(reply), params, terms_of(params)))
        look_at(*process);
}

void ExecService::handle(Reply reply, const protocol::ExecWaitParams& params) {
    if (Process* const process =
            programs_.wait(std::move(reply), params.process_id, terms_of(params)))
        look_at(*process);
}

void ExecService::handle(Reply reply, const protocol::ExecTerminateAllParams& params) {
    Result<EnvironmentFilter> filter =
        EnvironmentFilter::of(session_.settings(), params.environment);
    if (!filter) return reply.fail(filter.error());
    protocol::ExecTerminateAllResult result;
    result.terminated = programs_.end_all(*filter, params.grace_ms);
    queue_.end(*filter);
    reply.send(result);
}

void ExecService::handle(Reply reply, const protocol::ExecListParams& params) {
    Result<EnvironmentFilter> filter =
        EnvironmentFilter::of(session_.settings(), params.environment);
    if (!filter) return reply.fail(filter.error());
    protocol::ExecListResult result;
    result.processes = programs_.list(*filter);
    calls_.list(*filter, result.calls);
    queue_.list(*filter, result.calls);
    reply.send(result);
}

bool ExecService::cancel(const json::Id& request) {
    Process* const process = calls_.process_of(request);
    if (process != nullptr && process->is_starting()) {
        // The program may already run, and only the report of its start has not been read yet.
        process->backend->look_at_start(*process);
        on_news();
    }
    return calls_.cancel(request) || queue_.cancel(request) || programs_.cancel(request);
}

void ExecService::on_news() {
    hosts_.settle_ended(); // before the end is told
    for (const std::uint64_t serial : processes_.take_news()) {
        Process* const process = processes_.find(serial);
        if (process == nullptr) continue;
        if (!process->is_starting()) look_at(*process);
    }
    for (const RemoteBackend::News& news : remote_.take_news()) {
        for (QueuedCall& call : queue_.take(news)) {
            if (news.failure)
                fail_call(std::move(call.reply), call.params, *news.failure, call.environment);
            else
                begin_there(std::move(call));
        }
    }
    for (const ProcessService::FailedStart& failed : processes_.take_failed_starts())
        calls_.on_failed_start(failed);
}

void ExecService::look_at(Process& process) {
    if (!process.exec->is_begun) {
        programs_.begin(process);
        calls_.on_started(process);
    }
    programs_.note_exit(process);
    programs_.look_for_waits(process);
    if (programs_.is_over_for_call(process)) calls_.on_wait_over(process);
    programs_.answer_waits(process);
    programs_.tell_input_state(process);
    programs_.tell_end(process);
}

void ExecService::on_time() {
    processes_.for_each([&](Process& process) {
        if (process.exec && process.exec->is_begun) look_at(process);
    });
}

void ExecService::abandon(const Error& error) {
    queue_.fail_all(error);
    calls_.abandon(error);
    programs_.abandon(error);
}

} // namespace ew::server
