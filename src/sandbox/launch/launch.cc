#include "sandbox/launch/launch.h"

#include "base/check.h"
#include "core/network/proxy.h"
#include "core/text/display.h"
#include "os/io.h"
#include "sandbox/init/wire.h"
#include "sandbox/launch/launch_child.h"
#include "sandbox/launch/launch_process.h"
#include "sandbox/policy/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <utility>

namespace ew::sandbox {

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
    child_status_ = TRY(reports_.open());
    TRY(watch_.open(reports_.fd(), longest_start));
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
    reported_.is_passing = order.ready != nullptr && order.ready->pid() == pid;
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
    while (!outcome_ && take_report()) {}
    if (outcome_ || !news.is_late) return;
    watch_.kill();
    (void)::kill(-descriptors_.ours.pid, SIGKILL);
    outcome_ = Outcome{
        Error{ErrorKind::sandbox_unavailable,
              fmt::format("the command was not run: its sandbox was not ready after {} s",
                          std::chrono::duration_cast<std::chrono::seconds>(longest_start).count()),
              "a disk that does not answer, or a very large workspace: choose a narrower one"}};
}

// Returns false if there is no report now.
bool Launch::take_report() {
    StartReport report;
    switch (reports_.take(report)) {
    case StartReports::Taken::report: take(report); return true;
    case StartReports::Taken::none: return false;
    case StartReports::Taken::end: outcome_ = conclude(); return false;
    case StartReports::Taken::loss: break;
    }
    // Without the descriptor the sandbox cannot be kept up.
    outcome_ = Outcome{Error{ErrorKind::spawn_failed,
                             "the command was not run: the server has no descriptor left",
                             "end other processes, or raise the limit of open files (ulimit -n)"}};
    (void)::kill(-descriptors_.ours.pid, SIGKILL);
    return false;
}

// Arrives twice for each placeholder: without a lock before it is made, and then with the lock. A
// second plan holds its placeholders again. Two of our own locks on one placeholder would keep each
// other from removing it.
void Launch::keep_placeholder(StartReport& report) {
    const auto held = std::ranges::find(placeholders_, report.text, &Placeholder::path);
    if (held == placeholders_.end())
        placeholders_.push_back({report.text, std::move(report.descriptor)});
    else if (report.descriptor)
        held->lock = std::move(report.descriptor);
}

void Launch::keep_root(StartReport& report) {
    const std::vector<std::string> texts = report.texts();
    if (texts.size() != 4 || !report.descriptor) return;
    os::KnownDirectory known = {texts[0], texts[1]};
    (void)std::from_chars(texts[2].data(), texts[2].data() + texts[2].size(), known.device);
    (void)std::from_chars(texts[3].data(), texts[3].data() + texts[3].size(), known.inode);
    roots_.push_back({std::move(known), std::move(report.descriptor)});
}

std::vector<Placeholder> Launch::take_placeholders() {
    (void)outcome(); // takes the reports that were sent before the end
    return std::move(placeholders_);
}

Namespaces Launch::take_namespaces() {
    return namespaces_.exist() ? std::exchange(namespaces_, Namespaces()) : Namespaces();
}

void Launch::take(StartReport& report) {
    reported_.is_passing = false;
    const wire::Record& record = report.record;
    switch (record.kind) {
    case wire::RecordKind::refused: reported_ = refused_start(report); return;
    case wire::RecordKind::placeholder: return keep_placeholder(report);
    case wire::RecordKind::look:
        look_ = HeldLook{report.text, std::move(report.descriptor)};
        return;
    case wire::RecordKind::guarded: guarded_ = std::move(report.descriptor); return;
    case wire::RecordKind::name_space:
        namespaces_.machine_mounts = static_cast<std::uint64_t>(record.value);
        namespaces_.take(static_cast<wire::Namespace>(record.step), std::move(report.descriptor));
        return;
    case wire::RecordKind::network:
        host_network_.take(static_cast<wire::NetworkPart>(record.step),
                           std::move(report.descriptor));
        return;
    case wire::RecordKind::root: return keep_root(report);
    case wire::RecordKind::note: notes_.push_back(report.text); return;
    case wire::RecordKind::missing:
        for (std::size_t i = 0; i < guarantee_count; ++i)
            if (((record.value >> i) & 1) != 0) missing_.add(static_cast<Guarantee>(i));
        return;
    case wire::RecordKind::applied:
        is_applied_ = true;
        leader_ = report.sender;
        writable_mounts_ = report.numbers();
        listener_ = std::move(report.descriptor);
        return;
    case wire::RecordKind::failed: reported_ = failed_start(report, request_); return;
    }
}

// The other side has closed its end: the program runs, or never will.
Launch::Outcome Launch::conclude() {
    if (reported_.failure) return std::move(reported_);
    if (is_applied_) return {};
    if (!reported_.is_passing) return unreported_end(descriptors_.ours);
    return {Error{ErrorKind::sandbox_unavailable,
                  "the command was not run: the process that makes its sandbox has ended",
                  "try again"},
            false, true};
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
