#include "sandbox/launch/launch.h"

#include "base/check.h"
#include "core/network/proxy.h"
#include "core/text/display.h"
#include "os/io.h"
#include "sandbox/init/wire.h"
#include "sandbox/launch/launch_child.h"
#include "sandbox/launch/launch_process.h"
#include "sandbox/policy/refusal.h"
#include "sandbox/policy/troubles.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t longest_complaint = 2048; // bytes of bubblewrap's messages

std::string_view step_name(std::uint32_t step) {
    switch (static_cast<wire::Step>(step)) {
    case wire::Step::namespaces: return "entering its namespaces";
    case wire::Step::build: return "making its mounts";
    case wire::Step::proc: return "mounting its /proc";
    case wire::Step::order: return "reading its order";
    case wire::Step::process: return "creating its process";
    case wire::Step::session: return "making it a session leader";
    case wire::Step::terminal: return "giving it its terminal";
    case wire::Step::limits: return "setting its resource limits";
    case wire::Step::directory: return "entering its working directory";
    case wire::Step::capabilities: return "dropping its capabilities";
    case wire::Step::privileges: return "forbidding it new privileges";
    case wire::Step::mounts: return "checking what its sandbox shows";
    case wire::Step::landlock: return "enforcing Landlock";
    case wire::Step::filter: return "installing the system call filter";
    case wire::Step::report: return "reporting that it is confined";
    case wire::Step::exec: return "executing it";
    }
    return "starting it";
}

Error describe_failure(const wire::Record& record, std::string_view text,
                       const os::SpawnRequest& request) {
    const auto step = static_cast<wire::Step>(record.step);
    const auto error_number = static_cast<std::int32_t>(record.value);
    if (step == wire::Step::exec) return os::describe({os::StartStep::exec, error_number}, request);
    if (step == wire::Step::directory)
        return os::describe({os::StartStep::directory, error_number}, request);
    if (step == wire::Step::mounts)
        return {ErrorKind::sandbox_unavailable,
                fmt::format("the command was not run: its sandbox shows something else than was "
                            "planned at '{}': {}",
                            text, ::strerror(error_number)),
                "something in the workspace was moved while the sandbox was made: try again"};
    if (step == wire::Step::build)
        return {ErrorKind::sandbox_unavailable,
                fmt::format("the command was not run: {} failed at '{}': {}",
                            step_name(record.step), text, ::strerror(error_number)),
                "execward doctor tells what this machine can enforce"};
    const bool is_of_program = step == wire::Step::terminal || step == wire::Step::limits;
    return {is_of_program ? ErrorKind::spawn_failed : ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: {} failed: {}", step_name(record.step),
                        ::strerror(error_number)),
            is_of_program ? "" : "execward doctor tells what this machine can enforce"};
}

bool is_of_machine(const wire::Record& record) {
    const auto step = static_cast<wire::Step>(record.step);
    if (is_exhaustion(static_cast<std::int32_t>(record.value))) return false;
    return step == wire::Step::namespaces || step == wire::Step::build ||
           step == wire::Step::proc || step == wire::Step::capabilities ||
           step == wire::Step::privileges || step == wire::Step::landlock ||
           step == wire::Step::filter;
}

// Returns the messages that bubblewrap wrote to the output of the program. The program has not run.
std::string complaint_in(const os::Spawned& spawned) {
    const int fd = spawned.error ? spawned.error.get() : spawned.output.get();
    std::string text(longest_complaint, '\0');
    const os::IoResult result = os::read_some(fd, text.data(), text.size());
    text.resize(result.state == os::IoState::progress ? result.count : 0);
    std::erase(text, '\r');
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ') c = ' ';
    return text;
}

// Does bubblewrap's message say that a source or a place of a mount is missing? (bind-mount.c,
// bubblewrap.c of version 0.8)
bool is_about_what_is_gone(std::string_view complaint) {
    return complaint.find("No such file or directory") != std::string_view::npos ||
           complaint.find("in mount table") != std::string_view::npos ||
           complaint.find("Unable to remount destination") != std::string_view::npos;
}

