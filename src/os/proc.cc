#include "os/proc.h"

#include "base/unique_fd.h"
#include "os/directory.h"
#include "os/io.h"
#include "os/pidfd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <unordered_set>

namespace ew::os {

namespace {

std::vector<pid_t> numbers_in(const std::string& text) {
    std::vector<pid_t> numbers;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        pid_t number = 0;
        const auto parsed = std::from_chars(at, end, number);
        if (parsed.ec == std::errc()) numbers.push_back(number);
        at = std::max(parsed.ptr, at) + 1;
    }
    return numbers;
}

// The fields of /proc/PID/stat (proc(5)).
struct Status {
    bool is_zombie = false;
    pid_t parent = 0;
    std::uint64_t threads = 1;
    std::uint64_t start_time = 0;
};

// Returns the field with this number in the manual page. Returns 0 if it is not a number.
std::uint64_t field(std::string_view after_name, std::size_t number) {
    constexpr std::size_t first = 3; // the number of the first field behind the name
    for (std::size_t i = first; i < number; ++i)
        after_name.remove_prefix(std::min(after_name.find(' ') + 1, after_name.size()));
    std::uint64_t value = 0;
    (void)std::from_chars(after_name.data(), after_name.data() + after_name.size(), value);
    return value;
}

// Returns the part that begins with the third field, or an empty text.
std::string_view fields_after_name(std::string_view stat) {
    const std::size_t name_end = stat.rfind(')'); // the name may contain any character
    if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return {};
    return stat.substr(name_end + 2);
}

std::optional<Status> status_of(pid_t pid) {
    const std::string stat = read_proc_file(fmt::format("/proc/{}/stat", pid));
    const std::string_view after_name = fields_after_name(stat);
    if (after_name.empty()) return std::nullopt;
    const char state = after_name.front();
    return Status{state == 'Z' || state == 'X', static_cast<pid_t>(field(after_name, 4)),
                  field(after_name, 20), field(after_name, 22)};
}

// The kernel lists children by the thread that created them.
std::vector<pid_t> children_of(pid_t pid, const Status& status) {
    const std::string tasks = fmt::format("/proc/{}/task", pid);
    if (status.threads == 1)
        return numbers_in(read_proc_file(fmt::format("{}/{}/children", tasks, pid)));
    std::vector<pid_t> children;
    const Directory directory = open_directory(tasks);
    if (!directory) return children;
    while (const dirent* entry = ::readdir(directory.get())) {
        if (entry->d_name[0] == '.') continue;
        const std::string list = fmt::format("{}/{}/children", tasks, entry->d_name);
        const std::vector<pid_t> of_task = numbers_in(read_proc_file(list));
        children.insert(children.end(), of_task.begin(), of_task.end());
    }
    return children;
}

} // namespace

std::string read_proc_file(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    if (!file) return text;
    std::array<char, 4096> block;
    ssize_t count = 0;
    while ((count = ::read(file.get(), block.data(), block.size())) > 0)
        text.append(block.data(), static_cast<std::size_t>(count));
    return text;
}

std::optional<ProcessIdentity> living_process(pid_t pid) {
    const std::optional<Status> status = status_of(pid);
    if (!status || status->is_zombie) return std::nullopt;
    return ProcessIdentity{pid, status->start_time};
}

char state_of_thread(pid_t process, pid_t thread) {
    const std::string stat = read_proc_file(fmt::format("/proc/{}/task/{}/stat", process, thread));
    const std::string_view after_name = fields_after_name(stat);
    return after_name.empty() ? '\0' : after_name.front();
}

pid_t parent_of(pid_t pid) {
    const std::optional<Status> status = status_of(pid);
    return status ? status->parent : 0;
}

bool has_children() {
    return ::waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

std::vector<pid_t> children_of(pid_t pid) {
    const std::optional<Status> status = status_of(pid);
    if (!status) return {};
    return children_of(pid, *status);
}

std::vector<std::string> open_files_of(pid_t pid) {
    std::vector<std::string> files;
    const std::string descriptors = fmt::format("/proc/{}/fd", pid);
    const Directory directory = open_directory(descriptors);
    if (!directory) return files;
    while (const dirent* entry = ::readdir(directory.get())) {
        std::optional<std::string> target = link_target(descriptors + '/' + entry->d_name);
        if (target) files.push_back(std::move(*target));
    }
    return files;
}

std::vector<ProcessIdentity> descendants_of(pid_t pid) {
    std::vector<ProcessIdentity> living;
    std::vector<pid_t> found = children_of(pid);
    std::unordered_set<pid_t> seen(found.begin(), found.end());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::optional<Status> status = status_of(found[i]);
        if (!status) continue;
        if (!status->is_zombie) living.push_back({found[i], status->start_time});
        for (const pid_t child : children_of(found[i], *status))
            if (seen.insert(child).second) found.push_back(child);
    }
    return living;
}

void signal_process(const ProcessIdentity& process, int signal) {
    const UniqueFd pidfd = open_pidfd(process.pid);
    // A pidfd always refers to one process. The second look-up confirms that it is the right one.
    if (!pidfd || living_process(process.pid) != process) return;
    signal_by_pidfd(pidfd.get(), signal);
}

} // namespace ew::os
