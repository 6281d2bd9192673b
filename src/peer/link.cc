#include "peer/link.h"

#include "core/text/display.h"
#include "core/text/text.h"
#include "os/io.h"
#include "os/signals.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace ew::peer {

Result<std::unique_ptr<Link>> Link::begin(const Tokens& tokens, os::SpawnRequest request,
                                          os::Poller& poller) {
    request.pipe_stdin = true;
    std::unique_ptr<Link> link(new Link(tokens, std::move(request), poller));
    link->start_ = TRY(os::PendingStart::begin(link->request_, ::getpid()));
    link->pid_ = link->start_->spawned().pid;
    (void)poller.watch(link->start_->report(), tokens.start, os::Interest::read);
    return link;
}

Link::~Link() {
    if (start_) poller_.unwatch(start_->report());
    // A child that still runs in our memory needs it, so it is leaked.
    if (start_ && !start_->outcome()) (void)start_.release();
    if (is_running() && !is_paused_) poller_.unwatch(output_.get());
    if (error_) poller_.unwatch(error_.get());
    if (waits_for_room_) poller_.unwatch(input_.get());
    if (pid_ <= 0 || (exit_ && !has_heirs())) return; // pid 0 would mean our own group
    (void)::kill(-pid_, SIGKILL);
    // The program is not reaped yet, so its pid cannot be reused. It may not lead a group yet.
    if (!exit_) (void)::kill(pid_, SIGKILL);
}

// The program may have been a wrapper whose child continues. When the wrapper ends, the members of
// its group become our children (subreaper, prctl(2)). Until now the reaped process reserved the
// number of the group, and the kernel assigns numbers in turn, so the number still means this
// group.
bool Link::note_reaped(pid_t pid, int status) {
    const auto is_heir = [&](const os::ProcessIdentity& heir) { return heir.pid == pid; };
    if (pid == pid_)
        exit_ = status;
    else if (std::ranges::none_of(heirs_, is_heir))
        return false;
    heirs_.clear();
    for (const pid_t child : os::children_of(::getpid())) {
        if (child == pid_ || ::getpgid(child) != pid_) continue;
        if (const auto alive = os::living_process(child)) heirs_.push_back(*alive);
    }
    return pid == pid_;
}

// A child of ours stays in its group until we reap it, and the group keeps its number. So while one
// of them exists, the number means no other group.
bool Link::has_heirs() const {
    return std::ranges::any_of(heirs_, [&](const os::ProcessIdentity& heir) {
        return os::living_process(heir.pid) == heir && ::getpgid(heir.pid) == pid_;
    });
}

Result<void> Link::on_start_report() {
    const std::optional<os::StartFailure> failure = start_->outcome();
    if (!failure) return {};
    poller_.unwatch(start_->report());
    os::Spawned spawned = std::move(start_->spawned());
    start_.reset();
    if (failure->step != os::StartStep::none) return os::describe(*failure, request_);
    input_ = std::move(spawned.input);
    output_ = std::move(spawned.output);
    error_ = std::move(spawned.error);
    (void)poller_.watch(output_.get(), tokens_.output, os::Interest::read);
    (void)poller_.watch(error_.get(), tokens_.error, os::Interest::read);
    return {};
}

void Link::send(std::string_view line) {
    if (has_lost_input_) return;
    unsent_.append(line);
    if (!waits_for_room_) flush();
}

void Link::flush() {
    bool is_blocked = false;
    while (input_ && !is_blocked && !unsent_.empty()) {
        const os::IoResult result = os::write_some(input_.get(), unsent_.view());
        if (result.state == os::IoState::end) {
            has_lost_input_ = true;
            return close_input();
        }
        unsent_.consume(result.count);
        is_blocked = result.state == os::IoState::would_block;
    }
    if (!input_ || is_blocked == waits_for_room_) return;
    waits_for_room_ = is_blocked;
    if (is_blocked)
        (void)poller_.watch(input_.get(), tokens_.input, os::Interest::write);
    else
        poller_.unwatch(input_.get());
}

bool Link::read(std::size_t budget) {
    const os::IoResult result = os::read_some(output_.get(), deframer_.reserve(budget), budget);
    if (result.state == os::IoState::progress) deframer_.commit(result.count);
    if (result.state != os::IoState::end) return true;
    if (!is_paused_) poller_.unwatch(output_.get());
    output_.reset();
    has_ended_ = true;
    return false;
}

// Removes the watch entirely, because epoll reports a hang-up whatever the interest is
// (epoll_ctl(2)).
void Link::pause(bool is_paused) {
    if (!is_running() || is_paused_ == is_paused) return;
    is_paused_ = is_paused;
    if (is_paused)
        poller_.unwatch(output_.get());
    else
        (void)poller_.watch(output_.get(), tokens_.output, os::Interest::read);
}

void Link::read_error_text() {
    constexpr int most_reads = 16; // the rest is read later
    std::array<char, kept_error_text> bytes;
    os::IoState state = os::IoState::progress;
    for (int i = 0; error_ && i < most_reads && state == os::IoState::progress; ++i) {
        const os::IoResult result = os::read_some(error_.get(), bytes.data(), bytes.size());
        state = result.state;
        error_text_.append(bytes.data(), result.count);
        if (error_text_.size() > kept_error_text)
            error_text_.erase(0, error_text_.size() - kept_error_text);
    }
    if (!error_ || state != os::IoState::end) return;
    poller_.unwatch(error_.get());
    error_.reset();
}

void Link::forget_error_text() {
    read_error_text();
    error_text_.clear();
    strange_line_.clear();
}

void Link::close_input() {
    if (waits_for_room_) poller_.unwatch(input_.get());
    waits_for_room_ = false;
    input_.reset();
    unsent_.release();
}

std::string Link::ending() const {
    const std::string& name = request_.arg0.value_or(request_.argv.front());
    std::string text = core::visible(name);
    if (exit_ && WIFSIGNALED(*exit_))
        text += fmt::format(" was ended by {}", os::signal_name(WTERMSIG(*exit_)));
    else if (exit_)
        text += fmt::format(" ended with status {}", WEXITSTATUS(*exit_));
    else
        text += has_ended_ ? " has closed its output" : " has not ended";
    if (const std::string line = last_error_line(); !line.empty()) text += ": " + line;
    if (!strange_line_.empty()) text += "; instead of a message it sent: " + strange_line_;
    return text;
}

// Returns an empty string if there was no output on stderr.
std::string Link::last_error_line() const {
    const std::size_t last = error_text_.find_last_not_of(" \r\n\t");
    if (last == std::string::npos) return {};
    const std::size_t line = error_text_.find_last_of('\n', last);
    const std::size_t begin = line == std::string::npos ? 0 : line + 1;
    return core::visible(core::lossy(error_text_.substr(begin, last + 1 - begin)));
}

} // namespace ew::peer
