#include "sandbox/launch/bubblewrap.h"

#include "base/unique_fd.h"
#include "core/sha256.h"
#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

namespace ew::sandbox {

namespace {

Error distrusted(std::string message, std::string hint) {
    return {ErrorKind::sandbox_unavailable, std::move(message), std::move(hint)};
}

// Returns why another user could replace the file, or an empty string if nobody can.
std::string distrust_of(const struct stat& info, uid_t owner, bool is_above) {
    if (info.st_uid != 0 && info.st_uid != owner)
        return fmt::format("belongs to user {}", info.st_uid);
    // With an access control list the bits of the group are the most that the list grants (acl(5)).
    const bool others_may_write = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool is_sticky = (info.st_mode & S_ISVTX) != 0;
    if (others_may_write && !(is_above && is_sticky)) return "is writable by others than its owner";
    return {};
}

// The owner of files whose real owner a user namespace does not map (user_namespaces(7)).
constexpr uid_t nobody_known = 65534;

std::string way_out(const std::string& path, const struct stat& info, uid_t owner) {
    if (info.st_uid == nobody_known)
        return "run execward in a user namespace that knows root, or in none";
    if (info.st_uid != 0 && info.st_uid != owner) return "reinstall it as root";
    return fmt::format("chmod go-w {}", path);
}

Result<void> check_above(const std::string& path, uid_t owner) {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos;
         slash = slash == 0 ? std::string::npos : path.rfind('/', slash - 1)) {
        const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
        struct stat info = {};
        if (::stat(directory.c_str(), &info) != 0)
            return distrusted(fmt::format("{}: {}", directory, strerror(errno)), {});
        const std::string why = distrust_of(info, owner, true);
        if (!why.empty())
            return distrusted(
                fmt::format("{} cannot be trusted: its directory {} {}", path, directory, why),
                way_out(directory, info, owner));
    }
    return {};
}

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileIdentity identity_of(const struct stat& info) {
    return {info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_mtim),
            nanoseconds(info.st_ctim)};
}

// A whole file, mapped for reading.
class Mapping {
public:
    explicit Mapping(const std::string& path) {
        const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
        struct stat status = {};
        constexpr off_t most = 64 << 20;
        if (!file || ::fstat(file.get(), &status) != 0 || status.st_size > most) return;
        mode_ = status.st_mode;
        size_ = static_cast<std::size_t>(status.st_size);
        bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    }

    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    ~Mapping() {
        if (bytes_ != MAP_FAILED) ::munmap(bytes_, size_);
    }

    std::string_view text() const {
        return bytes_ == MAP_FAILED ? "" : std::string_view(static_cast<char*>(bytes_), size_);
    }

    mode_t mode() const { return mode_; }

private:
    mode_t mode_ = 0;
    void* bytes_ = MAP_FAILED;
    std::size_t size_ = 0;
};

// The kernel adds this to the path of a program that is no longer there (proc(5)).
constexpr std::string_view deleted = " (deleted)";

Result<void> check_own_program() {
    const std::string self = os::link_target("/proc/self/exe").value_or("");
    if (self.ends_with(deleted))
        return distrusted(fmt::format("{} was replaced while it ran",
                                      self.substr(0, self.size() - deleted.size())),
                          "start execward again");
    TRY(trusted_program(self, ::geteuid()));
    return {};
}

} // namespace

Result<TrustedProgram> trusted_program(const std::string& path, uid_t owner) {
    const std::optional<std::string> real = os::real_path(path);
    struct stat info = {};
    if (!real || ::stat(real->c_str(), &info) != 0)
        return distrusted(fmt::format("{}: {}", path, strerror(errno)), {});
    if (!S_ISREG(info.st_mode)) return distrusted(fmt::format("{} is no regular file", *real), {});
    const std::string why = distrust_of(info, owner, false);
    if (!why.empty())
        return distrusted(fmt::format("{} cannot be trusted: it {}", *real, why),
                          way_out(*real, info, owner));
    TRY(check_above(*real, owner));
    if (info.st_size == 0) return distrusted(fmt::format("{} is empty", *real), "reinstall it");
    if (::faccessat(AT_FDCWD, real->c_str(), X_OK, AT_EACCESS) != 0)
        return distrusted(fmt::format("{} cannot be executed: {}", *real, strerror(errno)),
                          fmt::format("chmod a+rx {}", *real));
    return TrustedProgram{*real, identity_of(info)};
}

Result<TrustedProgram> find_bubblewrap(std::span<const std::string_view> places) {
    std::optional<Error> first;
    for (const std::string_view place : places) {
        const std::string path(place);
        struct stat info = {};
        if (::lstat(path.c_str(), &info) != 0 && errno == ENOENT) continue;
        Result<TrustedProgram> found = trusted_program(path, 0);
        if (found) return found;
        if (!first) first = std::move(found.error());
    }
    if (first) return std::move(*first);
    return distrusted("bubblewrap is not installed: there is no /usr/bin/bwrap",
                      "install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf "
                      "install bubblewrap)");
}

Result<TrustedProgram> find_init(const std::string& path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0 && errno == ENOENT)
        return distrusted(fmt::format("{} is missing", path), "reinstall execward");
    if (is_relocatable()) TRY(check_own_program());
    Result<TrustedProgram> found = trusted_program(path, ::geteuid());
    if (!found && found.error().hint.empty()) found.error().hint = "reinstall execward";
    return found;
}

Result<void> check_build(const TrustedProgram& init, std::string_view digest) {
    static FileIdentity known;
    if (digest.empty() || init.identity == known) return {};
    if (core::sha256(Mapping(init.path).text()) != digest)
        return distrusted(fmt::format("{} is not of the same build as execward", init.path),
                          "unpack or install both from one archive, and start execward again");
    known = init.identity;
    return {};
}

Result<TrustedProgram> find_own_init(const std::string& path) {
    TrustedProgram init = TRY(find_init(path));
    TRY(check_build(init, init_digest));
    return init;
}

bool takes_size(const std::string& bubblewrap) {
    constexpr std::string_view option("\0--size\0", 8);
    const Mapping program(bubblewrap);
    return (program.mode() & S_ISUID) == 0 && program.text().find(option) != std::string_view::npos;
}

} // namespace ew::sandbox
