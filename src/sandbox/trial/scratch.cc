#include "sandbox/trial/scratch.h"

#include "os/directory.h"
#include "os/forked.h"
#include "os/io.h"
#include "os/proc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::string_view prefix = "execward-trial-";
constexpr std::string_view pattern = "execward-trial-XXXXXX";
constexpr std::size_t longest_base = 60; // so that the path of a socket fits (unix(7))
constexpr std::time_t longest_life = 60; // seconds; more than twice the time of a trial
constexpr int most_looked_at = 100'000;  // entries that a search for leftovers reads

// /tmp comes last: in it, a trial cannot try whether a sandbox has a /tmp of its own.
std::vector<std::string> bases() {
    std::vector<std::string> result = {"/var/tmp"};
    const char* const own = std::getenv("TMPDIR");
    const std::string_view tmpdir = own != nullptr ? own : "";
    if (tmpdir.starts_with('/') && tmpdir.size() < longest_base) result.emplace_back(tmpdir);
    result.emplace_back("/tmp");
    return result;
}

Error no_place(std::string_view what) {
    return {ErrorKind::sandbox_unavailable,
            fmt::format("{} for a trial of the sandbox: {}", what, strerror(errno)),
            "make /var/tmp, $TMPDIR or /tmp writable"};
}

bool make_file(const std::string& path, std::string_view text) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return file &&
           ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A socket with a queue, in which a connect succeeds although no process accepts.
UniqueFd listen_at(const sockaddr* address, socklen_t size) {
    constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    UniqueFd socket(::socket(address->sa_family, kind, 0));
    if (socket && (::bind(socket.get(), address, size) != 0 || ::listen(socket.get(), 4) != 0))
        socket.reset();
    return socket;
}

UniqueFd listen_at_name(const std::string& name, bool is_abstract) {
    sockaddr_un address = {};
    const std::size_t first = is_abstract ? 1 : 0;
    if (name.size() + first >= sizeof address.sun_path) return {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + first, name.data(), name.size());
    const std::size_t size = offsetof(sockaddr_un, sun_path) + first + name.size();
    const void* const plain = &address;
    return listen_at(static_cast<const sockaddr*>(plain), static_cast<socklen_t>(size));
}

// Removes the paths that are not empty. Links are not followed; after an error some files may stay.
void remove_all(const std::array<std::string, 2>& paths) {
    std::error_code ignored;
    for (const std::string& path : paths)
        if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

// The body of a process that removes these paths if its parent ends without having done so: then
// the other end of `life` is closed. Signals that end the parent, such as from a key of the
// terminal, do not end this process.
[[noreturn]] void await_inheritance(int life, const std::array<std::string, 2>& paths) {
    (void)::setsid();
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM})
        (void)::signal(number, SIG_IGN);
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; ++fd)
        ::dup2(nothing, fd);
    constexpr int place = 3;
    if (life != place) ::dup2(life, place);
    os::close_all_but({place}); // closes the other end too, or the end of file would never come
    char byte = 0;
    while (::read(place, &byte, 1) < 0 && errno == EINTR) {}
    remove_all(paths);
    ::_exit(0);
}

// Removes an old leftover of this user; links in it are not followed.
void remove_if_left(const std::string& path) {
    struct stat info = {};
    if (::lstat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return;
    if (info.st_mtime + longest_life > std::time(nullptr)) return;
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

} // namespace

Result<Scratch> Scratch::make() {
    Scratch scratch;
    for (const std::string& base : bases()) {
        std::string path = fmt::format("{}/{}", base, pattern);
        if (::mkdtemp(path.data()) == nullptr) continue;
        // Policies are about canonical paths, and $TMPDIR may be a link.
        std::error_code error;
        scratch.root_ = std::filesystem::canonical(path, error).string();
        if (!error) break;
        (void)::rmdir(path.c_str());
        scratch.root_.clear();
    }
    if (scratch.root_.empty()) return no_place("there is no directory");
    scratch.make_marker();
    scratch.appoint_heir();
    TRY(scratch.make_tree());
    scratch.make_sockets();
    scratch.make_pipe();
    return scratch;
}

// Makes a file in the machine's /tmp, which must not be visible.
void Scratch::make_marker() {
    std::string path = fmt::format("/tmp/{}", pattern);
    const UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
    if (file) marker_ = path;
}

// Without this process, the next trial removes the leftovers.
void Scratch::appoint_heir() {
    Result<os::Pipe> life = os::make_pipe();
    if (!life) return;
    heir_ = ::fork();
    if (heir_ == 0) await_inheritance(life->read.get(), {root_, marker_});
    life_ = std::move(life->write);
}

Result<void> Scratch::make_tree() {
    for (const char* const name :
         {"/outside", "/journal", "/inside", "/inside/.git", "/inside/.git/hooks",
          "/inside/.git/objects", "/inside/.git/refs"})
        if (::mkdir((root_ + name).c_str(), 0700) != 0) return no_place("no directory can be made");
    if (!make_file(root_ + "/outside/file", "a file\n") ||
        !make_file(root_ + "/outside/secret", "a secret\n") ||
        !make_file(root_ + "/inside/.git/HEAD", "ref: refs/heads/main\n") ||
        !make_file(root_ + "/inside/.git/config", "[core]\n\tbare = false\n"))
        return no_place("no file can be written");
    return {};
}

// If a socket cannot be made, it is not tried.
void Scratch::make_sockets() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    void* const plain = &address;
    UniqueFd internet = listen_at(static_cast<sockaddr*>(plain), size);
    if (internet && ::getsockname(internet.get(), static_cast<sockaddr*>(plain), &size) == 0)
        port_ = ntohs(address.sin_port);
    const std::string name = root_.substr(root_.rfind('/') + 1);
    UniqueFd abstract = listen_at_name(name, true);
    if (abstract) abstract_ = name;
    UniqueFd file = listen_at_name(root_ + "/outside/socket", false);
    if (file) socket_ = root_ + "/outside/socket";
    listeners_.push_back(std::move(internet));
    listeners_.push_back(std::move(abstract));
    listeners_.push_back(std::move(file));
}