// Splits texts that each end with a NUL.
std::vector<std::string> texts_of(std::string_view text) {
    std::vector<std::string> texts;
    while (!text.empty()) {
        const std::size_t end = text.find('\0');
        texts.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return texts;
}

std::vector<std::uint64_t> numbers_of(std::string_view bytes) {
    std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
    for (std::uint64_t& number : numbers) {
        std::memcpy(&number, bytes.data(), sizeof number);
        bytes.remove_prefix(sizeof number);
    }
    return numbers;
}

} // namespace

// A packet as received from the socket.
struct Launch::Packet {
    wire::Record record = {};
    std::string text = {};
    pid_t sender = 0;
    UniqueFd descriptor = {};
};

namespace {

// The mode is never replaced by another one: neither by no network, nor by all of it.
std::optional<Error> refusal_of_hosts(const LaunchOrder& order) {
    if (order.policy.network != Network::hosts) return std::nullopt;
    const Machine& machine = order.machine;
    std::string missing;
    const auto need = [&missing](bool is_there, std::string_view what) {
        if (!is_there) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", what);
    };
    need(machine.has_mounts, "mounts");
    need(machine.has_network_namespace, "a network namespace");
    need(machine.has_filter && machine.has_notify, "seccomp notifications");
    need(machine.shares_namespaces, "namespaces that commands can share");
    if (missing.empty()) return std::nullopt;
    return Error{ErrorKind::sandbox_unavailable,
                 fmt::format("the command was not run: a network by host needs what this machine "
                             "does not give: {}",
                             missing),
                 "execward doctor tells more; without a network, or with all of it, the command "
                 "can run"};
}

} // namespace

namespace {

// Programs of a network by host reach no proxy, and would fail where they obey these variables.
// Returns a note about those that were there.
std::vector<std::string> drop_proxies(os::SpawnRequest& request) {
    constexpr std::size_t longest = 200; // bytes of names in the note
    std::string names;
    std::erase_if(request.environment, [&names](const auto& variable) {
        const bool is_dropped = core::is_proxy_variable(variable.first);
        if (is_dropped && names.size() < longest)
            names += (names.empty() ? "" : ", ") + core::visible(variable.first);
        return is_dropped;
    });
    if (names.empty()) return {};
    return {"a network by host needs no variables about proxies, and the command does not get " +
            names};
}

} // namespace

Launch::~Launch() = default;

Result<std::unique_ptr<Launch>> Launch::begin(LaunchOrder order, pid_t server) {
    TRY(os::check_strings(order.request));
    TRY(check(order.policy));
    const GuaranteeSet missing =
        needed_by(order.policy) - given_by(order.machine, order.policy.network);
    if (!missing.empty() && order.policy.enforcement == Enforcement::require)
        return refusal(order.machine, missing);
    if (std::optional<Error> refused = refusal_of_hosts(order)) return std::move(*refused);
    std::unique_ptr<Launch> launch(new Launch);
    launch->missing_ = missing;
    if (order.policy.network == Network::hosts) launch->notes_ = drop_proxies(order.request);
    TRY(launch->open(order.request));
    TRY(launch->make_child(order, server));
    launch->request_ = std::move(order.request);
    return launch;
}

