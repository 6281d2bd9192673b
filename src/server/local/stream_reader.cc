#include "server/local/stream_reader.h"

#include "os/io.h"
#include "server/connection/source.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <limits>

namespace ew::server {

using core::OutputLog;

namespace {

os::Token token_of(const Process& process, std::size_t stream) {
    return server::token_of(stream == 0 ? Source::output : Source::error_output, process.serial);
}

void consume(OutputLog::Space& space, std::size_t count) {
    for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t here = std::min(count, space.size[i]);
        space.at[i] += here;
        space.size[i] -= here;
        count -= here;
    }
}

os::IoResult read_into(int fd, const OutputLog::Space& space) {
    if (space.size[0] == 0) return os::read_some(fd, space.at[1], space.size[1]);
    if (space.size[1] == 0) return os::read_some(fd, space.at[0], space.size[0]);
    const std::array<iovec, 2> parts = {
        {{space.at[0], space.size[0]}, {space.at[1], space.size[1]}}};
    return os::read_some(fd, parts.data(), 2);
}

// A pipe that returns less than requested is empty for now. A terminal returns at most one
// line-discipline buffer at a time, so only "would block" means that it is empty.
bool is_short_read(const OutputStream& stream, std::size_t count, std::size_t requested) {
    return stream.name != core::Stream::pty && count < requested;
}

void note_open_streams(Process& process) {
    process.is_output_open = process.local->streams[0].fd || process.local->streams[1].fd;
}

} // namespace

void StreamReader::watch(Process& process) {
    for (std::size_t i = 0; i < process.local->streams.size(); ++i)
        if (process.local->streams[i].fd) start_watching(process, i);
    note_open_streams(process);
}

void StreamReader::on_output(std::uint64_t serial, std::size_t index, std::size_t budget) {
    Process* const process = processes_.find(serial);
    if (process == nullptr || process->is_starting()) return;
    (void)read(*process, index, budget);
    processes_.settle(*process);
}

void StreamReader::read_backlog(Process& process) {
    // The amount that a terminal still holds is unknown, so it is read until it has no more.
    constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i < process.local->streams.size(); ++i) {
        OutputStream& stream = process.local->streams[i];
        if (!stream.fd) continue;
        stream.backlog = unknown;
        std::size_t count = read(process, i, lone_budget);
        if (stream.backlog > 0 && !process.is_tty())
            stream.backlog = os::readable_bytes(stream.fd.get());
        while (stream.backlog > 0 && count > 0)
            count = read(process, i, lone_budget);
        // Most streams end with their program: the end is read now, so that no event is needed.
        if (count > 0 && !process.is_tty()) (void)read(process, i, lone_budget);
    }
}

// Returns the number of bytes.
std::size_t StreamReader::read(Process& process, std::size_t index, std::size_t budget) {
    OutputStream& stream = process.local->streams[index];
    if (!stream.fd) return 0;
    if (process.closing.is_given_up) {
        discard(process, index);
        return 0;
    }
    if (!process.log.has_room()) {
        set_masked(process, index, true);
        return 0;
    }

    const Filled filled = fill(process, stream, budget);
    stream.backlog =
        filled.is_empty_now ? 0 : stream.backlog - std::min(stream.backlog, filled.count);
    if (filled.count > 0) process.local->terminal_patience = Millis(0);
    if (filled.has_ended && process.is_tty() && !process.exit) {
        // The session lives and may open the terminal again. Closing our side would send it a
        // SIGHUP.
        rest_terminal(process);
    } else if (filled.has_ended) {
        process.log.flush(stream.name);
        end_stream(process, index);
    }
    set_bulk(process, !processes_.delivery().is_interactive(process));
    return filled.count;
}

StreamReader::Filled StreamReader::fill(Process& process, const OutputStream& stream,
                                        std::size_t budget) {
    OutputLog::Space space = process.log.space(stream.name, budget);
    Filled filled;
    while (!filled.is_empty_now && space.size[0] + space.size[1] > 0) {
        const os::IoResult result = read_into(stream.fd.get(), space);
        filled.has_ended = result.state == os::IoState::end;
        filled.is_empty_now = result.state != os::IoState::progress ||
                              is_short_read(stream, result.count, space.size[0] + space.size[1]);
        consume(space, result.count);
        filled.count += result.count;
    }
    processes_.delivery().commit(process, stream.name, filled.count);
    return filled;
}

