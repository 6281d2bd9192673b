// Runs programs in other environments, as the client of a remote exec-server. Finds the connection
// and the process for a call, and passes the call on. Every request to a server is answered, or
// fails when the connection ends.
#pragma once

#include "base/clock.h"
#include "protocol/process_start.h"
#include "server/environment/environments.h"
#include "server/environment/remote_receiver.h"
#include "server/process/backend.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ew::protocol {
struct EnvironmentListResult;
}

namespace ew::server {

class RemoteBackend final : public Backend {
public:
    static constexpr std::size_t most_starts = 32; // waiting starts per environment

    using News = EnvironmentNews;

    // `open_files`: the limit for programs.
    RemoteBackend(const Session& session, ProcessService& processes, os::Poller& poller,
                  Outbox& outbox, const rlimit& open_files);

    // For the exec layer: returns the server of this configured environment. Returns null if it is
    // not ready; then it is being connected, and take_news() reports the result.
    const peer::Peer* connect(std::string_view environment);

    // Returns an error if a start needs an ability that the remote server lacked when it was last
    // ready.
    std::optional<Error> hindrance(std::string_view environment, bool wants_sandbox);

    const config::Environment& settings(std::string_view environment) {
        return environments_.find(environment)->settings();
    }

    // The error of the last failed connection.
    Error failure(std::string_view environment);

    // The serial number of the current connection, which may still be starting.
    std::uint64_t connection(std::string_view environment) {
        return environments_.find(environment)->serial();
    }

    std::vector<News> take_news() { return receiver_.take_news(); }

    protocol::EnvironmentListResult list();

    // For the loop, and for calls about all environments.
    Environments& environments() { return environments_; }

    // Resumes work that was held up because the client did not read. Returns true if some of it
    // could go on.
    bool resume();

    // Backend
    Result<void> begin(Process& process, StartOrder order) override;

    void look_at_start(Process& /*process*/) override {}

    void call_off_start(Process& process) override;
    void write_input(Process& process) override;
    void end_input(Process& process) override;
    void signal(Process& process, Reply reply, const protocol::SignalParams& params) override;
    void interrupt(Process& process) override;
    void resize(Process& process, Reply reply, const protocol::WindowSize& size) override;

    void resume_reading(Process& /*process*/) override {} // see resume()

    bool has_unread(const Process& process, core::Stream stream) const override;

    bool may_tell_exit(const Process& /*process*/) const override { return true; }

    void end_silent_streams(Process& /*process*/) override {}

    SandboxState sandbox_state(const Process& process) const override;

    pid_t pid(const Process& /*process*/) const override { return 0; }

    std::optional<std::string> environment(const Process& process) const override;
    bool has_left_overs(Process& process) override;
    void begin_ending(Process& process, std::uint64_t grace_ms) override;

    void refresh() override {}

    std::vector<std::int64_t> descendants(const Process& /*process*/) override { return {}; }

    void check_timers(Process& process) override;
    std::optional<TimePoint> next_deadline(const Process& process) const override;

private:
    std::size_t starts_in(const RemoteConnection& connection);

    const Session& session_;
    ProcessService& processes_;
    Outbox& outbox_;
    RemoteReceiver receiver_;
    Environments environments_;
};

} // namespace ew::server
