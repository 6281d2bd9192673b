#include "sandbox/plan/expected_mounts.h"

#include "os/proc.h"
#include "sandbox/init/mount_table.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

using order_format::ExpectedKind;

Error moved(const std::string& path, int error) {
    return {ErrorKind::sandbox_unavailable,
            fmt::format("the command was not run: '{}' is not what it was a moment ago: {}", path,
                        ::strerror(error)),
            "something in the workspace was moved while the sandbox was made: try again"};
}

// Returns errno.
int add_place(InitOrder& order, ExpectedKind kind, const std::string& path) {
    const UniqueFd place = open_without_links(path, O_PATH);
    struct stat status = {};
    if (!place || ::fstat(place.get(), &status) != 0) return errno;
    if (S_ISLNK(status.st_mode)) return ELOOP;
    order.expected.push_back({kind, path, status.st_dev, status.st_ino});
    return 0;
}

// Returns errno.
int add_mount(InitOrder& order, const Mount& mount) {
    switch (mount.kind) {
    case Mount::Kind::writable:
    case Mount::Kind::device: return add_place(order, ExpectedKind::writable, mount.path);
    case Mount::Kind::read_only: return add_place(order, ExpectedKind::read_only, mount.path);
    case Mount::Kind::hidden:
    case Mount::Kind::hidden_file:
        order.expected.push_back({ExpectedKind::hidden, mount.path});
        return 0;
    case Mount::Kind::private_tmp:
    case Mount::Kind::private_directory:
        order.expected.push_back({ExpectedKind::own, mount.path});
        return 0;
    case Mount::Kind::link: return 0;
    }
    return 0;
}

bool is_in_writable(const InitOrder& order, std::string_view path) {
    return std::ranges::any_of(order.expected, [path](const InitOrder::Expected& expected) {
        return expected.kind == ExpectedKind::writable && init::is_within(path, expected.path);
    });
}

// bubblewrap binds a directory with all that is mounted in it.
void add_submounts(InitOrder& order) {
    const std::string table = os::read_proc_file("/proc/self/mountinfo");
    std::string_view rest = table;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
        init::MountLine line;
        const bool is_sound = init::parse_mount(rest.substr(0, end), line);
        rest.remove_prefix(end + 1);
        if (!is_sound) continue;
        std::string path(line.path);
        path.resize(init::unescape(line.path, path.data()));
        if (is_in_writable(order, path)) order.submounts.emplace_back(line.source);
    }
    std::ranges::sort(order.submounts);
    order.submounts.erase(std::unique(order.submounts.begin(), order.submounts.end()),
                          order.submounts.end());
}

bool is_all_writable(const InitOrder& order) {
    return std::ranges::any_of(order.expected, [](const InitOrder::Expected& expected) {
        return expected.kind == ExpectedKind::writable && expected.path == "/";
    });
}

// Without mounts, the paths that Landlock opens must be the same files. Landlock skips a missing
// path, so it is removed here: a link could appear there later.
Result<void> add_writable(InitOrder& order) {
    std::vector<std::string> present;
    for (std::string& path : order.writable) {
        const int error = add_place(order, ExpectedKind::place, path);
        if (error != 0 && error != ENOENT) return moved(path, error);
        if (error == 0) present.push_back(std::move(path));
    }
    order.writable = std::move(present);
    return {};
}

} // namespace

Result<void> expect_mounts(const Plan& plan, const Machine& machine, InitOrder& order) {
    if (!machine.has_mounts) return add_writable(order);
    for (const Mount& mount : plan.mounts)
        if (const int error = add_mount(order, mount); error != 0) return moved(mount.path, error);
    order.checks_mounts = true;
    order.may_lack_proc = !machine.has_proc;
    if (!is_all_writable(order)) add_submounts(order);
    return {};
}

} // namespace ew::sandbox