Result<void> Launch::open(const os::SpawnRequest& request) {
    descriptors_ = TRY(os::open_program_descriptors(request));
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return os::system_error("socketpair", errno);
    status_ = UniqueFd(pair[0]);
    child_status_ = UniqueFd(pair[1]);
    // The kernel then adds the sender to each packet, with pids of our namespace (unix(7)).
    const int yes = 1;
    if (::setsockopt(status_.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
        return os::system_error("SO_PASSCRED", errno);
    TRY(os::set_nonblocking(status_.get()));
    TRY(watch_.open(status_.get(), longest_start));
    os::Pipe end = TRY(os::make_pipe());
    TRY(os::set_nonblocking(end.read.get()));
    end_ = std::move(end.read);
    child_end_ = std::move(end.write);
    os::Pipe lifeline = TRY(os::make_pipe());
    child_lifeline_ = std::move(lifeline.read);
    lifeline_ = std::move(lifeline.write);
    return {};
}

Result<void> Launch::make_child(LaunchOrder& order, pid_t server) {
    const int* const stdio = descriptors_.stdio;
    const ChildDescriptors descriptors = {{stdio[0], stdio[1], stdio[2]},
                                          child_status_.get(),
                                          child_end_.get(),
                                          child_lifeline_.get()};
    const pid_t pid = TRY(begin_child(order, descriptors, server));
    // Until its first report it may have been killed while it waited.
    is_passing_ = order.ready != nullptr && order.ready->pid() == pid;
    descriptors_.ours.pid = pid;
    watch_.add(pid);
    descriptors_.child_ends.clear();
    child_status_.reset();
    child_end_.reset();
    child_lifeline_.reset();
    return {};
}

std::optional<Launch::Outcome> Launch::outcome() {
    if (!outcome_) look_after();
    return outcome_;
}

// bubblewrap's second process waits for the first one, even if that has been killed, and it has the
// other end of the socket. As long as the group has a member, its number is not used again.
void Launch::look_after() {
    const StartWatch::News news = watch_.take();
    if (news.has_ended) (void)::kill(-descriptors_.ours.pid, SIGKILL);
    while (!outcome_ && take_packet()) {}
    if (outcome_ || !news.is_late) return;
    watch_.kill();
    (void)::kill(-descriptors_.ours.pid, SIGKILL);
    outcome_ = Outcome{
        Error{ErrorKind::sandbox_unavailable,
              fmt::format("the command was not run: its sandbox was not ready after {} s",
                          std::chrono::duration_cast<std::chrono::seconds>(longest_start).count()),
              "a disk that does not answer, or a very large workspace: choose a narrower one"}};
}

// Returns false if there is no packet now.
bool Launch::take_packet() {
    Packet packet;
    std::array<char, wire::longest_text> text; // most packets need little of it
    std::array<iovec, 2> parts = {
        {{&packet.record, sizeof packet.record}, {text.data(), text.size()}}};
    alignas(cmsghdr) std::array<char, 256> control = {};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(status_.get(), &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); size > 0 && part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_RIGHTS) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part), sizeof fd); // our own processes send one at most
            packet.descriptor = UniqueFd(fd);
        }
        if (part->cmsg_type == SCM_CREDENTIALS) {
            ucred credentials = {};
            std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
            packet.sender = credentials.pid;
        }
    }
    if (size > 0 && (message.msg_flags & MSG_CTRUNC) != 0) {
        // The server ran out of descriptors and lost this one; without it the sandbox cannot be
        // kept up.
        outcome_ = Outcome{Error{ErrorKind::spawn_failed,
                                 "the command was not run: the server has no descriptor left",
                                 "end other processes, or raise the limit of open files (ulimit "
                                 "-n)"}};
        (void)::kill(-descriptors_.ours.pid, SIGKILL);
        return false;
    }
    if (size < static_cast<ssize_t>(sizeof packet.record)) {
        outcome_ = conclude(); // the end, or a packet that our processes do not send
        return false;
    }
    packet.text.assign(text.data(),
                       std::min<std::size_t>(packet.record.size, static_cast<std::size_t>(size) -
                                                                     sizeof packet.record));
    take(packet);
    return true;
}

// Arrives twice for each placeholder: without a lock before it is made, and then with the lock. A
// second plan holds its placeholders again. Two of our own locks on one placeholder would keep each
// other from removing it.
void Launch::keep_placeholder(Packet& packet) {
    const auto held = std::ranges::find(placeholders_, packet.text, &Placeholder::path);
    if (held == placeholders_.end())
        placeholders_.push_back({packet.text, std::move(packet.descriptor)});
    else if (packet.descriptor)
        held->lock = std::move(packet.descriptor);
}

void Launch::keep_root(Packet& packet) {
    const std::vector<std::string> texts = texts_of(packet.text);
    if (texts.size() != 4 || !packet.descriptor) return;
    os::KnownDirectory known = {texts[0], texts[1]};
    (void)std::from_chars(texts[2].data(), texts[2].data() + texts[2].size(), known.device);
    (void)std::from_chars(texts[3].data(), texts[3].data() + texts[3].size(), known.inode);
    roots_.push_back({std::move(known), std::move(packet.descriptor)});
}

std::vector<Placeholder> Launch::take_placeholders() {
    (void)outcome(); // takes the packets that were sent before the end
    return std::move(placeholders_);
}

Namespaces Launch::take_namespaces() {
    return namespaces_.exist() ? std::exchange(namespaces_, Namespaces()) : Namespaces();
}

