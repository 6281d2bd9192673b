#include "config/rule_amendment.h"

#include "base/unique_fd.h"
#include "config/owned_file.h"
#include "config/rule_files.h"
#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace ew::config {

namespace {

constexpr const char* lock_file = ".approved.lock";
constexpr const char* new_file = ".approved.new";
constexpr std::chrono::milliseconds longest_wait{2000};
constexpr int retry_ms = 5;

Error refusal(const std::string& path, std::string_view why, std::string hint = {}) {
    return {ErrorKind::config_invalid, fmt::format("{}: {}", path, why), std::move(hint)};
}

Error failed(const std::string& path, std::string_view what) {
    return refusal(path, fmt::format("cannot be {}: {}", what, strerror(errno)));
}

// A rules directory that this process may change, locked against other processes that change it.
class Rules {
public:
    // Returns nullopt if the directory does not exist.
    static Result<std::optional<Rules>> open(const std::string& directory);

    Result<std::string> read() const; // empty if there is no file yet
    Result<void> replace(std::string_view text) const;

    const std::string& path() const { return path_; }

private:
    Rules(UniqueFd directory, std::string path)
        : directory_(std::move(directory)), path_(std::move(path)) {}

    Result<void> lock();
    Result<void> write_new(std::string_view text) const;

    UniqueFd directory_;
    UniqueFd lock_;
    std::string path_; // path of the file
};

// Creates the missing directories of the path, for this user only.
Result<void> make_directories(const std::string& path) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return failed(part, "made");
        if (end == std::string::npos) return {};
    }
}

Result<std::optional<Rules>> Rules::open(const std::string& directory) {
    UniqueFd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened && errno == ENOENT) return std::optional<Rules>();
    struct stat info = {};
    if (!opened && ::lstat(directory.c_str(), &info) == 0 && S_ISLNK(info.st_mode))
        return refusal(directory, "is a symbolic link, which execward does not write through");
    if (!opened || ::fstat(opened.get(), &info) != 0) return failed(directory, "opened");
    if (const std::string distrust = distrust_of(info); !distrust.empty())
        return refusal(directory, distrust, "it must be of this user only: chmod 700");
    Rules rules(std::move(opened), directory + "/" + approved_file);
    TRY(rules.lock());
    return std::optional(std::move(rules));
}

Result<void> Rules::lock() {
    lock_.reset(
        ::openat(directory_.get(), lock_file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock_) return failed(path_, "locked");
    const auto end = std::chrono::steady_clock::now() + longest_wait;
    while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return failed(path_, "locked");
        if (std::chrono::steady_clock::now() > end)
            return refusal(path_, "another process has it locked", "try again");
        (void)::poll(nullptr, 0, retry_ms);
    }
    return {};
}

Result<std::string> Rules::read() const {
    struct stat info = {};
    if (::fstatat(directory_.get(), approved_file, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return std::string();
        return failed(path_, "read");
    }
    if (S_ISLNK(info.st_mode))
        return refusal(path_, "is a symbolic link, which execward does not replace");
    Result<FileText> file = read_regular_file(directory_.get(), approved_file, longest_rule_file);
    if (!file) return refusal(path_, file.error().message);
    if (const std::string distrust = distrust_of(file->info); !distrust.empty())
        return refusal(path_, distrust, "it must be of this user only: chmod 600");
    if (const std::string distrust = distrust_of_names(file->info); !distrust.empty())
        return refusal(path_, distrust, "look at its rules, and put a copy of it in its place");
    return std::move(file->text);
}

Result<void> Rules::write_new(std::string_view text) const {
    (void)::unlinkat(directory_.get(), new_file, 0); // a leftover of a process that was killed
    const UniqueFd file(::openat(directory_.get(), new_file,
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return failed(path_, "written");
    if (!os::write_all(file.get(), text)) return failed(path_, "written");
    if (::fsync(file.get()) != 0) return failed(path_, "written");
    return {};
}

Result<void> Rules::replace(std::string_view text) const {
    Result<void> written = write_new(text);
    if (written && ::renameat(directory_.get(), new_file, directory_.get(), approved_file) != 0)
        written = failed(path_, "replaced");
    if (!written) {
        (void)::unlinkat(directory_.get(), new_file, 0); // the error above is the one to report
        return written;
    }
    if (::fsync(directory_.get()) != 0) return failed(path_, "written");
    return {};
}

} // namespace

Result<void> append_rule(const std::string& user_dir, const Approval& approval) {
    TRY(make_directories(user_dir));
    const std::optional<Rules> rules = TRY(Rules::open(user_dir));
    if (!rules) return refusal(user_dir, "has vanished");
    const std::string text = TRY(rules->read());
    const std::optional<std::string> longer = TRY(text_with_rule(text, rules->path(), approval));
    return longer ? rules->replace(*longer) : Result<void>();
}

Result<bool> remove_rule(const std::string& user_dir, const std::vector<std::string>& prefix) {
    const std::optional<Rules> rules = TRY(Rules::open(user_dir));
    if (!rules) return false;
    const std::string text = TRY(rules->read());
    const std::optional<std::string> shorter = TRY(text_without_rule(text, rules->path(), prefix));
    if (!shorter) return false;
    TRY(rules->replace(*shorter));
    return true;
}

} // namespace ew::config
