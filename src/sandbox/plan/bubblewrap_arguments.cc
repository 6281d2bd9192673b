#include "sandbox/plan/bubblewrap_arguments.h"

#include "sandbox/plan/machine_entries.h"
#include "sandbox/plan/resolved_path.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace ew::sandbox {

namespace {

using Arguments = std::vector<std::string>;

void put(Arguments& to, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
        to.emplace_back(word);
}

void add_namespaces(Arguments& to, const Plan& plan, const Machine& machine) {
    put(to, {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
             "--unshare-cgroup-try"});
    if (plan.has_own_network && machine.has_network_namespace) put(to, {"--unshare-net"});
    put(to, {"--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"});
    // execward-init needs it to make a user namespace that has root (user_namespaces(7)), and drops
    // it (init/mount_lock.h).
    if (machine.is_root && machine.has_proc) put(to, {"--cap-add", "CAP_SETFCAP"});
}

// Without a /proc of its own the sandbox shows the machine's, read-only, since some programs need
// one. Then the guarantee that other processes are hidden is not given (given_by in machine.h).
void add_proc(Arguments& to, const Machine& machine) {
    if (!machine.has_proc) return put(to, {"--ro-bind", "/proc", "/proc"});
    put(to, {"--proc", "/proc"});
    // A /proc in a new namespace may lack entries of the machine's /proc, and the other way round.
    // The "try" options accept only a missing source, so an entry that the inner /proc lacks must
    // not be named. The first pid namespace differs only in the processes.
    if (!machine.is_root) return put(to, {"--ro-bind-try", "/proc/sys", "/proc/sys"});
    for (const std::string& path : entries_of_the_machine("/proc", "/proc"))
        put(to, {"--ro-bind-try", path, path});
}

class MountArguments {
public:
    MountArguments(Arguments& to, const Plan& plan, const Machine& machine) : to_(to) {
        const bool has_own = std::ranges::any_of(plan.mounts, [](const Mount& mount) {
            return mount.kind == Mount::Kind::private_tmp ||
                   mount.kind == Mount::Kind::private_directory;
        });
        if (has_own && machine.takes_size) size_ = std::to_string(most_in_own_directory());
    }

    void add(const Mount& mount, bool has_children) {
        switch (mount.kind) {
        case Mount::Kind::writable: return put(to_, {"--bind", mount.path, mount.path});
        case Mount::Kind::device: return put(to_, {"--dev-bind", mount.path, mount.path});
        case Mount::Kind::read_only: return put(to_, {"--ro-bind", mount.path, mount.path});
        case Mount::Kind::hidden: // entries below it that are visible again are reached through it
            return put(to_, {"--perms", has_children ? "0111" : "0000", "--tmpfs", mount.path});
        case Mount::Kind::hidden_file: // bubblewrap mounts without devices, so it cannot be opened
            return put(to_, {"--ro-bind", "/dev/null", mount.path});
        case Mount::Kind::private_tmp: return add_own("1777", mount.path);
        case Mount::Kind::private_directory: return add_own("0700", mount.path);
        case Mount::Kind::link: return put(to_, {"--symlink", mount.target, mount.path});
        }
    }

private:
    void add_own(std::string_view mode, std::string_view path) {
        if (!size_.empty()) put(to_, {"--size", size_});
        put(to_, {"--perms", mode, "--tmpfs", path});
    }

    Arguments& to_;
    std::string size_; // empty: bubblewrap's default
};

// Makes the sandbox's own directories read-only once they are complete.
void close_own(Arguments& to, const Plan& plan) {
    put(to, {"--remount-ro", "/dev"});
    for (const Mount& mount : plan.mounts)
        if (mount.kind == Mount::Kind::private_tmp || mount.kind == Mount::Kind::private_directory)
            put(to, {"--remount-ro", mount.path});
}

} // namespace

std::vector<std::string> bubblewrap_arguments(const Plan& plan, const Machine& machine) {
    Arguments to;
    add_namespaces(to, plan, machine);
    auto next = plan.mounts.begin();
    if (plan.reads_root) {
        const bool is_writable = next != plan.mounts.end() && next->path == "/";
        put(to, {is_writable ? "--bind" : "--ro-bind", "/", "/"});
        if (is_writable) {
            ++next;
            // These are settings of the kernel too; some of them run a program outside
            // (cgroups(7)).
            put(to, {"--ro-bind-try", "/sys", "/sys"});
        }
    }
    put(to, {"--dev", "/dev"});
    add_proc(to, machine);

    MountArguments mounts(to, plan, machine);
    // A hidden directory becomes read-only once all mount points below it have been made.
    std::vector<std::string_view> open;
    const auto close_until = [&](std::string_view path) {
        while (!open.empty() && !is_below(path, open.back())) {
            put(to, {"--remount-ro", open.back()});
            open.pop_back();
        }
    };
    for (; next != plan.mounts.end(); ++next) {
        close_until(next->path);
        const auto after = std::next(next);
        const bool has_children = after != plan.mounts.end() && is_below(after->path, next->path);
        mounts.add(*next, has_children);
        if (next->kind == Mount::Kind::hidden) open.push_back(next->path);
    }
    close_until("/"); // no path is below itself, so this closes all
    put(to, {"--ro-bind", machine.init, init_path});
    if (plan.keeps_writes) close_own(to, plan);
    if (!plan.reads_root) put(to, {"--remount-ro", "/"});
    return to;
}

} // namespace ew::sandbox
