// What takes too long: the handshake, answers, the end of a connection.
#include "server/environment/remote_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

using State = RemoteEnvironment::State;

void RemoteBackend::on_time() {
    for (const auto& environment : environments_)
        check(*environment);
}

void RemoteBackend::check(RemoteEnvironment& environment) {
    if (environment.is_ready()) return check_ready(environment);
    if (!is_due(environment.deadline, processes_.now())) return;
    environment.deadline.reset();
    if (environment.state == State::ending || !environment.link)
        finish_losing(environment);
    else if (environment.state == State::starting)
        lose(environment, fmt::format("it has not answered initialize in {} ms",
                                      environment.settings.initialize_timeout.count()));
}

// While it is held up its answers are not read, so nothing can be said of it.
void RemoteBackend::check_ready(RemoteEnvironment& environment) {
    if (environment.is_held_up) return;
    if (environment.link->unsent() > most_unsent)
        return lose(environment, "it does not read what it is sent");
    if (!environment.link->has_lost_input()) return expire_requests(environment);
    // Most often its output ends at the same time, and that may hold something yet.
    if (!environment.deadline)
        environment.deadline = processes_.now() + status_patience;
    else if (is_due(environment.deadline, processes_.now()))
        lose(environment, "it no longer reads what it is sent");
}

void RemoteBackend::expire_requests(RemoteEnvironment& environment) {
    std::vector<std::uint64_t> due;
    for (const auto& [id, request] : environment.requests)
        if (is_due(request.deadline, processes_.now())) due.push_back(id);
    bool answers_nothing = false;
    for (const std::uint64_t id : due) {
        const auto at = environment.requests.find(id);
        if (at == environment.requests.end()) continue;
        answers_nothing |= at->second.kind == RemoteRequest::Kind::probe;
        if (expire(environment, at->second)) environment.requests.erase(id);
    }
    if (answers_nothing) return lose(environment, "it has stopped answering");
    const bool is_asked = std::ranges::any_of(environment.requests, [](const auto& entry) {
        return entry.second.kind == RemoteRequest::Kind::probe;
    });
    if (due.empty() || is_asked) return;
    RemoteRequest probe = {RemoteRequest::Kind::probe};
    probe.deadline = processes_.now() + answer_patience;
    environment.send("environment/status", protocol::Empty{}, std::move(probe));
}

// Its answer does not come in time. False: it may come yet, and will be needed then.
bool RemoteBackend::expire(RemoteEnvironment& environment, RemoteRequest& request) {
    request.deadline.reset();
    const Error error = {ErrorKind::environment_unavailable,
                         fmt::format("the server of '{}' does not answer", environment.settings.id),
                         "environment/list shows its state"};
    if (request.reply) request.reply->fail(error);
    Process* const process = processes_.find(request.process);
    if (request.kind == RemoteRequest::Kind::read && process != nullptr) give_up_gap(*process);
    if (request.kind != RemoteRequest::Kind::start) return true;
    if (process == nullptr) return false;
    Error unsure = error;
    unsure.message += ": it was starting the command, which is ended if it runs yet";
    processes_.fail_start(*process, std::move(unsure));
    return false;
}

bool RemoteBackend::cancel(const json::Id& id) {
    for (const auto& environment : environments_)
        for (auto& [number, request] : environment->requests) {
            if (!request.reply || request.reply->id() != id) continue;
            request.reply->fail({ErrorKind::cancelled, "the request was cancelled by the client"});
            environment->requests.erase(std::uint64_t{number});
            return true;
        }
    return false;
}

std::optional<TimePoint> RemoteBackend::next_deadline() const {
    std::optional<TimePoint> next;
    for (const auto& environment : environments_) {
        if (environment->is_ready() && environment->is_held_up) continue;
        next = earlier(next, environment->deadline);
        if (!environment->is_ready() || environment->link->has_lost_input()) continue;
        for (const auto& [id, request] : environment->requests)
            next = earlier(next, request.deadline);
    }
    return next;
}

} // namespace ew::server
