#include "sandbox/supervise/supervisor.h"

#include "core/text/display.h"
#include "os/io.h"
#include "os/pidfd.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ew::sandbox {

namespace {

using Kind = SocketAddress::Kind;
using Refusal = ConnectResult::Refusal;

Denial denial_of(DenialKind kind, const Caller& caller, std::string target) {
    Denial denial;
    denial.kind = kind;
    denial.operation = "connect";
    denial.target = std::move(target);
    denial.pid = caller.process;
    denial.program = program_of(caller);
    return denial;
}

// The one line for the configuration and, in parentheses, for the command line. It is there to be
// copied, and the path is the program's choice: quoted for either, and none is offered that a
// person could not see for what it is.
std::string allowing_write_to(std::string_view directory) {
    if (directory.empty()) directory = "/";
    const bool is_plain = directory.find_first_of("\n\t") == std::string_view::npos;
    if (!is_plain || core::has_invisible(directory)) return {};
    std::string quoted;
    for (const char letter : directory) {
        if (letter == '"' || letter == '\\') quoted += '\\';
        quoted += letter;
    }
    return fmt::format("writableRoots = [\"{}\"] (--writable {})", quoted,
                       core::shell_quoted({std::string(directory)}));
}

Denial denial_of(const FileChange& change, const std::string& path, FileVerdict verdict) {
    Denial denial;
    denial.kind = DenialKind::file;
    denial.operation = change.operation;
    denial.target = path;
    denial.rule = "file system: read-only here";
    if (verdict == FileVerdict::outside)
        denial.allow = allowing_write_to(path.substr(0, path.rfind('/')));
    return denial;
}

} // namespace

bool is_tried_in_passing(std::string_view path) {
    // Users, groups and hosts: the name service caches nscd and sssd, systemd's userdb and
    // resolved, mDNS. Bound in /run, which /var/run leads to.
    static constexpr std::array<std::string_view, 8> places = {"/run/nscd/",
                                                               "/run/avahi-daemon/",
                                                               "/run/systemd/userdb/",
                                                               "/run/systemd/resolve",
                                                               "/run/systemd/journal/",
                                                               "/var/lib/sss/pipes/",
                                                               "/run/unscd/",
                                                               "/run/nslcd/"};
    if (path.starts_with("/var/run/")) path.remove_prefix(std::string_view("/var").size());
    return std::any_of(places.begin(), places.end(),
                       [&](std::string_view place) { return path.starts_with(place); });
}

Result<std::unique_ptr<Supervisor>> Supervisor::start(UniqueFd listener,
                                                      SupervisorSettings settings) {
    std::unique_ptr<Supervisor> made(new Supervisor(std::move(settings)));
    TRY(made->prepare(std::move(listener)));
    return made;
}

Result<void> Supervisor::prepare(UniqueFd listener) {
    if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0U, &sizes_) != 0)
        return os::system_error("seccomp: sizes of notifications", errno);
    const std::size_t notice = std::max<std::size_t>(sizes_.seccomp_notif, sizeof(seccomp_notif));
    const std::size_t reply =
        std::max<std::size_t>(sizes_.seccomp_notif_resp, sizeof(seccomp_notif_resp));
    buffer_.resize(std::max(notice, reply));
    listener_ = std::move(listener);
    epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return os::system_error("epoll_create1", errno);
    if (!watch(listener_.get(), listener_token, EPOLLIN))
        return os::system_error("epoll_ctl", errno);
    is_listening_ = true;
    return {};
}

