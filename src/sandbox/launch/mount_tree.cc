#include "sandbox/launch/mount_tree.h"

#include "base/clock.h"
#include "base/unique_fd.h"
#include "core/text/paths.h"
#include "os/io.h"
#include "sandbox/init/wire.h"
#include "sandbox/launch/mount_calls.h"
#include "sandbox/launch/namespaces.h"
#include "sandbox/launch/report.h"
#include "sandbox/plan/bubblewrap_arguments.h"
#include "sandbox/plan/machine_entries.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

using mount_calls::Reach;
using wire::Step;

constexpr std::uint64_t plain = mount_calls::no_setuid | mount_calls::no_devices;
constexpr std::uint64_t closed = plain | mount_calls::read_only;

// Something was moved since the plan was made: another plan may succeed.
[[noreturn]] void gone(std::string_view path) {
    fail_start(Step::mounts, errno, path);
}

void require(int error, std::string_view path) {
    if (error == 0) return;
    // A command has put something else in the place of a directory, which can be tried again.
    const bool is_about_the_place = error == ENOENT || error == ENOTDIR || error == EINVAL;
    fail_start(is_about_the_place ? Step::mounts : Step::build, error, path);
}

std::string without_slash(std::string_view path) {
    return std::string(path.substr(path.find_first_not_of('/') == std::string_view::npos
                                       ? path.size()
                                       : path.find_first_not_of('/')));
}

