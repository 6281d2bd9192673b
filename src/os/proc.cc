#include "os/proc.h"

#include "base/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace ew::os {

namespace {

struct DirectoryCloser {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

using Directory = std::unique_ptr<DIR, DirectoryCloser>;

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

std::vector<pid_t> children_of(pid_t pid) {
    // Children belong to the thread that made them.
    const std::string tasks = fmt::format("/proc/{}/task", pid);
    const Directory directory(::opendir(tasks.c_str()));
    std::vector<pid_t> children;
    if (!directory) return children;
    while (const dirent* entry = ::readdir(directory.get())) {
        if (entry->d_name[0] == '.') continue;
        const std::string list = fmt::format("{}/{}/children", tasks, entry->d_name);
        const std::vector<pid_t> of_task = numbers_in(read_proc_file(list));
        children.insert(children.end(), of_task.begin(), of_task.end());
    }
    return children;
}

std::vector<pid_t> descendants_of(pid_t pid) {
    std::vector<pid_t> found = children_of(pid);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::vector<pid_t> below = children_of(found[i]);
        for (const pid_t child : below)
            if (std::find(found.begin(), found.end(), child) == found.end()) found.push_back(child);
    }
    std::erase_if(found, [](pid_t child) { return !is_alive(child); });
    return found;
}

bool is_alive(pid_t pid) {
    const std::string stat = read_proc_file(fmt::format("/proc/{}/stat", pid));
    const std::size_t name_end = stat.rfind(')'); // the name may hold anything
    if (name_end == std::string::npos || name_end + 2 >= stat.size()) return false;
    const char state = stat[name_end + 2];
    return state != 'Z' && state != 'X';
}

} // namespace ew::os