// If it cannot be made, it is not tried.
void Scratch::make_pipe() {
    const std::string path = root_ + "/outside/pipe";
    if (::mkfifo(path.c_str(), 0600) != 0) return;
    reader_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    if (reader_) pipe_ = path;
}

Scratch::Scratch(Scratch&& other) noexcept
    : root_(std::exchange(other.root_, {})),
      marker_(std::exchange(other.marker_, {})),
      heir_(std::exchange(other.heir_, 0)),
      life_(std::move(other.life_)),
      abstract_(std::move(other.abstract_)),
      port_(other.port_),
      socket_(std::move(other.socket_)),
      listeners_(std::move(other.listeners_)),
      pipe_(std::move(other.pipe_)),
      reader_(std::move(other.reader_)) {}

Scratch::~Scratch() {
    remove_all({root_, marker_});
    if (heir_ <= 0) return;
    ::kill(heir_, SIGKILL);
    (void)::waitpid(heir_, nullptr, 0);
}

bool Scratch::is_in_tmp() const {
    return root_.starts_with("/tmp/");
}

Policy Scratch::policy(Network network) const {
    ModeOptions options;
    // A private /tmp would hide the files that must be found out of reach.
    options.shares_tmp = options.excludes_slash_tmp = options.excludes_tmpdir = is_in_tmp();
    options.writable_roots = {inside()};
    options.deny_read = {root_ + "/outside/secret"};
    options.has_network = network == Network::enabled;
    options.enforcement = Enforcement::best_effort;
    return policy_of(core::SandboxMode::workspace_write, options);
}

Context Scratch::context() const {
    Context context;
    context.cwd = inside();
    context.workspace_roots = {inside()};
    return context;
}

std::vector<std::string> Scratch::arguments(Network network) const {
    std::vector<std::string> result = {
        fmt::format("inside={}/inside", root_),
        fmt::format("outside={}/outside", root_),
        fmt::format("file={}/outside/file", root_),
        fmt::format("protected={}/inside/.git/config", root_),
        fmt::format("denied={}/outside/secret", root_),
    };
    const std::optional<os::ProcessIdentity> self = os::living_process(::getpid());
    if (self) {
        result.push_back(fmt::format("pid={}", self->pid));
        result.push_back(fmt::format("start={}", self->start_time));
    }
    if (!marker_.empty() && !is_in_tmp()) result.push_back(fmt::format("tmp={}", marker_));
    if (!abstract_.empty()) result.push_back(fmt::format("abstract={}", abstract_));
    if (!socket_.empty()) result.push_back(fmt::format("socket={}", socket_));
    if (!pipe_.empty()) result.push_back(fmt::format("pipe={}", pipe_));
    if (port_ != 0 && network == Network::restricted)
        result.push_back(fmt::format("tcp={}", port_));
    return result;
}

void Scratch::sweep() {
    for (const std::string& base : bases()) {
        const os::Directory directory = os::open_directory(base);
        for (int seen = 0; directory && seen < most_looked_at; ++seen) {
            const dirent* const entry = ::readdir(directory.get());
            if (entry == nullptr) break;
            if (std::string_view(entry->d_name).starts_with(prefix))
                remove_if_left(fmt::format("{}/{}", base, entry->d_name));
        }
    }
}

} // namespace ew::sandbox
