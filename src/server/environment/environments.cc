#include "server/environment/environments.h"

#include "os/proc.h"
#include "protocol/envelope.h"
#include "server/session/session.h"

#include <algorithm>

namespace ew::server {

Environments::Environments(const Session& session, os::Poller& poller, ConnectionListener& listener,
                           const rlimit& open_files)
    : reader_(std::make_unique<protocol::MessageReader>()) {
    const RemoteConnection::Parts parts = {session,  poller,   *reader_,
                                           serials_, listener, open_files};
    for (const config::Environment& settings : session.settings().config.environments)
        connections_.push_back(std::make_unique<RemoteConnection>(settings, parts));
}

Environments::~Environments() = default;

RemoteConnection* Environments::find(std::string_view id) const {
    for (const auto& connection : connections_)
        if (connection->settings().id == id) return connection.get();
    return nullptr;
}

bool Environments::cancel(const json::Id& id) {
    return std::ranges::any_of(connections_,
                               [&](const auto& connection) { return connection->cancel(id); });
}

void Environments::on_event(Source source, std::uint64_t connection, TimePoint now) {
    for (const auto& found : connections_)
        if (found->serial() == connection) return found->on_event(source, now);
}

void Environments::on_reaped(pid_t pid, int status, TimePoint now) {
    for (const auto& connection : connections_)
        if (connection->note_reaped(pid, status, now)) return;
}

void Environments::on_time(TimePoint now) {
    for (const auto& connection : connections_)
        connection->on_time(now);
}

std::optional<TimePoint> Environments::next_deadline() const {
    std::optional<TimePoint> next;
    for (const auto& connection : connections_)
        next = earlier(next, connection->next_deadline());
    return next;
}

bool Environments::resume(TimePoint now) {
    bool has_resumed = false;
    for (const auto& connection : connections_)
        has_resumed |= connection->resume(now);
    return has_resumed;
}

void Environments::close_all() {
    for (const auto& connection : connections_)
        connection->close();
}

std::vector<pid_t> Environments::programs() const {
    std::vector<pid_t> pids;
    for (const auto& connection : connections_) {
        const std::optional<pid_t> program = connection->program();
        if (!program) continue;
        pids.push_back(*program);
        for (const os::ProcessIdentity& process : os::descendants_of(*program))
            pids.push_back(process.pid);
    }
    return pids;
}

} // namespace ew::server
