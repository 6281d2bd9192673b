#include "sandbox/aftermath/look_journal.h"

#include "os/directory.h"
#include "os/io.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t longest_record = 16 << 20; // bytes

// Each item is a letter and a text, ended by NUL; a repository is two items.
constexpr char root_item = 'r';
constexpr char absent_item = 'a';
constexpr char work_tree_item = 'w';
constexpr char git_directory_item = 'g';
constexpr char nested_item = 'n';
constexpr char closed_item = 'c';
constexpr char cut_short_item = 'x';
constexpr char before_item = 'b';
constexpr char end_item = '.'; // the things that were moved follow

void put(std::string& to, char item, std::string_view text) {
    to.push_back(item);
    to.append(text).push_back('\0');
}

bool take(LookRecord& record, char item, std::string text) {
    LookPlaces& places = record.places;
    switch (item) {
    case root_item: places.roots.push_back(std::move(text)); return true;
    case absent_item: places.absent.push_back(std::move(text)); return true;
    case work_tree_item: places.repositories.push_back({std::move(text), ""}); return true;
    case git_directory_item:
        if (places.repositories.empty()) return false;
        places.repositories.back().git_directory = std::move(text);
        return true;
    case nested_item: places.nested.push_back(std::move(text)); return true;
    case closed_item: places.closed.push_back(std::move(text)); return true;
    case cut_short_item: places.knows_all_nested = false; return true;
    case before_item: record.before.insert(std::move(text)); return true;
    default: return false;
    }
}

void make_directory(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0 || errno != ENOENT || path == "/") return;
    make_directory(parent_of(path));
    (void)::mkdir(path.c_str(), 0700);
}

std::string new_name() {
    std::uint64_t number = 0;
    (void)!::getrandom(&number, sizeof number, 0); // a name that is taken is an error
    return fmt::format("{:016x}", number);
}

std::optional<std::string> content_of(int fd) {
    struct stat status = {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    if (static_cast<std::size_t>(status.st_size) > longest_record) return std::nullopt;
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
    if (count != status.st_size) return std::nullopt;
    return text;
}

// Opens all files of the journal that have their final names.
std::vector<HeldLook> opened_looks(const std::string& journal) {
    std::vector<HeldLook> looks;
    const os::Directory directory = os::open_directory(journal);
    if (!directory) return looks;
    while (const dirent* entry = ::readdir(directory.get())) {
        if (looks.size() == most_looks) break;
        if (entry->d_name[0] == '.') continue;
        UniqueFd file(::openat(::dirfd(directory.get()), entry->d_name,
                               O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        if (file) looks.push_back({joined(journal, entry->d_name), std::move(file)});
    }
    return looks;
}

} // namespace

void append(std::string& to, const SetAside& thing) {
    for (const std::string* part : {&thing.path, &thing.danger, &thing.moved_to})
        to.append(*part).push_back('\0');
}

std::optional<SetAside> take_set_aside(std::string_view& text) {
    SetAside thing;
    for (std::string* part : {&thing.path, &thing.danger, &thing.moved_to}) {
        const std::size_t zero = text.find('\0');
        if (zero == std::string_view::npos) return std::nullopt;
        *part = text.substr(0, zero);
        text.remove_prefix(zero + 1);
    }
    return thing;
}

std::string encode_look(const LookRecord& record) {
    const LookPlaces& places = record.places;
    std::string text;
    for (const std::string& path : places.roots)
        put(text, root_item, path);
    for (const std::string& path : places.absent)
        put(text, absent_item, path);
    for (const LookPlaces::Repository& repository : places.repositories) {
        put(text, work_tree_item, repository.work_tree);
        put(text, git_directory_item, repository.git_directory);
    }
    for (const std::string& path : places.nested)
        put(text, nested_item, path);
    for (const std::string& path : places.closed)
        put(text, closed_item, path);
    if (!places.knows_all_nested) put(text, cut_short_item, "");
    for (const std::string& key : record.before)
        put(text, before_item, key);
    put(text, end_item, "");
    for (const SetAside& thing : record.set_aside)
        append(text, thing);
    return text;
}

std::optional<LookRecord> decode_look(std::string_view text) {
    LookRecord record;
    while (!text.empty()) {
        const std::size_t zero = text.find('\0');
        if (zero == std::string_view::npos || zero == 0) return std::nullopt;
        const std::string_view item = text.substr(0, zero);
        text.remove_prefix(zero + 1);
        if (item.front() == end_item) {
            // What is cut off was not written to its end.
            while (std::optional<SetAside> thing = take_set_aside(text))
                record.set_aside.push_back(std::move(*thing));
            return record;
        }
        if (!take(record, item.front(), std::string(item.substr(1)))) return std::nullopt;
    }
    return std::nullopt;
}

std::string look_journal_beside(const std::string& placeholders) {
    return joined(parent_of(placeholders), "looks");
}

Result<HeldLook> keep_look(const LookRecord& record, const std::string& journal) {
    make_directory(journal);
    const std::string name = new_name();
    HeldLook look{joined(journal, name), {}};
    // A file with a dot before its name is nobody's yet: see abandoned_looks().
    const std::string first = joined(journal, "." + name);
    look.lock.reset(::open(first.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const std::string text = encode_look(record);
    const bool is_kept = look.lock && text.size() <= longest_record &&
                         ::flock(look.lock.get(), LOCK_EX | LOCK_NB) == 0 &&
                         os::write_all(look.lock.get(), text) &&
                         ::rename(first.c_str(), look.path.c_str()) == 0;
    if (is_kept) return look;
    const int error = errno;
    if (look.lock) (void)::unlink(first.c_str());
    return os::system_error(fmt::format("write {}", look.path), error);
}

std::optional<LookRecord> read_look(int file) {
    const std::optional<std::string> text = content_of(file);
    return text ? decode_look(*text) : std::nullopt;
}

void note_set_aside(const HeldLook& look, const SetAside& thing) {
    std::string text;
    append(text, thing);
    (void)::lseek(look.lock.get(), 0, SEEK_END);
    (void)os::write_all(look.lock.get(), text);
}

void forget_look(const HeldLook& look) {
    (void)::unlink(look.path.c_str());
}

std::vector<LookRecord> known_looks(const std::string& journal) {
    std::vector<LookRecord> records;
    for (const HeldLook& look : opened_looks(journal))
        if (std::optional<LookRecord> record = read_look(look.lock.get()))
            records.push_back(std::move(*record));
    return records;
}

std::vector<HeldLook> abandoned_looks(const std::string& journal) {
    std::vector<HeldLook> abandoned;
    for (HeldLook& look : opened_looks(journal)) {
        struct stat status = {};
        if (::flock(look.lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
        // Another process may have finished it before our lock.
        if (::fstat(look.lock.get(), &status) == 0 && status.st_nlink > 0)
            abandoned.push_back(std::move(look));
    }
    return abandoned;
}

} // namespace ew::sandbox
