#include "sandbox/places.h"
#include "sandbox/plan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>

namespace ew::sandbox {

namespace {

using Arguments = std::vector<std::string>;

void add(Arguments& to, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
        to.emplace_back(word);
}

void add_namespaces(Arguments& to, const Plan& plan, const Machine& machine) {
    add(to, {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
             "--unshare-cgroup-try"});
    if (plan.has_own_network && machine.has_network_namespace) add(to, {"--unshare-net"});
    add(to, {"--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"});
}

// For a process with user id 0 the files below these belong to itself, with or without
// capabilities; the settings of the kernel are not in any namespace. A process of the sandbox is
// known by its number or by these names, and they stay as they are.
bool is_about_processes(std::string_view name) {
    constexpr std::array<std::string_view, 4> names = {"self", "thread-self", "net", "mounts"};
    return std::ranges::find(names, name) != names.end() ||
           std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

// Entries of /proc that are about the whole machine and could be written.
std::vector<std::string> settings_of_the_kernel() {
    std::vector<std::string> result;
    const std::unique_ptr<DIR, CloseDirectory> proc(::opendir("/proc"));
    if (!proc) return {"/proc/sys"};
    while (const dirent* entry = ::readdir(proc.get())) {
        const std::string_view name = entry->d_name;
        if (name.starts_with('.') || is_about_processes(name) || entry->d_type == DT_LNK) continue;
        struct stat status = {};
        if (::fstatat(::dirfd(proc.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && (status.st_mode & 0222) != 0))
            result.push_back("/proc/" + std::string(name));
    }
    std::ranges::sort(result);
    return result;
}

// Without a /proc of its own the machine's is shown, read-only, since there are programs that
// cannot do without; that other processes are hidden is not promised then (given_by in machine.h).
void add_proc(Arguments& to, const Machine& machine) {
    if (!machine.has_proc) return add(to, {"--ro-bind", "/proc", "/proc"});
    add(to, {"--proc", "/proc"});
    // A namespace of its own may lack what the machine's /proc has, and the other way round. Of
    // "try" only a missing source is forgiven, so what the inner /proc lacks must not be named:
    // the first process namespace differs in nothing but the processes.
    if (!machine.is_root) return add(to, {"--ro-bind-try", "/proc/sys", "/proc/sys"});
    for (const std::string& path : settings_of_the_kernel())
        add(to, {"--ro-bind-try", path, path});
}

void add_mount(Arguments& to, const Mount& mount, bool has_children) {
    switch (mount.kind) {
    case Mount::Kind::writable: return add(to, {"--bind", mount.path, mount.path});
    case Mount::Kind::device: return add(to, {"--dev-bind", mount.path, mount.path});
    case Mount::Kind::read_only: return add(to, {"--ro-bind", mount.path, mount.path});
    case Mount::Kind::hidden: // what is opened again below it has to be reached through it
        return add(to, {"--perms", has_children ? "0111" : "0000", "--tmpfs", mount.path});
    case Mount::Kind::hidden_file: // bubblewrap mounts without devices, so it cannot be opened
        return add(to, {"--ro-bind", "/dev/null", mount.path});
    case Mount::Kind::private_tmp: return add(to, {"--perms", "1777", "--tmpfs", mount.path});
    case Mount::Kind::private_directory: return add(to, {"--perms", "0700", "--tmpfs", mount.path});
    case Mount::Kind::link: return add(to, {"--symlink", mount.target, mount.path});
    }
}

} // namespace

std::vector<std::string> bubblewrap_arguments(const Plan& plan, const Machine& machine) {
    Arguments to;
    add_namespaces(to, plan, machine);
    auto next = plan.mounts.begin();
    if (plan.reads_root) {
        const bool is_writable = next != plan.mounts.end() && next->path == "/";
        add(to, {is_writable ? "--bind" : "--ro-bind", "/", "/"});
        if (is_writable) ++next;
    }
    add(to, {"--dev", "/dev"});
    add_proc(to, machine);

    // A hidden directory is made read-only once the places of everything below it have been made.
    std::vector<std::string_view> open;
    const auto close_until = [&](std::string_view path) {
        while (!open.empty() && !is_below(path, open.back())) {
            add(to, {"--remount-ro", open.back()});
            open.pop_back();
        }
    };
    for (; next != plan.mounts.end(); ++next) {
        close_until(next->path);
        const auto after = std::next(next);
        const bool has_children = after != plan.mounts.end() && is_below(after->path, next->path);
        add_mount(to, *next, has_children);
        if (next->kind == Mount::Kind::hidden) open.push_back(next->path);
    }
    close_until("/"); // nothing is below itself, so all are closed
    add(to, {"--ro-bind", machine.init, init_path});
    if (!plan.reads_root) add(to, {"--remount-ro", "/"});
    return to;
}

} // namespace ew::sandbox
