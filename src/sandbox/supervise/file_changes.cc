#include "sandbox/supervise/file_changes.h"

#include "core/text/paths.h"
#include "os/io.h"
#include "sandbox/launch/system_calls.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <optional>

namespace ew::sandbox {

namespace {

constexpr std::size_t page = 4096; // the smallest size; a page is readable as a whole or not at all
constexpr int none = -1;

// The arguments of a call that name a path: the descriptor of the directory, or none for the
// working directory, and the path itself.
struct Named {
    int directory = none;
    int path = none;
};

struct Form {
    SystemCall call;
    std::string_view operation;
    std::array<Named, 2> names;
};

// Of the two paths of link(2) only the new one changes something.
constexpr auto forms = std::to_array<Form>({
    {calls::open, "open", {{{none, 0}, {}}}},
    {calls::openat, "open", {{{0, 1}, {}}}},
    {calls::creat, "open", {{{none, 0}, {}}}},
    {calls::mknod, "open", {{{none, 0}, {}}}},
    {calls::mknodat, "open", {{{0, 1}, {}}}},
    {calls::truncate, "truncate", {{{none, 0}, {}}}},
    {calls::unlink, "unlink", {{{none, 0}, {}}}},
    {calls::unlinkat, "unlink", {{{0, 1}, {}}}},
    {calls::rmdir, "unlink", {{{none, 0}, {}}}},
    {calls::rename, "rename", {{{none, 0}, {none, 1}}}},
    {calls::renameat, "rename", {{{0, 1}, {2, 3}}}},
    {calls::renameat2, "rename", {{{0, 1}, {2, 3}}}},
    {calls::mkdir, "mkdir", {{{none, 0}, {}}}},
    {calls::mkdirat, "mkdir", {{{0, 1}, {}}}},
    {calls::link, "link", {{{none, 1}, {}}}},
    {calls::linkat, "link", {{{2, 3}, {}}}},
    {calls::symlink, "link", {{{none, 1}, {}}}},
    {calls::symlinkat, "link", {{{1, 2}, {}}}},
    {calls::chmod, "chmod", {{{none, 0}, {}}}},
    {calls::fchmodat, "chmod", {{{0, 1}, {}}}},
    {calls::fchmodat2, "chmod", {{{0, 1}, {}}}},
});

const Form* form_of(int call) {
    const auto form = std::find_if(forms.begin(), forms.end(), [call](const Form& candidate) {
        return candidate.call.number(own_architecture) == call;
    });
    return form == forms.end() ? nullptr : &*form;
}

// Returns nullopt if the path cannot be read, or is longer than the kernel's limit (PATH_MAX with
// the NUL).
std::optional<std::string> read_path(const Caller& caller, std::uint64_t from) {
    std::string path;
    while (path.size() < PATH_MAX) {
        const std::size_t rest_of_page = page - from % page;
        const std::optional<std::string> bytes =
            read_memory(caller, from, std::min(rest_of_page, PATH_MAX - path.size()));
        if (!bytes) return std::nullopt;
        path += bytes->substr(0, bytes->find('\0'));
        if (bytes->find('\0') != std::string::npos) return path;
        from += bytes->size();
    }
    return std::nullopt;
}

std::string link_of(const Caller& caller, const std::string& name) {
    return os::link_target(fmt::format("/proc/{}/{}", caller.thread, name)).value_or("");
}

// Returns the path as the caller sees it. Empty if it is unknown or not a directory of a file
// system.
std::string directory_of(const Caller& caller, const std::string& name) {
    std::string path = link_of(caller, name);
    const std::string root = link_of(caller, "root");
    if (root == "/") return path.starts_with('/') ? path : std::string();
    if (root.empty() || !is_at_or_below(path, root)) return {};
    path.erase(0, root.size());
    return path.empty() ? "/" : path;
}

std::optional<std::string> path_of(const Caller& caller, const seccomp_data& data, Named named) {
    const auto argument = [&data](int index) { return data.args[static_cast<std::size_t>(index)]; };
    const std::optional<std::string> path = read_path(caller, argument(named.path));
    if (!path || path->empty()) return std::nullopt; // "" fails, or is the descriptor
    if (path->starts_with('/')) return core::without_dots(*path);
    const int fd = named.directory == none
                       ? AT_FDCWD
                       : static_cast<int>(static_cast<std::uint32_t>(argument(named.directory)));
    const std::string directory =
        directory_of(caller, fd == AT_FDCWD ? "cwd" : fmt::format("fd/{}", fd));
    if (directory.empty()) return std::nullopt;
    return core::without_dots(directory + "/" + *path);
}

// Entries of processes, such as /proc/self/oom_score_adj, and devices.
bool is_of_processes_or_devices(std::string_view path) {
    if (is_at_or_below(path, "/dev")) return true;
    constexpr std::string_view proc = "/proc/";
    if (!path.starts_with(proc)) return false;
    path.remove_prefix(proc.size());
    const std::string_view entry = path.substr(0, path.find('/'));
    return entry == "self" || entry == "thread-self" ||
           std::all_of(entry.begin(), entry.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Returns the length of the longest place that contains the path, or 0 if none does.
std::size_t longest_around(const std::vector<std::string>& places, std::string_view path) {
    std::size_t longest = 0;
    for (const std::string& place : places)
        if (is_at_or_below(path, place)) longest = std::max(longest, place.size());
    return longest;
}

} // namespace

bool is_file_change(int call) {
    return form_of(call) != nullptr;
}

FileChange read_file_change(const Caller& caller, const seccomp_data& data) {
    FileChange change;
    const Form* const form = form_of(data.nr);
    if (form == nullptr) return change;
    change.operation = form->operation;
    for (const Named& named : form->names) {
        if (named.path == none) continue;
        std::optional<std::string> path = path_of(caller, data, named);
        if (path) change.paths.push_back(std::move(*path));
    }
    return change;
}

bool exists_for(pid_t thread, const std::string& path) {
    const std::string root = fmt::format("/proc/{}/root", thread);
    const UniqueFd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    open_how how = {};
    how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const UniqueFd found(
        static_cast<int>(::syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof how)));
    return bool(found);
}

FileVerdict judge_file_change(const FilePlaces& places, std::string_view operation,
                              std::string_view path) {
    if (is_of_processes_or_devices(path)) return FileVerdict::allowed;
    const std::size_t open =
        std::max(longest_around(places.writable, path), longest_around(places.own, path));
    const std::size_t closed = longest_around(places.read_only, path);
    if (open > 0 && open >= closed) return FileVerdict::allowed;
    const auto leads_there = [path](const std::string& root) { return is_below(root, path); };
    const bool is_above_a_root =
        path == "/" || std::any_of(places.writable.begin(), places.writable.end(), leads_there);
    if (operation == "mkdir" && is_above_a_root) return FileVerdict::allowed;
    return closed > 0 && open > 0 ? FileVerdict::closed : FileVerdict::outside;
}

} // namespace ew::sandbox
