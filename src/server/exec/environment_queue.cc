#include "server/exec/environment_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

template <class Predicate>
std::vector<QueuedCall> EnvironmentQueue::take_if(Predicate is_meant) {
    std::vector<QueuedCall> taken;
    std::vector<QueuedCall> others;
    for (QueuedCall& call : calls_)
        (is_meant(call) ? taken : others).push_back(std::move(call));
    calls_ = std::move(others);
    return taken;
}

void EnvironmentQueue::add(QueuedCall call, std::uint64_t connection) {
    ++call.tries;
    call.connection = connection;
    calls_.push_back(std::move(call));
}

std::vector<QueuedCall> EnvironmentQueue::take(const RemoteBackend::News& news) {
    return take_if([&](const QueuedCall& call) {
        return call.environment == news.environment && call.connection <= news.connection;
    });
}

bool EnvironmentQueue::cancel(const json::Id& request) {
    std::vector<QueuedCall> cancelled =
        take_if([&](const QueuedCall& call) { return call.reply.id() == request; });
    for (QueuedCall& call : cancelled)
        call.reply.fail({ErrorKind::cancelled, "the call was cancelled; nothing was started"});
    return !cancelled.empty();
}

void EnvironmentQueue::end(const EnvironmentFilter& filter) {
    for (QueuedCall& call :
         take_if([&](const QueuedCall& queued) { return filter.takes(queued.environment); }))
        call.reply.fail({ErrorKind::cancelled,
                         fmt::format("the call was ended while environment '{}' was being reached; "
                                     "nothing was started",
                                     call.environment)});
}

void EnvironmentQueue::fail_all(const Error& error) {
    for (QueuedCall& call : std::exchange(calls_, {}))
        call.reply.fail(error);
}

void EnvironmentQueue::list(const EnvironmentFilter& filter,
                            std::vector<protocol::ExecCallInfo>& infos) const {
    for (const QueuedCall& call : calls_) {
        if (!filter.takes(call.environment)) continue;
        protocol::ExecCallInfo& info = infos.emplace_back();
        info.call_id = call.params.call_id.value_or(call.reply.call_id());
        info.environment = call.environment;
        info.state = protocol::ExecCallState::starting;
        info.argv = call.params.argv.value_or(std::vector{call.params.command.value_or("")});
    }
}

} // namespace ew::server
