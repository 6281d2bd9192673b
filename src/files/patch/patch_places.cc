#include "files/patch/patch_places.h"

#include "core/text/paths.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace ew::files {

namespace {

constexpr int on_the_way = O_PATH | O_DIRECTORY;

// Removes "." and doubled slashes. ".." stays, because its meaning depends on symlinks.
std::string without_dots(std::string_view path) {
    std::string plain;
    while (!path.empty()) {
        path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
        const std::string_view name = path.substr(0, path.find('/'));
        path.remove_prefix(name.size());
        if (name.empty() || name == ".") continue;
        plain += '/';
        plain += name;
    }
    return plain.empty() ? "/" : plain;
}

bool is_same_directory(int one, int other) {
    struct stat left = {};
    struct stat right = {};
    return ::fstat(one, &left) == 0 && ::fstat(other, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

// Returns an empty string if the path is unknown.
std::string canonical(int directory) {
    std::string path = link_text(AT_FDCWD, "/proc/self/fd/" + std::to_string(directory));
    if (!path.starts_with('/')) return {};
    const UniqueFd again = open_canonical(path, on_the_way);
    return again && is_same_directory(again.get(), directory) ? path : std::string();
}

bool is_link(const EntryRef& place, struct stat& status) {
    return ::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           S_ISLNK(status.st_mode);
}

// Turns a failure of `path` into one that names the path as in the patch.
Failed named(const Failed& failure, const std::string& path, const std::string& shown) {
    std::string_view words = failure.message;
    if (words.starts_with(path + ": ")) words.remove_prefix(path.size() + 2);
    return failed(failure.trouble, shown, words);
}

Failed is_link_to_nothing(const std::string& shown) {
    return failed(Trouble::wrong_kind, shown, "leads through a symbolic link to a missing file");
}

Failure name_directory(const std::string& shown, int directory, std::string& path) {
    path = canonical(directory);
    if (!path.empty()) return {};
    return failed(Trouble::other, shown, "the path of its directory cannot be determined");
}

// Directories are missing on the path of the file to add.
Failure locate_missing(const std::string& path, const std::string& shown, Located& located) {
    std::vector<std::string> names = {path.substr(path.rfind('/') + 1)};
    std::string above = core::parent_of(path);
    UniqueFd directory;
    while (!(directory = open_at(AT_FDCWD, above, on_the_way, true))) {
        const std::string name = above.substr(above.rfind('/') + 1);
        if (errno != ENOENT || above == "/" || name == "..") return failed(shown, errno);
        names.insert(names.begin(), name);
        above = core::parent_of(above);
    }
    struct stat status = {};
    const EntryRef first = {std::move(directory), names.front()};
    if (is_link(first, status)) return is_link_to_nothing(shown);
    if (Failure failure = name_directory(shown, first.directory.get(), located.path))
        return failure;
    located.place.name = names.back();
    for (const std::string& name : names) {
        if (located.path.size() > 4096) return failed(shown, ENAMETOOLONG);
        located.path = core::joined(located.path, name);
        located.made.push_back(located.path);
    }
    located.made.pop_back(); // removes the file itself
    return {};
}

Failure refuse_link(const std::string& shown) {
    return failed(Trouble::wrong_kind, shown,
                  "is a symbolic link: a patch removes and moves files only");
}

std::string listed(const std::vector<std::string>& roots) {
    constexpr std::size_t most = 5;
    std::string text;
    for (std::size_t i = 0; i < roots.size() && i < most; ++i)
        text += (i == 0 ? "" : ", ") + roots[i];
    return roots.size() > most ? text + ", …" : text;
}

} // namespace

UniqueFd open_canonical(const std::string& directory, int flags) {
    return open_at(AT_FDCWD, directory, flags | O_DIRECTORY, false);
}

Failure locate(const std::string& path, const std::string& shown, Wanted wanted, Located& located) {
    const std::string plain = without_dots(path);
    const std::string name = plain.substr(plain.rfind('/') + 1);
    if (name.empty() || name == "..") return failed(shown, EISDIR);
    EntryRef first;
    if (Failure failure = find_entry(plain, true, first)) {
        if (wanted == Wanted::file_or_none && failure->trouble == Trouble::not_found)
            return locate_missing(plain, shown, located);
        return named(*failure, plain, shown);
    }
    struct stat status = {};
    const bool was_link = is_link(first, status);
    if (was_link && wanted == Wanted::no_link) return refuse_link(shown);
    if (Failure failure = find_end(plain, true, located.place))
        return named(*failure, plain, shown);
    const bool is_there = ::fstatat(located.place.directory.get(), located.place.name.c_str(),
                                    &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (was_link && !is_there) return is_link_to_nothing(shown);
    if (located.place.name == ".") return failed(shown, EISDIR);
    std::string directory;
    if (Failure failure = name_directory(shown, located.place.directory.get(), directory))
        return failure;
    located.path = core::joined(directory, located.place.name);
    return {};
}

Failure check_inside(const Located& located, const std::string& shown,
                     const std::vector<std::string>& roots) {
    const bool is_inside =
        roots.empty() || std::ranges::any_of(roots, [&located](const std::string& root) {
            return core::is_below(located.path, root);
        });
    if (is_inside) return {};
    return failed(Trouble::outside, shown,
                  "leads to " + located.path + ", outside of " + listed(roots));
}

} // namespace ew::files