void StreamReader::discard(Process& process, std::size_t index) {
    std::array<char, 64 << 10> nowhere;
    const os::IoResult result =
        os::read_some(process.local->streams[index].fd.get(), nowhere.data(), nowhere.size());
    process.log.count_lost(result.count);
    if (result.state == os::IoState::end) end_stream(process, index);
}

void StreamReader::end_stream(Process& process, std::size_t index) {
    OutputStream& stream = process.local->streams[index];
    if (!stream.is_masked) poller_of(stream).unwatch(stream.fd.get());
    stream.fd.reset();
    stream.backlog = 0;
    note_open_streams(process);
}

void StreamReader::end_silent(Process& process) {
    for (std::size_t i = 0; i < process.local->streams.size(); ++i) {
        const OutputStream& stream = process.local->streams[i];
        if (!stream.fd || os::readable_bytes(stream.fd.get()) > 0) continue;
        process.log.flush(stream.name);
        end_stream(process, i);
    }
}

void StreamReader::resume(Process& process) {
    if (process.local->terminal_retry) return;
    for (std::size_t i = 0; i < process.local->streams.size(); ++i)
        set_masked(process, i, false);
}

void StreamReader::rest_terminal(Process& process) {
    LocalProcess& local = *process.local;
    local.terminal_patience =
        std::clamp(local.terminal_patience * 2, shortest_patience, longest_patience);
    local.terminal_retry = processes_.now() + local.terminal_patience;
    set_masked(process, 0, true);
}

void StreamReader::retry_terminal(Process& process) {
    process.local->terminal_retry.reset();
    set_masked(process, 0, false);
}

void StreamReader::note_typing(Process& process) {
    if (processes_.delivery().is_interactive(process)) set_bulk(process, false);
    forget_cold();
    if (is_hot(process) && std::ranges::find(hot_, process.serial) == hot_.end())
        hot_.push_back(process.serial);
}

void StreamReader::read_hot() {
    forget_cold();
    for (std::size_t i = 0; i < hot_.size(); ++i)
        on_output(hot_[i], 0, shared_budget);
}

void StreamReader::forget_cold() {
    std::erase_if(hot_, [&](std::uint64_t serial) {
        const Process* const process = processes_.find(serial);
        return process == nullptr || !is_hot(*process);
    });
}

bool StreamReader::is_hot(const Process& process) const {
    return processes_.now() < process.delivery.typed_until && process.local->streams[0].fd;
}

void StreamReader::set_bulk(Process& process, bool is_bulk) {
    for (std::size_t i = 0; i < process.local->streams.size(); ++i) {
        OutputStream& stream = process.local->streams[i];
        if (!stream.fd || stream.is_bulk == is_bulk) continue;
        if (!stream.is_masked) poller_of(stream).unwatch(stream.fd.get());
        stream.is_bulk = is_bulk;
        if (!stream.is_masked) start_watching(process, i);
    }
}

// A masked stream is not watched at all: a hang-up is reported whatever the interest
// (epoll_ctl(2)).
void StreamReader::set_masked(Process& process, std::size_t index, bool is_masked) {
    OutputStream& stream = process.local->streams[index];
    if (!stream.fd || stream.is_masked == is_masked) return;
    stream.is_masked = is_masked;
    if (is_masked)
        poller_of(stream).unwatch(stream.fd.get());
    else
        start_watching(process, index);
}

void StreamReader::start_watching(Process& process, std::size_t index) {
    OutputStream& stream = process.local->streams[index];
    (void)poller_of(stream).watch(stream.fd.get(), token_of(process, index), os::Interest::read);
}

void StreamReader::pause_or_resume_bulk() {
    const bool should_pause = !processes_.delivery().has_room(Lane::bulk);
    if (should_pause == bulk_is_paused_) return;
    bulk_is_paused_ = should_pause;
    poller_.change(bulk_poller_.fd(), server::token_of(Source::bulk),
                   should_pause ? os::Interest::none : os::Interest::read);
    if (!should_pause) return;
    // A quiet process must not be paused with the floods: a person may wait for its next output.
    processes_.for_each([&](Process& process) {
        if (process.local && processes_.delivery().is_quiet(process)) set_bulk(process, false);
    });
}

} // namespace ew::server
