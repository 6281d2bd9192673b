#include "sandbox/supervise/known_mounts.h"

#include "os/proc.h"
#include "sandbox/supervise/caller.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ew::sandbox {

namespace {

std::uint64_t number_in(std::string_view text) {
    std::uint64_t value = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), value); // else 0, which is no id
    return value;
}

// "36 35 98:0 /root /mount rw,nosuid …": the options are the sixth word.
bool is_writable(std::string_view line) {
    for (int word = 1; word < 6; ++word) {
        const std::size_t end = line.find(' ');
        if (end == std::string_view::npos) return false;
        line.remove_prefix(end + 1);
    }
    return line.starts_with("rw");
}

} // namespace

KnownMounts::KnownMounts(std::vector<std::uint64_t> ids) : ids_(std::move(ids)) {
    std::ranges::sort(ids_);
}

KnownMounts KnownMounts::of(pid_t process) {
    std::vector<std::uint64_t> ids;
    const std::string table = os::read_proc_file(fmt::format("/proc/{}/mountinfo", process));
    for (std::string_view rest = table; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (is_writable(rest.substr(0, end))) ids.push_back(number_in(rest));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return KnownMounts(std::move(ids));
}

bool KnownMounts::has(int file) const {
    const std::string about = os::read_proc_file(fmt::format("/proc/self/fdinfo/{}", file));
    const std::string_view id = status_field(about, "mnt_id");
    return !id.empty() && std::ranges::binary_search(ids_, number_in(id));
}

} // namespace ew::sandbox
