#include "sandbox/bubblewrap.h"

#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace ew::sandbox {

namespace {

Error distrusted(std::string message, std::string hint) {
    return {ErrorKind::sandbox_unavailable, std::move(message), std::move(hint)};
}

// Why somebody else could replace it. Empty: nobody can.
std::string distrust_of(const struct stat& info, uid_t owner, bool is_above) {
    if (info.st_uid != 0 && info.st_uid != owner)
        return fmt::format("belongs to user {}", info.st_uid);
    // With an access control list the bits of the group are the most that the list grants (acl(5)).
    const bool others_may_write = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool is_sticky = (info.st_mode & S_ISVTX) != 0;
    if (others_may_write && !(is_above && is_sticky)) return "is writable by others than its owner";
    return {};
}

// Of files whose owner a user namespace does not know (user_namespaces(7)).
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
    Result<TrustedProgram> found = trusted_program(path, ::geteuid());
    if (!found && found.error().hint.empty()) found.error().hint = "reinstall execward";
    return found;
}

} // namespace ew::sandbox
