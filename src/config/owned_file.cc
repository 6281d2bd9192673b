#include "config/owned_file.h"

#include "base/unique_fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ew::config {

namespace {

Error failed(std::string_view what) {
    return {ErrorKind::config_invalid, fmt::format("cannot be {}: {}", what, strerror(errno))};
}

} // namespace

std::string distrust_of(const struct stat& info) {
    if (info.st_uid != 0 && info.st_uid != ::geteuid())
        return fmt::format("belongs to user {}", info.st_uid);
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "is writable by others than its owner";
    return {};
}

std::string distrust_of_names(const struct stat& info) {
    if (!S_ISREG(info.st_mode) || info.st_nlink < 2 || info.st_uid != ::geteuid()) return {};
    return fmt::format("has {} names (hard links), and confined commands may be able to write it "
                       "under another one",
                       info.st_nlink);
}

Result<FileText> read_regular_file(int directory, const std::string& name, std::size_t most) {
    const UniqueFd file(
        ::openat(directory, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file) return failed("opened");
    FileText read;
    if (::fstat(file.get(), &read.info) != 0) return failed("read");
    if (!S_ISREG(read.info.st_mode))
        return Error{ErrorKind::config_invalid, "is not a regular file"};
    constexpr std::size_t step = 64 << 10;
    for (std::size_t size = 0;;) {
        read.text.resize(std::min(size + step, most + 1));
        const ssize_t count = ::read(file.get(), read.text.data() + size, read.text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failed("read");
        size += static_cast<std::size_t>(count);
        if (size > most)
            return Error{ErrorKind::limit, fmt::format("is larger than {} bytes", most)};
        if (count > 0) continue;
        read.text.resize(size);
        return read;
    }
}

} // namespace ew::config
