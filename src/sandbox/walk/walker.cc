#include "sandbox/walk/walker.h"

#include "base/unique_fd.h"
#include "os/file_capabilities.h"
#include "os/io.h"
#include "os/passed_descriptors.h"
#include "os/proc.h"
#include "sandbox/walk/kept_walk.h"
#include "sandbox/walk/walk_bytes.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

constexpr Millis first_work{250};     // for the request that begins a walk, which goes on after it
constexpr Millis longest_work{3'000}; // for a later request
constexpr Millis longest_answer{4'000}; // how long a start waits
constexpr Millis slice{50};             // of work between looks at the socket
constexpr Millis quiet{100};            // after the last change, before what it touched is read
constexpr Millis unused{60'000};        // after which a walk may make room for another one
constexpr Millis until_retry{60'000};   // after a walk that could not be kept
constexpr Millis rest{20};              // between looks at changes, of which many come at once
constexpr int most_losses = 3;          // one after the other, before a walk cannot be kept
constexpr std::size_t most_kept = 4;    // walks: policies and places of one session
constexpr std::uint64_t usual_watches = 8'192; // if the limit cannot be read

constexpr const char* own_mounts = "/proc/self/ns/mnt";

UniqueFd in_memory(const std::string& bytes) {
    UniqueFd fd(::memfd_create("execward", MFD_CLOEXEC));
    if (!fd || !os::write_all(fd.get(), bytes)) return {};
    return fd;
}

std::string content_of(int fd) {
    const off_t size = ::lseek(fd, 0, SEEK_END);
    std::string bytes(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
    if (::pread(fd, bytes.data(), bytes.size(), 0) != size) return {};
    return bytes;
}

bool is_same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Each watch takes about a kilobyte of the kernel, and all programs of a user share them. What is
// left is enough for another program that watches most of the same directories.
std::size_t most_watches() {
    const std::string text = os::read_proc_file("/proc/sys/fs/inotify/max_user_watches");
    std::uint64_t limit = usual_watches;
    (void)std::from_chars(text.data(), text.data() + text.size(), limit);
    return std::min<std::uint64_t>(limit / 5 * 3, most_directories);
}

class Walker {
public:
    explicit Walker(int socket) : socket_(socket) { look_at_mounts(); }

    // Returns false at the end.
    bool turn();

private:
    using State = KeptWalk::State;

    struct Kept {
        WalkOrder order;
        std::unique_ptr<KeptWalk> walk = nullptr;
        State state = State::behind;
        TimePoint made = {}; // the walk
        TimePoint used = {};
        TimePoint not_before = {}; // that time another try is useless
        int losses = 0;            // since the walk was last complete
    };

    void answer(std::vector<UniqueFd> request);
    bool enter(int mounts);
    bool look_at_mounts();
    Kept& kept_for(WalkOrder order, TimePoint now);
    void make(Kept& kept, TimePoint now);
    void update(Kept& kept, TimePoint until);
    void take_changes(Kept& kept);
    void settle(Kept& kept, State state);
    bool is_behind() const;

    int socket_;
    UniqueFd mounts_;       // the table of mounts, which tells when it changes
    std::vector<Kept> all_; // the least recently used first
    const std::size_t most_ = most_watches();
    bool had_changes_ = false; // in the last turn
};

bool Walker::turn() {
    std::vector<pollfd> sources = {{socket_, POLLIN, 0}};
    for (const Kept& kept : all_)
        sources.push_back({kept.walk ? kept.walk->fd() : -1, POLLIN, 0});
    const int wait = !is_behind() ? -1 : had_changes_ ? static_cast<int>(quiet.count()) : 0;
    if (had_changes_) (void)::poll(sources.data(), 1, static_cast<int>(rest.count()));
    const int count = ::poll(sources.data(), sources.size(), wait);
    if (count < 0) return errno == EINTR;
    had_changes_ = false;
    for (std::size_t i = 1; i < sources.size(); ++i)
        if (sources[i].revents != 0) take_changes(all_[i - 1]);
    for (Kept& kept : all_)
        if (count == 0 && kept.walk && kept.state == State::behind)
            update(kept, clock_now() + slice);
    if (sources.front().revents == 0) return true;
    std::vector<UniqueFd> request = os::receive_descriptors(socket_);
    if (request.empty()) return (sources.front().revents & POLLHUP) == 0;
    answer(std::move(request));
    return true;
}

bool Walker::is_behind() const {
    return std::ranges::any_of(
        all_, [](const Kept& kept) { return kept.walk && kept.state == State::behind; });
}

// Where nothing is sent, the end of the socket tells that there is no answer.
void Walker::answer(std::vector<UniqueFd> request) {
    if (request.size() != 3) return;
    std::optional<WalkOrder> order = decode_walk_order(content_of(request[1].get()));
    if (!order || !enter(request[2].get())) return;
    const TimePoint now = clock_now();
    Kept& kept = kept_for(std::move(*order), now);
    update(kept, now + (kept.made == now ? first_work : longest_work));
    if (!kept.walk && now >= kept.not_before) { // it was lost
        make(kept, now);
        update(kept, clock_now() + first_work);
    }
    if (!kept.walk || kept.state != State::complete || look_at_mounts()) return;
    const UniqueFd bytes = in_memory(encode(kept.walk->findings()));
    const std::array<int, 1> sent = {bytes.get()};
    if (bytes) (void)os::send_descriptors(request[0].get(), sent); // the start may be gone
}

// Returns false if the mounts cannot be seen as the start sees them.
bool Walker::enter(int mounts) {
    struct stat theirs = {};
    struct stat ours = {};
    if (::fstat(mounts, &theirs) != 0 || ::stat(own_mounts, &ours) != 0) return false;
    if (!is_same_file(theirs, ours)) {
        all_.clear();
        mounts_.reset();
        if (::setns(mounts, CLONE_NEWNS) != 0) return false;
    }
    (void)look_at_mounts();
    return static_cast<bool>(mounts_);
}

// Forgets all walks if a mount has changed since the last look (poll(2) in proc_pid_mounts(5)), and
// returns true then.
bool Walker::look_at_mounts() {
    if (!mounts_) mounts_ = UniqueFd(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    pollfd table = {mounts_.get(), POLLPRI, 0};
    if (mounts_ && ::poll(&table, 1, 0) == 0) return false;
    all_.clear();
    return true;
}

Walker::Kept& Walker::kept_for(WalkOrder order, TimePoint now) {
    const auto found = std::ranges::find(all_, order, &Kept::order);
    if (found != all_.end()) {
        std::rotate(found, std::next(found), all_.end());
    } else {
        if (all_.size() >= most_kept) all_.erase(all_.begin());
        all_.push_back({std::move(order)});
    }
    Kept& kept = all_.back();
    kept.used = now;
    if (!kept.walk && now >= kept.not_before) make(kept, now);
    return kept;
}

void Walker::make(Kept& kept, TimePoint now) {
    kept.walk.reset();
    std::size_t taken = 0;
    for (Kept& other : all_) {
        if (other.used + unused < now) other.walk.reset();
        if (other.walk) taken += other.walk->directories();
    }
    kept.walk = std::make_unique<KeptWalk>(kept.order, most_ - std::min(taken, most_));
    kept.state = State::behind;
    kept.made = now;
}

void Walker::update(Kept& kept, TimePoint until) {
    if (kept.walk) settle(kept, kept.walk->update(until));
}

void Walker::take_changes(Kept& kept) {
    had_changes_ = true;
    if (kept.walk) settle(kept, kept.walk->take_changes());
}

void Walker::settle(Kept& kept, State state) {
    kept.state = state;
    if (state == State::complete) kept.losses = 0;
    if (state == State::complete || state == State::behind) return;
    kept.walk.reset();
    if (state == State::unfit || ++kept.losses >= most_losses)
        kept.not_before = clock_now() + until_retry;
}

} // namespace

int run_walker(int socket) {
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); // no other process may read or trace it
    (void)os::set_file_capabilities(false);     // as for the plan of a start
    (void)!::chdir("/");                        // must not keep the server's directory
    Walker walker(socket);
    while (walker.turn()) {}
    return 0;
}

std::optional<WalkFindings> ask_walker(int socket, const WalkOrder& order) {
    const UniqueFd bytes = in_memory(encode(order));
    const UniqueFd mounts(::open(own_mounts, O_RDONLY | O_CLOEXEC));
    int pair[2];
    if (!bytes || !mounts || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return std::nullopt;
    const UniqueFd ours(pair[0]);
    UniqueFd theirs(pair[1]);
    const std::array<int, 3> sent = {theirs.get(), bytes.get(), mounts.get()};
    if (!os::send_descriptors(socket, sent)) return std::nullopt;
    theirs.reset();
    pollfd ready = {ours.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(longest_answer.count())) != 1) return std::nullopt;
    const std::vector<UniqueFd> answer = os::receive_descriptors(ours.get());
    if (answer.size() != 1) return std::nullopt;
    std::optional<WalkFindings> found = decode_walk_findings(content_of(answer.front().get()));
    if (!found || found->matches.size() != order.patterns.size()) return std::nullopt;
    return found;
}

} // namespace ew::sandbox
