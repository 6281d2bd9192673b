#include "sandbox/aftermath/set_aside.h"

#include "sandbox/aftermath/place.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace ew::sandbox {

namespace {

constexpr std::string_view prefix = ".execward-set-aside-";
constexpr std::size_t longest_kept = 64; // bytes of the old name
constexpr int most_tries = 16;           // new names

std::string new_name(std::string_view old) {
    std::uint32_t number = 0;
    (void)!::getrandom(&number, sizeof number, 0); // a name that is taken is tried again
    return fmt::format("{}{:08x}-{}", prefix, number, old.substr(0, longest_kept));
}

bool move_to(const Place& from, const std::string& old, const Place& to, const std::string& name) {
    const char* const source = old.c_str();
    if (::renameat2(from.fd(), source, to.fd(), name.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    // Some file systems know no flags (rename(2)).
    return to.kind(name) == EntryKind::missing &&
           ::renameat(from.fd(), source, to.fd(), name.c_str()) == 0;
}

std::optional<std::string> move_into(const Place& to, const Place& from, const std::string& old) {
    for (int left = most_tries; left > 0; --left) {
        const std::string name = new_name(old);
        if (move_to(from, old, to, name)) return joined(to.path(), name);
        if (errno != EEXIST) return std::nullopt;
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> set_aside(const std::string& holder, const std::string& name) {
    const std::string path = joined(holder, name);
    const auto from = Place::at(parent_of(path), Place::Rights::to_change);
    const auto to = Place::at(holder, Place::Rights::to_change);
    if (!from) return std::nullopt;
    const std::string old = path.substr(path.rfind('/') + 1);
    std::optional<std::string> moved = to ? move_into(*to, *from, old) : std::nullopt;
    return moved ? moved : move_into(*from, *from, old);
}

bool is_set_aside(std::string_view name) {
    return name.starts_with(prefix);
}

} // namespace ew::sandbox
