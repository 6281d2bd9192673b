// Runs programs on this machine: children of this process, with or without a sandbox. Starts,
// streams and trees are objects of their own; this class connects them.
#pragma once

#include "base/clock.h"
#include "os/cookie.h"
#include "os/poller.h"
#include "protocol/process_start.h"
#include "server/local/input_writer.h"
#include "server/local/local_starts.h"
#include "server/local/process_trees.h"
#include "server/local/stream_reader.h"
#include "server/process/backend.h"
#include "server/process/process_service.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class LocalBackend final : public Backend {
public:
    struct Pollers {
        os::Poller& all;
        os::Poller& bulk; // for the streams of programs that flood; watched by `all`
    };

    LocalBackend(LocalSettings settings, ProcessService& processes, Pollers pollers,
                 os::Cookies cookies);

    Result<void> begin(Process& process, StartOrder order) override;
    void look_at_start(Process& process) override;
    void call_off_start(Process& process) override;
    void write_input(Process& process) override;
    void end_input(Process& process) override;
    void signal(Process& process, Reply reply, const protocol::SignalParams& params) override;
    void interrupt(Process& process) override;
    void resize(Process& process, Reply reply, const protocol::WindowSize& size) override;
    std::optional<os::LineMode> line_mode(const Process& process) const override;
    std::optional<InputLook> look_at_input(const Process& process) const override;
    void resume_reading(Process& process) override;
    bool has_unread(const Process& process, core::Stream stream) const override;
    bool may_tell_exit(const Process& process) const override;
    bool has_program_ended(const Process& process) const override;
    void end_silent_streams(Process& process) override;
    void answer_host(Process& process, std::uint64_t question,
                     const sandbox::HostVerdict& verdict) override;
    SandboxState sandbox_state(const Process& process) const override;
    pid_t pid(const Process& process) const override;
    std::optional<std::string> environment(const Process& process) const override;
    bool has_left_overs(Process& process) override;
    void begin_ending(Process& process, std::uint64_t grace_ms) override;
    void refresh() override;
    std::vector<std::int64_t> descendants(const Process& process) override;
    std::optional<std::vector<std::uint16_t>> listening_ports(const Process& process) override;
    void check_timers(Process& process) override;
    std::optional<TimePoint> next_deadline(const Process& process) const override;

    // Events from the loop.
    void on_start_report(std::uint64_t serial);

    void on_input_room(std::uint64_t serial) { input_.on_room(serial); }

    void on_supervisor(std::uint64_t serial);
    void on_clearing(std::uint64_t serial);

    // An ended child that is not the leader of a process, with its wait status.
    struct Stranger {
        pid_t pid = 0;
        int status = 0;
    };

    // Reaps all children that have ended.
    std::vector<Stranger> on_children();

    LocalStarts& starts() { return starts_; }

    StreamReader& streams() { return streams_; }

    ProcessTrees& trees() { return trees_; }

private:
    void on_exit(Process& process, int status, const rusage& usage);

    ProcessService& processes_;
    os::Poller& poller_;
    StreamReader streams_;
    InputWriter input_;
    ProcessTrees trees_;
    LocalStarts starts_;
};

} // namespace ew::server
