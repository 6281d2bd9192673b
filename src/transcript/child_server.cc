#include "transcript/child_server.h"

#include "os/io.h"
#include "os/pidfd.h"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

namespace ew::transcript {

namespace {

constexpr std::size_t read_size = 64 << 10;
constexpr Millis ending_time{5000};

struct SpawnPlan {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;

    SpawnPlan(int input, int output, const std::string& directory) {
        ::posix_spawn_file_actions_init(&files);
        ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
        ::posix_spawn_file_actions_addchdir_np(&files, directory.c_str());
        sigset_t defaults;
        ::sigemptyset(&defaults);
        ::sigaddset(&defaults, SIGPIPE);
        ::posix_spawnattr_init(&attributes);
        ::posix_spawnattr_setsigdefault(&attributes, &defaults);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    }

    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;
    SpawnPlan(SpawnPlan&&) = delete;
    SpawnPlan& operator=(SpawnPlan&&) = delete;

    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&files);
        ::posix_spawnattr_destroy(&attributes);
    }
};

int milliseconds_until(TimePoint deadline) {
    constexpr Millis longest{60'000};
    const auto left = std::chrono::ceil<Millis>(deadline - clock_now());
    return static_cast<int>(std::clamp(left, Millis(0), longest).count());
}

// Returns pointers to the texts and a null at the end, as exec needs them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

Result<std::string> absolute_path(const std::string& path) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (error) return os::system_error("cannot find the working directory", error.value());
    return absolute.string();
}

} // namespace

ChildServer::ChildServer(pid_t pid, UniqueFd pidfd, UniqueFd input, UniqueFd output)
    : pid_(pid), pidfd_(std::move(pidfd)), input_(std::move(input)), output_(std::move(output)) {}

Result<ChildServer> ChildServer::start(const std::vector<std::string>& command,
                                       const std::vector<std::string>& environment,
                                       const std::string& directory) {
    os::Pipe input = TRY(os::make_pipe());
    os::Pipe output = TRY(os::make_pipe());
    TRY(os::set_nonblocking(input.write.get()));
    TRY(os::set_nonblocking(output.read.get()));
    std::vector<std::string> words = command;
    if (words.front().find('/') != std::string::npos)
        words.front() = TRY(absolute_path(words.front()));
    std::vector<std::string> variables = environment;
    const std::vector<char*> argv = pointers_to(words);
    const std::vector<char*> envp = pointers_to(variables);

    const SpawnPlan plan(input.read.get(), output.write.get(), directory);
    pid_t pid = 0;
    const int failure =
        ::posix_spawnp(&pid, argv[0], &plan.files, &plan.attributes, argv.data(), envp.data());
    if (failure != 0) return os::system_error("cannot start " + command.front(), failure);
    return ChildServer(pid, os::open_pidfd(pid), std::move(input.write), std::move(output.read));
}

ChildServer::~ChildServer() {
    if (!pidfd_ || status_) return;
    input_.reset();
    output_.reset();
    if (wait_for_exit(clock_now() + ending_time)) return;
    kill();
    (void)wait_for_exit(clock_now() + ending_time); // if it still runs, nothing more can be done
}

void ChildServer::kill() {
    os::signal_by_pidfd(pidfd_.get(), SIGKILL);
}

void ChildServer::send_line(std::string_view text) {
    unsent_.append(text);
    unsent_.append('\n');
    write_some();
}

void ChildServer::close_input() {
    closes_input_ = true;
    write_some();
}

void ChildServer::write_some() {
    while (input_ && !unsent_.empty()) {
        const os::IoResult result = os::write_some(input_.get(), unsent_.view());
        unsent_.consume(result.count);
        if (result.state == os::IoState::would_block) return;
        if (result.state == os::IoState::end) input_.reset(); // the server does not read the rest
    }
    if (closes_input_) input_.reset();
}

void ChildServer::read_some() {
    const os::IoResult result =
        os::read_some(output_.get(), received_.reserve(read_size), read_size);
    received_.commit(result.count);
    if (result.state == os::IoState::end) output_.reset();
}

std::optional<std::string_view> ChildServer::next_line() {
    received_.consume(taken_);
    taken_ = 0;
    const std::size_t end = received_.view().find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    taken_ = end + 1;
    return received_.view().substr(0, end);
}

bool ChildServer::exchange(TimePoint deadline) {
    const bool wants_to_write = input_ && !unsent_.empty();
    std::array<pollfd, 2> ends = {
        {{output_.get(), POLLIN, 0}, {wants_to_write ? input_.get() : -1, POLLOUT, 0}}};
    const int ready = ::poll(ends.data(), ends.size(), milliseconds_until(deadline));
    if (ends[0].revents != 0) read_some();
    if (ends[1].revents != 0) write_some();
    return ready > 0 || clock_now() < deadline;
}

std::optional<int> ChildServer::wait_for_exit(TimePoint deadline) {
    while (!status_) {
        pollfd end = {pidfd_.get(), POLLIN, 0};
        (void)::poll(&end, 1, milliseconds_until(deadline)); // waitpid reports the result
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_)
            status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        else if (clock_now() >= deadline)
            return std::nullopt;
    }
    return status_;
}

} // namespace ew::transcript