bool Supervisor::watch(int fd, std::uint64_t token, std::uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = token;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

// Taken out altogether, since the end of all callers would be reported for ever.
void Supervisor::set_listening(bool listening) {
    if (!listener_ || listening == is_listening_) return;
    if (listening && !watch(listener_.get(), listener_token, EPOLLIN)) return; // tried again later
    if (!listening) (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
    is_listening_ = listening;
}

void Supervisor::on_ready(TimePoint now) {
    take_events(now, clock_now() + longest_turn);
    set_listening(errands_.size() < most_errands);
}

// A few at a time: what is not fetched stays ready. (What is watched by edge would be lost.)
void Supervisor::take_events(TimePoint now, TimePoint end) {
    std::array<epoll_event, 4> events;
    int count = 0;
    do {
        count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
        std::uint32_t of_listener = 0;
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            if (event.data.u64 != listener_token)
                take_event(event.data.u64, now);
            else
                of_listener = event.events;
        }
        if ((of_listener & EPOLLIN) != 0) return take_calls(now, end);
        if (of_listener != 0) return stop_listening(now);
    } while (count == static_cast<int>(events.size()) && clock_now() < end);
}

// All who had the filter have ended.
void Supervisor::stop_listening(TimePoint now) {
    look_after_connects(now);
    set_listening(false);
    listener_.reset();
    ports_ = {};
}

// Of what has ended in this very turn nothing is found any more.
void Supervisor::take_event(std::uint64_t token, TimePoint now) {
    const std::uint64_t serial = token >> part_bits;
    const auto errand = errands_.find(serial);
    const auto connect = connecting_.find(serial);
    switch (static_cast<Part>(token & ((1U << part_bits) - 1))) {
    case Part::listener: return;
    case Part::result:
        if (errand != errands_.end()) take_result(errand, now);
        return;
    case Part::process:
        if (errand != errands_.end()) forget_if_gone(errand);
        return;
    case Part::socket:
        if (connect != connecting_.end()) take_connected(connect);
        return;
    }
}

void Supervisor::on_time(TimePoint now) {
    for (auto at = errands_.begin(); at != errands_.end();) {
        const auto next = std::next(at);
        if (at->second.errand.deadline() <= now) {
            answer(at->second.call.id, ETIMEDOUT);
            end_errand(at);
        }
        at = next;
    }
    set_listening(errands_.size() < most_errands);
    for (auto at = connecting_.begin(); at != connecting_.end();)
        at = is_due(at->second.deadline, now) ? end_connect(at, EINPROGRESS) : std::next(at);
    if (is_due(next_look_, now)) look_after_connects(now);
}

std::optional<TimePoint> Supervisor::next_deadline() const {
    std::optional<TimePoint> next;
    for (const auto& entry : errands_)
        next = earlier(next, entry.second.errand.deadline());
    for (const auto& entry : connecting_)
        next = earlier(next, entry.second.deadline);
    return earlier(next, next_look_);
}

void Supervisor::take_calls(TimePoint now, TimePoint end) {
    for (int i = 0; i < most_calls && errands_.size() < most_errands; ++i)
        if (!take_call(now) || clock_now() >= end) return;
}

// False: there is none. Once poll(2) has told of one, receiving it does not wait, not even if its
// caller has been killed since: that is ENOENT.
bool Supervisor::take_call(TimePoint now) {
    pollfd waiting = {listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 0) != 1 || (waiting.revents & POLLIN) == 0) return false;
    std::fill(buffer_.begin(), buffer_.end(), '\0'); // else EINVAL
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, buffer_.data()) != 0)
        return errno == ENOENT || errno == EINTR;
    seccomp_notif notice = {};
    std::memcpy(&notice, buffer_.data(), sizeof notice);
    judge(notice.id, notice.data, static_cast<pid_t>(notice.pid), now);
    return true;
}

void Supervisor::judge(std::uint64_t id, const seccomp_data& data, pid_t thread, TimePoint now) {
    if (is_file_change(data.nr)) return tell_file_change(id, data, thread);
    if (data.nr != SYS_connect) return answer(id, ENOSYS); // a filter that is not ours
    const std::optional<Caller> caller = look_at(thread);
    if (!caller) return answer(id, EACCES); // gone, or not ours to look at
    Call call;
    call.id = id;
    call.caller = *caller;
    const int error = read_call(data, call);
    if (!is_waiting(listener_.get(), id)) return; // what was read may be another's
    if (error != 0) return answer(id, error);
    decide(std::move(call), now);
}

