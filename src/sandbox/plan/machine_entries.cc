#include "sandbox/plan/machine_entries.h"

#include "base/unique_fd.h"
#include "os/directory.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace ew::sandbox {

namespace {

// Is it an entry of /proc about processes? For user id 0 the files below these entries belong to
// the process itself, with or without capabilities; the settings of the kernel are in no namespace.
// A process of the sandbox is reached by its number or by these names, which stay as they are.
bool is_about_processes(std::string_view name) {
    constexpr std::array<std::string_view, 4> names = {"self", "thread-self", "net", "mounts"};
    return std::ranges::find(names, name) != names.end() ||
           std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// Root may change the mode of a file that not everybody may read.
bool is_for_all_to_read(int proc, const char* name) {
    struct stat status = {};
    if (::fstatat(proc, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    return S_ISLNK(status.st_mode) || (S_ISREG(status.st_mode) && (status.st_mode & 0222) == 0 &&
                                       (status.st_mode & 0004) != 0);
}

} // namespace

std::vector<std::string> entries_of_the_machine(const std::string& path,
                                                const std::string& listed) {
    std::vector<std::string> result;
    const os::Directory names = os::open_directory(listed);
    const UniqueFd proc(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!names || !proc) return {"/proc/sys"};
    while (const dirent* entry = ::readdir(names.get())) {
        const std::string_view name = entry->d_name;
        if (name.starts_with('.') || is_about_processes(name)) continue;
        if (!is_for_all_to_read(proc.get(), entry->d_name))
            result.push_back("/proc/" + std::string(name));
    }
    std::ranges::sort(result);
    return result;
}

std::vector<std::string> devices_below(const std::string& directory, int depth) {
    constexpr std::size_t most_devices = 256;
    std::vector<std::string> found;
    const os::Directory open = os::open_directory(directory);
    while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        const std::string path = joined(directory, name);
        const ResolvedPath::Kind kind = locate_last(path).kind;
        const bool is_link = entry->d_type == DT_LNK;
        if (kind == ResolvedPath::Kind::device && !is_link) found.push_back(path);
        if (kind == ResolvedPath::Kind::directory && !is_link && depth > 1)
            for (std::string& device : devices_below(path, depth - 1))
                found.push_back(std::move(device));
        if (found.size() >= most_devices) break;
    }
    return found;
}

std::uint64_t most_in_own_directory() {
    constexpr std::uint64_t most = std::uint64_t{2} << 30;
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return most;
    return std::min(most, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) / 4);
}

} // namespace ew::sandbox