void Launch::take(Packet& packet) {
    is_passing_ = false;
    switch (packet.record.kind) {
    case wire::RecordKind::refused: {
        const std::vector<std::string> texts = texts_of(packet.text);
        failure_ = Error{static_cast<ErrorKind>(packet.record.value),
                         texts.empty() ? "the sandbox could not be made" : texts[0],
                         texts.size() > 1 ? texts[1] : "", texts.size() > 2 ? texts[2] : ""};
        return;
    }
    case wire::RecordKind::placeholder: return keep_placeholder(packet);
    case wire::RecordKind::look:
        look_ = HeldLook{packet.text, std::move(packet.descriptor)};
        return;
    case wire::RecordKind::guarded: guarded_ = std::move(packet.descriptor); return;
    case wire::RecordKind::name_space:
        namespaces_.machine_mounts = static_cast<std::uint64_t>(packet.record.value);
        namespaces_.take(static_cast<wire::Namespace>(packet.record.step),
                         std::move(packet.descriptor));
        return;
    case wire::RecordKind::network:
        host_network_.take(static_cast<wire::NetworkPart>(packet.record.step),
                           std::move(packet.descriptor));
        return;
    case wire::RecordKind::root: return keep_root(packet);
    case wire::RecordKind::note: notes_.push_back(packet.text); return;
    case wire::RecordKind::missing:
        for (std::size_t i = 0; i < guarantee_count; ++i)
            if (((packet.record.value >> i) & 1) != 0) missing_.add(static_cast<Guarantee>(i));
        return;
    case wire::RecordKind::applied:
        is_applied_ = true;
        leader_ = packet.sender;
        writable_mounts_ = numbers_of(packet.text);
        listener_ = std::move(packet.descriptor);
        return;
    case wire::RecordKind::failed:
        failure_ = describe_failure(packet.record, packet.text, request_);
        contradicts_machine_ = is_of_machine(packet.record);
        is_passing_ = static_cast<wire::Step>(packet.record.step) == wire::Step::mounts;
        return;
    }
}

// The other side has closed its end: the program runs, or never will.
Launch::Outcome Launch::conclude() {
    if (failure_) return {std::move(failure_), contradicts_machine_, is_passing_};
    if (is_applied_) return {};
    if (is_passing_)
        return {Error{ErrorKind::sandbox_unavailable,
                      "the command was not run: the process that makes its sandbox has ended",
                      "try again"},
                false, true};
    const std::string complaint = complaint_in(descriptors_.ours);
    if (is_about_what_is_gone(complaint))
        return {Error{ErrorKind::sandbox_unavailable,
                      fmt::format("the command was not run: what its sandbox was to show is gone: "
                                  "{}",
                                  complaint),
                      "something was moved or removed while the sandbox was made: try again"},
                false, true};
    return {Error{ErrorKind::sandbox_unavailable,
                  complaint.empty()
                      ? "the command was not run: its sandbox ended before it was in force"
                      : fmt::format("the command was not run: its sandbox could not be made: {}",
                                    complaint),
                  "execward doctor tells what this machine can enforce"},
            true};
}

std::vector<std::string> Launch::stand_ins() const {
    std::vector<std::string> paths;
    paths.reserve(placeholders_.size());
    for (const Placeholder& placeholder : placeholders_)
        if (placeholder.lock) paths.push_back(placeholder.path);
    return paths;
}

void Launch::read_end() {
    std::array<char, 4096> block;
    for (;;) {
        const os::IoResult got = os::read_some(end_.get(), block.data(), block.size());
        if (got.state != os::IoState::progress) return;
        end_text_.append(block.data(), got.count);
    }
}

std::optional<int> Launch::wait_status() {
    std::int32_t status = 0;
    read_end();
    if (end_text_.size() < sizeof status || end_text_.starts_with(wire::look_mark))
        return std::nullopt;
    std::memcpy(&status, end_text_.data(), sizeof status);
    return status;
}

std::optional<std::string> Launch::look_result() {
    const std::size_t begin = wait_status() ? sizeof(std::int32_t) : 0;
    const std::string_view rest = std::string_view(end_text_).substr(begin);
    if (!rest.starts_with(wire::look_mark)) return std::nullopt;
    return std::string(rest.substr(wire::look_mark.size()));
}

} // namespace ew::sandbox