// It goes on in any case: mounts and Landlock decide.
void Supervisor::tell_file_change(std::uint64_t id, const seccomp_data& data, pid_t thread) {
    Caller caller;
    caller.thread = thread;
    const FileChange change = read_file_change(caller, data);
    std::vector<Denial> denials;
    for (const std::string& path : change.paths) {
        const FileVerdict verdict = judge_file_change(places_, change.operation, path);
        if (verdict != FileVerdict::allowed) denials.push_back(denial_of(change, path, verdict));
    }
    if (!denials.empty()) caller = look_at(thread).value_or(caller);
    const std::string program = denials.empty() ? std::string() : program_of(caller);
    const bool is_known = is_waiting(listener_.get(), id); // else what was read may be another's
    send(id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    for (Denial& denial : denials) {
        if (!is_known) return;
        denial.pid = caller.process;
        denial.program = program;
        denials_.add(std::move(denial));
    }
}

// In the order in which the kernel looks at a call (net/socket.c). The numbers are int there.
int Supervisor::read_call(const seccomp_data& data, Call& call) const {
    call.fd = static_cast<int>(static_cast<std::uint32_t>(data.args[0]));
    const int size = static_cast<int>(static_cast<std::uint32_t>(data.args[2]));
    call.descriptor = descriptor_of(call.caller, call.fd);
    if (call.descriptor.error == EBADF) return EBADF;
    if (size < 0 || static_cast<std::size_t>(size) > longest_address) return EINVAL;
    const std::optional<std::string> bytes =
        read_memory(call.caller, data.args[1], static_cast<std::size_t>(size));
    if (!bytes) return errno == EFAULT ? EFAULT : EACCES;
    if (call.descriptor.error != 0) return call.descriptor.error;
    call.address = read_address(*bytes);
    return call.address.kind == Kind::invalid ? EINVAL : 0;
}

void Supervisor::decide(Call call, TimePoint now) {
    switch (call.address.kind) {
    case Kind::path: begin_connect_errand(std::move(call), now); return;
    case Kind::abstract:
        // Made by the sandbox itself or by the machine: without a network of its own, the names
        // are in one space.
        if (!settings_.has_own_network) return refuse_abstract(call);
        begin_connect_errand(std::move(call), now);
        return;
    case Kind::internet: decide_internet(std::move(call), now); return;
    case Kind::unspecified: connect_copy(std::move(call), now); return;
    // Netlink asks whether whoever connects has capabilities (netlink(7)); the errand has none.
    case Kind::invalid:
    case Kind::other: begin_connect_errand(std::move(call), now); return;
    }
}

void Supervisor::begin_connect_errand(Call call, TimePoint now) {
    ConnectOrder order;
    order.listener = listener_.get();
    order.id = call.id;
    order.caller = call.caller;
    order.fd = call.fd;
    order.address = call.address;
    order.rules = {settings_.has_mounts, settings_.writable, settings_.shared_tmp};
    order.server = ::getpid();
    Task task;
    task.body = [order] { return encode(connect_for_caller(order)); };
    task.kept = {listener_.get()};
    begin_errand(std::move(call), std::move(task), now);
}

void Supervisor::begin_errand(Call call, Task task, TimePoint now) {
    const pid_t process = call.caller.process;
    Result<os::Errand> errand = os::Errand::begin(task.body, task.kept, now + settings_.patience);
    if (!errand) return answer(call.id, EAGAIN); // no more processes: as with any resource
    const std::uint64_t serial = next_serial_++;
    std::string program = program_of(call.caller);
    UniqueFd pidfd = os::open_pidfd(process);
    const auto at =
        errands_.emplace(serial, Running{std::move(call), std::move(program), std::move(pidfd),
                                         std::move(*errand), std::move(task.look_ups)});
    const Running& running = at.first->second;
    if (!watch(running.errand.fd(), token_of(serial, Part::result), EPOLLIN)) {
        answer(running.call.id, EAGAIN);
        return end_errand(at.first);
    }
    if (running.process) // else: later
        (void)watch(running.process.get(), token_of(serial, Part::process), EPOLLIN);
}

void Supervisor::take_result(Errands::iterator at, TimePoint now) {
    const std::optional<std::string> text = at->second.errand.take_result();
    if (!text) return;
    if (at->second.look_ups) {
        take_served(at->second, *text, now);
        return end_errand(at);
    }
    const ConnectResult result = decode_connect_result(*text);
    remember_refusal(at->second, result);
    answer(at->second.call.id, result.error);
    end_errand(at);
}

// A thread alone may have ended, or the process have begun another program: then the errand goes on
// to its end, and its answer finds nobody.
void Supervisor::forget_if_gone(Errands::iterator at) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, at->second.process.get(), nullptr);
    if (!is_waiting(listener_.get(), at->second.call.id)) end_errand(at);
}

// Taken out by hand: a process that was forked just now may still hold copies, and an epoll watches
// a description until its last copy is closed (epoll(7)).
void Supervisor::end_errand(Errands::iterator at) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, at->second.errand.fd(), nullptr);
    if (at->second.process)
        (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, at->second.process.get(), nullptr);
    errands_.erase(at);
}

void Supervisor::remember_refusal(const Running& running, const ConnectResult& result) {
    const std::string& path = result.path.empty() ? running.call.address.name : result.path;
    if (result.refusal == Refusal::none || is_tried_in_passing(path)) return;
    if (is_tried_in_passing(running.call.address.name)) return;
    SocketAddress shown = running.call.address;
    shown.name = path;
    Denial denial = denial_of(DenialKind::socket, running.call.caller, shown.text());
    denial.program = running.program;
    switch (result.refusal) {
    case Refusal::not_writable:
        denial.rule = "socket files: only those in writable directories";
        denial.allow = allowing_write_to(denial.target.substr(0, denial.target.rfind('/')));
        break;
    case Refusal::foreign:
        denial.rule = "socket files: in shared temporary directories only the sandbox's own";
        break;
    case Refusal::none:
    case Refusal::unreachable: denial.rule = "socket files: none by way of /proc"; break;
    }
    denials_.add(std::move(denial));
}

void Supervisor::refuse_internet(const Call& call) {
    Denial denial = denial_of(DenialKind::network, call.caller, call.address.text());
    denial.rule = "network: restricted";
    denial.allow = "networkAccess = true (--network)";
    denials_.add(std::move(denial));
    answer(call.id, ENETUNREACH);
}

void Supervisor::refuse_abstract(const Call& call) {
    Denial denial = denial_of(DenialKind::socket, call.caller, call.address.text());
    denial.rule = "abstract sockets: none of the machine's network";
    denials_.add(std::move(denial));
    answer(call.id, EACCES);
}

void Supervisor::answer(std::uint64_t id, int error) {
    send(id, error, 0);
}

// A caller that has gone needs no answer.
void Supervisor::send(std::uint64_t id, int error, std::uint32_t flags) {
    seccomp_notif_resp reply = {};
    reply.id = id;
    reply.error = -error;
    reply.flags = flags;
    std::fill(buffer_.begin(), buffer_.end(), '\0');
    std::memcpy(buffer_.data(), &reply, sizeof reply);
    (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, buffer_.data()); // gone: nothing to do
}

} // namespace ew::sandbox