bool is_directory(int fd) {
    struct stat status = {};
    return ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

class MountTree {
public:
    MountTree()
        : host_(mount_calls::open_place(AT_FDCWD, without_slash(host_path))),
          session_(mount_calls::open_place(AT_FDCWD, without_slash(session_path))) {
        if (!host_ || !session_) fail_start(Step::build, errno, host_path);
    }

    void begin(const Plan& plan) {
        if (!plan.reads_root) {
            root_mount_ = mount_calls::new_mount("tmpfs", {{"mode", "0755"}}, plain);
        } else {
            const bool is_writable = !plan.mounts.empty() && plan.mounts.front().path == "/";
            root_mount_ = mount_calls::copy_of(host_.get(), Reach::with_all_below);
            if (root_mount_)
                require(mount_calls::set(root_mount_.get(), is_writable ? plain : closed,
                                         Reach::with_all_below),
                        "/");
        }
        if (!root_mount_) fail_start(Step::build, errno, "/");
        const UniqueFd place = mount_calls::open_place(AT_FDCWD, without_slash(new_root_path));
        if (!place) fail_start(Step::build, errno, new_root_path);
        require(mount_calls::put(root_mount_.get(), place.get()), "/");
    }

    // Shows the machine's file or directory at `path`, with all that is mounted below it.
    void show(const std::string& path, std::uint64_t attributes) {
        show_as(path, path, attributes);
    }

    void show_if_there(const std::string& path, std::uint64_t attributes) {
        const UniqueFd source = mount_calls::open_place(host_.get(), without_slash(path));
        if (!source && errno == ENOENT) return;
        if (!source) gone(path);
        show_at(source.get(), path, attributes);
    }

    // Makes a file or directory of the sandbox's own, such as an entry of /proc, read-only.
    void close(const std::string& path) {
        const UniqueFd place = mount_calls::open_place(root_mount_.get(), without_slash(path));
        if (!place && errno == ENOENT) return;
        if (!place) fail_start(Step::build, errno, path);
        const UniqueFd copy = mount_calls::copy_of(place.get(), Reach::with_all_below);
        if (!copy) fail_start(Step::build, errno, path);
        require(
            mount_calls::set(copy.get(), closed | mount_calls::no_programs, Reach::with_all_below),
            path);
        require(mount_calls::put(copy.get(), place.get()), path);
    }

    // Returns the new mount, for read_only().
    UniqueFd add_memory(const std::string& path, std::string mode, std::uint64_t attributes) {
        UniqueFd mount = mount_calls::new_mount(
            "tmpfs", {{"mode", std::move(mode)}, {"size", std::to_string(most_in_own_directory())}},
            attributes);
        if (!mount) fail_start(Step::build, errno, path);
        require(mount_calls::put(mount.get(), place_for(path, true).get()), path);
        return mount;
    }

    // A directory that the session's commands have in common.
    void add_from_session(const std::string& path, mode_t mode) {
        std::string name = without_slash(path);
        std::ranges::replace(name, '/', '+'); // two paths with one name would share a directory
        if (::mkdirat(session_.get(), name.c_str(), mode) != 0 && errno != EEXIST)
            fail_start(Step::build, errno, path);
        const UniqueFd source = mount_calls::open_place(session_.get(), name);
        const UniqueFd copy = source ? mount_calls::copy_of(source.get(), Reach::one) : UniqueFd();
        if (!copy) fail_start(Step::build, errno, path);
        require(mount_calls::set(copy.get(), plain, Reach::one), path);
        require(mount_calls::put(copy.get(), place_for(path, true).get()), path);
        shared_.push_back(path);
    }

    // Shows a file of the session's in place of the machine's. Every start writes it anew, under a
    // name of its own, so that no other start reads half of it.
    void show_own(const std::string& path, const std::string& content, std::size_t number) {
        const UniqueFd place = mount_calls::open_place(root_mount_.get(), without_slash(path));
        if (!place && (errno == ENOENT || errno == EACCES)) return; // the sandbox does not show it
        if (!place) gone(path);
        const std::string name = "own-file-" + std::to_string(number);
        const std::string fresh =
            name + "-" + std::to_string(clock_now().time_since_epoch().count());
        constexpr mode_t mode = 0444;
        const UniqueFd file(
            ::openat(session_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
        if (!file || !os::write_all(file.get(), content) ||
            ::renameat(session_.get(), fresh.c_str(), session_.get(), name.c_str()) != 0)
            fail_start(Step::build, errno, path);
        const UniqueFd source = mount_calls::open_place(session_.get(), name);
        const UniqueFd copy = source ? mount_calls::copy_of(source.get(), Reach::one) : UniqueFd();
        if (!copy) fail_start(Step::build, errno, path);
        require(mount_calls::set(copy.get(), closed | mount_calls::no_programs, Reach::one), path);
        require(mount_calls::put(copy.get(), place.get()), path);
    }

    void hide_file(const std::string& path) {
        const UniqueFd nothing = mount_calls::open_place(host_.get(), "dev/null");
        if (!nothing) fail_start(Step::build, errno, "/dev/null");
        const UniqueFd copy = mount_calls::copy_of(nothing.get(), Reach::with_all_below);
        if (!copy) fail_start(Step::build, errno, path);
        require(mount_calls::set(copy.get(), closed, Reach::with_all_below), path);
        require(mount_calls::put(copy.get(), place_for(path, false).get()), path);
    }

    void add_link(const std::string& path, const std::string& target) {
        const UniqueFd directory = place_for(core::parent_of(path), true);
        const std::string name = path.substr(path.rfind('/') + 1);
        if (::symlinkat(target.c_str(), directory.get(), name.c_str()) != 0 && errno != EEXIST)
            fail_start(Step::build, errno, path);
    }

    void add_terminals(const std::string& path) {
        const UniqueFd mount = mount_calls::new_mount(
            "devpts", {{"newinstance", ""}, {"ptmxmode", "0666"}, {"mode", "620"}},
            mount_calls::no_setuid | mount_calls::no_programs);
        if (!mount) fail_start(Step::build, errno, path);
        require(mount_calls::put(mount.get(), place_for(path, true).get()), path);
    }

    void add_processes() {
        const UniqueFd mount = mount_calls::new_mount("proc", {}, plain | mount_calls::no_programs);
        if (!mount) fail_start(Step::proc, errno, "/proc");
        require(mount_calls::put(mount.get(), place_for("/proc", true).get()), "/proc");
    }

    // The place of `source` may be another one than `path`.
    void show_as(const std::string& source, const std::string& path, std::uint64_t attributes) {
        const UniqueFd found = mount_calls::open_place(host_.get(), without_slash(source));
        if (!found) gone(source);
        show_at(found.get(), path, attributes);
    }

    static void make_read_only(int mount, std::string_view path) {
        require(mount_calls::set(mount, mount_calls::read_only, Reach::one), path);
    }

    int root() const { return root_mount_.get(); }

private:
    void show_at(int source, const std::string& path, std::uint64_t attributes) {
        const UniqueFd copy = mount_calls::copy_of(source, Reach::with_all_below);
        if (!copy) fail_start(Step::build, errno, path);
        require(mount_calls::set(copy.get(), attributes, Reach::with_all_below), path);
        require(mount_calls::put(copy.get(), place_for(path, is_directory(source)).get()), path);
    }

    // A directory that the session's commands have in common may be renamed by each of them, and so
    // take away what is mounted below it, unless it is a mount itself.
    void pin_above(const std::string& path) {
        const auto shared = std::ranges::find_if(
            shared_, [&](const std::string& root) { return is_below(path, root); });
        if (shared == shared_.end()) return;
        for (std::size_t end = path.find('/', shared->size() + 1); end != std::string::npos;
             end = path.find('/', end + 1)) {
            const std::string above = path.substr(0, end);
            if (!pinned_.insert(above).second) continue;
            const UniqueFd place = make_place(above, true);
            const UniqueFd copy = mount_calls::copy_of(place.get(), Reach::one);
            if (!copy) fail_start(Step::build, errno, above);
            require(mount_calls::put(copy.get(), place.get()), above);
        }
    }

    UniqueFd place_for(const std::string& path, bool is_directory) {
        pin_above(path);
        pinned_.insert(path);
        return make_place(path, is_directory);
    }

    // Returns the place of a mount. Where it is missing, as in a directory of the sandbox's own, it
    // is made, with the directories above it.
    UniqueFd make_place(const std::string& path, bool is_directory) {
        UniqueFd place = mount_calls::open_place(root_mount_.get(), without_slash(path));
        if (place) return place;
        if (errno != ENOENT) gone(path);
        const UniqueFd above = make_place(std::string(core::parent_of(path)), true);
        const std::string name = path.substr(path.rfind('/') + 1);
        constexpr mode_t directory_mode = 0755;
        constexpr mode_t file_mode = 0644;
        const int made = is_directory
                             ? ::mkdirat(above.get(), name.c_str(), directory_mode)
                             : ::mknodat(above.get(), name.c_str(), S_IFREG | file_mode, 0);
        if (made != 0 && errno != EEXIST) gone(path);
        place = mount_calls::open_place(above.get(), name);
        if (!place) gone(path);
        return place;
    }

    UniqueFd host_;
    UniqueFd session_;
    UniqueFd root_mount_;
    std::vector<std::string> shared_; // directories from the session
    std::set<std::string> pinned_;    // paths that are mounts
};

// As bubblewrap's --dev. Returns the mount.
UniqueFd add_devices(MountTree& tree, const std::string& terminal) {
    UniqueFd devices = tree.add_memory("/dev", "0755", mount_calls::no_setuid);
    for (const char* const node : {"null", "zero", "full", "random", "urandom", "tty"}) {
        const std::string path = std::string("/dev/") + node;
        tree.show(path, mount_calls::no_setuid);
    }
    constexpr std::array<std::pair<const char*, const char*>, 6> links = {
        {{"/dev/stdin", "/proc/self/fd/0"},
         {"/dev/stdout", "/proc/self/fd/1"},
         {"/dev/stderr", "/proc/self/fd/2"},
         {"/dev/fd", "/proc/self/fd"},
         {"/dev/core", "/proc/kcore"},
         {"/dev/ptmx", "pts/ptmx"}}};
    for (const auto& [path, target] : links)
        tree.add_link(path, target);
    constexpr mode_t shared_memory_mode = 0755;
    if (::mkdirat(devices.get(), "shm", shared_memory_mode) != 0)
        fail_start(Step::build, errno, "/dev/shm");
    tree.add_terminals("/dev/pts");
    if (!terminal.empty()) tree.show_as(terminal, "/dev/console", mount_calls::no_setuid);
    return devices;
}

void add_proc(MountTree& tree, const Machine& machine) {
    if (!machine.has_proc) return tree.show("/proc", closed);
    tree.add_processes();
    if (!machine.is_root) return tree.close("/proc/sys");
    // The first pid namespace differs only in the processes.
    for (const std::string& path : entries_of_the_machine(std::string(host_path) + "/proc",
                                                          std::string(new_root_path) + "/proc"))
        tree.close(path);
    tree.close("/proc/1"); // or root could have the kernel end execward-init first (oom_score_adj)
}

class PlannedMounts {
public:
    PlannedMounts(MountTree& tree, const Plan& plan) : tree_(tree), plan_(plan) {}

    void add_all() {
        auto next = plan_.mounts.begin();
        if (plan_.reads_root && next != plan_.mounts.end() && next->path == "/") ++next;
        for (; next != plan_.mounts.end(); ++next) {
            close_until(next->path);
            const auto after = std::next(next);
            const bool has_children =
                after != plan_.mounts.end() && is_below(after->path, next->path);
            add(*next, has_children);
        }
        close_until("/"); // no path is below itself, so this closes all
    }

    // Makes the sandbox's own directories read-only once they are complete.
    void close_own() {
        for (const auto& [mount, path] : own_)
            MountTree::make_read_only(mount.get(), path);
    }

private:
    void add(const Mount& mount, bool has_children) {
        switch (mount.kind) {
        case Mount::Kind::writable: return tree_.show(mount.path, plain);
        case Mount::Kind::device: return tree_.show(mount.path, mount_calls::no_setuid);
        case Mount::Kind::read_only: return tree_.show(mount.path, closed);
        case Mount::Kind::hidden: // entries below it that are visible again are reached through it
            hidden_.emplace_back(
                tree_.add_memory(mount.path, has_children ? "0111" : "0000", plain), mount.path);
            return;
        case Mount::Kind::hidden_file: return tree_.hide_file(mount.path);
        case Mount::Kind::private_tmp:
            if (!plan_.keeps_writes) return tree_.add_from_session(mount.path, 01777);
            own_.emplace_back(tree_.add_memory(mount.path, "1777", plain), mount.path);
            return;
        case Mount::Kind::private_directory:
            own_.emplace_back(tree_.add_memory(mount.path, "0700", plain), mount.path);
            return;
        case Mount::Kind::link: return tree_.add_link(mount.path, mount.target);
        }
    }

    // A hidden directory becomes read-only once all mount points below it have been made.
    void close_until(std::string_view path) {
        while (!hidden_.empty() && !is_below(path, hidden_.back().second)) {
            MountTree::make_read_only(hidden_.back().first.get(), hidden_.back().second);
            hidden_.pop_back();
        }
    }

    MountTree& tree_;
    const Plan& plan_;
    std::vector<std::pair<UniqueFd, std::string_view>> hidden_;
    std::vector<std::pair<UniqueFd, std::string_view>> own_;
};

// Makes `root` the root of all processes of this namespace; nothing shows the old one any more.
void change_root(int root) {
    if (::fchdir(root) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
        ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0)
        fail_start(Step::build, errno, "/");
}

} // namespace

void make_mounts(const Plan& plan, const Machine& machine, const std::string& terminal) {
    // What the machine mounts from now on must not appear in this sandbox.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        fail_start(Step::build, errno, "/");
    const mode_t mask = ::umask(0);
    MountTree tree;
    tree.begin(plan);
    const bool is_all_writable =
        plan.reads_root && !plan.mounts.empty() && plan.mounts.front().path == "/";
    // These are settings of the kernel too; some of them run a program outside (cgroups(7)).
    if (is_all_writable) tree.show_if_there("/sys", closed);
    const UniqueFd devices = add_devices(tree, terminal);
    add_proc(tree, machine);
    PlannedMounts mounts(tree, plan);
    mounts.add_all();
    for (std::size_t i = 0; i < plan.own_files.size(); ++i)
        tree.show_own(plan.own_files[i].path, plan.own_files[i].content, i);
    tree.show_as(machine.init, std::string(init_path), closed);
    if (plan.keeps_writes) {
        MountTree::make_read_only(devices.get(), "/dev");
        mounts.close_own();
    }
    if (!plan.reads_root) MountTree::make_read_only(tree.root(), "/");
    (void)::umask(mask);
    change_root(tree.root());
}

} // namespace ew::sandbox
