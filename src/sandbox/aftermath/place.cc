#include "sandbox/aftermath/place.h"

#include "os/directory.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr mode_t reading = S_IRUSR | S_IXUSR;
constexpr mode_t changing = S_IRUSR | S_IWUSR | S_IXUSR;
constexpr mode_t permission_bits = 07777;

// A name for an O_PATH descriptor, which calls like chmod(2) do not take.
std::string name_of(int fd) {
    return fmt::format("/proc/self/fd/{}", fd);
}

EntryKind kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return EntryKind::directory;
    if (S_ISREG(mode)) return EntryKind::file;
    return S_ISLNK(mode) ? EntryKind::link : EntryKind::other;
}

} // namespace

Place::Place(UniqueFd fd, std::string path, Rights rights)
    : fd_(std::move(fd)), path_(std::move(path)), rights_(rights) {
    struct stat status = {};
    if (rights == Rights::as_they_are || ::fstat(fd_.get(), &status) != 0) return;
    const mode_t mode = status.st_mode & permission_bits;
    const mode_t needed = rights == Rights::to_read ? reading : changing;
    if (status.st_uid != ::geteuid() || (mode & needed) == needed) return;
    if (::chmod(name_of(fd_.get()).c_str(), mode | needed) == 0) mode_before_ = mode;
}

Place::~Place() {
    if (fd_ && mode_before_) (void)::chmod(name_of(fd_.get()).c_str(), *mode_before_);
}

Place::Place(Place&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      rights_(other.rights_),
      mode_before_(std::exchange(other.mode_before_, std::nullopt)) {}

std::optional<Place> Place::at(const std::string& path, Rights rights) {
    UniqueFd fd = open_without_links(path, O_PATH | O_DIRECTORY);
    if (fd) return Place(std::move(fd), path, rights);
    if (errno != EACCES || rights == Rights::as_they_are) return std::nullopt;
    return step_by_step(path, rights);
}

// Takes the rights on each directory of the way, one after the other.
std::optional<Place> Place::step_by_step(const std::string& path, Rights rights) {
    UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::optional<Place> here(Place(std::move(root), "/", rights));
    for (std::size_t from = 1; here && from < path.size();) {
        const std::size_t to = std::min(path.find('/', from), path.size());
        std::optional<Place> next = here->inner(path.substr(from, to - from));
        here.reset();
        if (next) here.emplace(std::move(*next));
        from = to + 1;
    }
    return here;
}

std::optional<Place> Place::inner(const std::string& name) const {
    constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(::openat(fd_.get(), name.c_str(), flags));
    if (!fd) return std::nullopt;
    return Place(std::move(fd), joined(path_, name), rights_);
}

EntryKind Place::kind(const std::string& name) const {
    struct stat status = {};
    if (::fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return EntryKind::missing;
    return kind_of(status.st_mode);
}

std::optional<std::vector<PlaceEntry>> Place::entries(std::size_t most) const {
    const int copy = ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0) return std::nullopt;
    const os::Directory directory(::fdopendir(copy));
    if (!directory) {
        ::close(copy);
        return std::nullopt;
    }
    std::vector<PlaceEntry> entries;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (entries.size() == most) return std::nullopt;
        PlaceEntry& next = entries.emplace_back();
        next.name = name;
        const bool is_known = entry->d_type != DT_UNKNOWN;
        next.kind =
            is_known ? kind_of(static_cast<mode_t>(DTTOIF(entry->d_type))) : kind(next.name);
    }
    return entries;
}

bool Place::is_empty() const {
    const auto entries = this->entries(1);
    return entries && entries->empty();
}

std::optional<std::string> Place::read(const std::string& name, std::size_t most) const {
    // An O_PATH descriptor opens nothing, so a device or a pipe is not disturbed.
    const UniqueFd file(::openat(fd_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    if (static_cast<std::size_t>(status.st_size) > most) return std::nullopt;
    const UniqueFd open(::open(name_of(file.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!open) return std::nullopt;
    std::string text(static_cast<std::size_t>(status.st_size) + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t count =
            ::pread(open.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
        if (count < 0) return std::nullopt;
        if (count == 0) break;
        size += static_cast<std::size_t>(count);
    }
    if (size == text.size()) return std::nullopt; // it grows meanwhile
    text.resize(size);
    return text;
}

std::string Place::stamp(const std::string& name) const {
    struct stat status = {};
    if (::fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    return fmt::format("{} {} {}.{} {}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

std::string Place::target(const std::string& name) const {
    std::array<char, PATH_MAX> target;
    const ssize_t size = ::readlinkat(fd_.get(), name.c_str(), target.data(), target.size());
    return size < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(size));
}

} // namespace ew::sandbox
