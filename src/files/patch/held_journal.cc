#include "files/patch/held_journal.h"

#include "core/text/paths.h"
#include "files/patch/patching.h"
#include "os/directory.h"
#include "os/file_lock.h"
#include "os/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

namespace ew::files {

namespace {

constexpr int most_tries = 20;
constexpr Millis patience{10'000};              // how long to wait for another patch
constexpr std::string_view unfinished = ".new"; // suffix of a journal that may be incomplete

std::string place_below(const std::string& state_directory) {
    return state_directory + "/patches";
}

void make_place(const std::string& place) {
    for (std::size_t slash = place.find('/', 1); slash != std::string::npos;
         slash = place.find('/', slash + 1))
        (void)::mkdir(place.substr(0, slash).c_str(), 0700);
    (void)::mkdir(place.c_str(), 0700); // if this fails, opening the journal reports it
}

bool lock(int file) {
    return ::flock(file, LOCK_EX | LOCK_NB) == 0;
}

bool sync_place(const std::string& place) {
    const UniqueFd directory(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return directory && ::fsync(directory.get()) == 0;
}

UniqueFd open_turn(const std::string& state_directory) {
    return UniqueFd(::open((state_directory + "/patches.lock").c_str(),
                           O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

Error cannot_write(const std::string& path) {
    Error error = os::system_error(fmt::format("write {}", path), errno);
    error.hint = "a patch is only applied once a journal of it is written there";
    return error;
}

std::optional<std::string> read_whole(int file) {
    struct stat status = {};
    if (::fstat(file, &status) != 0 || status.st_size > static_cast<off_t>(longest_journal))
        return std::nullopt;
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    const ssize_t count = ::pread(file, text.data(), text.size(), 0);
    if (count != static_cast<ssize_t>(text.size())) return std::nullopt;
    return text;
}

// If nobody holds the lock, the writer of this journal has died before it changed anything.
void remove_unfinished(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file && lock(file.get())) (void)::unlink(path.c_str()); // else it is found again
}

} // namespace

Result<HeldJournal> HeldJournal::begin(const std::string& state_directory,
                                       const std::string& token) {
    const std::string place = place_below(state_directory);
    make_place(place);
    HeldJournal held;
    held.path_ = place + "/" + token;
    held.turn_ = open_turn(state_directory);
    if (!held.turn_) return cannot_write(place);
    const std::string first = held.path_ + std::string(unfinished);
    for (int i = 0; i < most_tries; ++i) {
        held.file_.reset(
            ::open(first.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
        if (!held.file_) return cannot_write(first);
        // Before the lock is taken, another process may remove the file as left over.
        struct stat status = {};
        if (lock(held.file_.get()) && ::fstat(held.file_.get(), &status) == 0 &&
            status.st_nlink > 0)
            return held;
    }
    return Error{ErrorKind::internal, fmt::format("another process keeps removing {}", first)};
}

Result<void> HeldJournal::finish(const std::string& text) const {
    if (text.size() > longest_journal)
        return Error{ErrorKind::limit, "the patch has too many files for a journal"};
    if (!os::lock_within(turn_.get(), LOCK_EX, patience))
        return Error{ErrorKind::limit, "another patch has not finished in time; try again later"};
    const std::string first = path_ + std::string(unfinished);
    if (!os::write_all(file_.get(), text) || ::fsync(file_.get()) != 0) return cannot_write(first);
    if (::rename(first.c_str(), path_.c_str()) != 0) return cannot_write(path_);
    if (!sync_place(core::parent_of(path_))) return cannot_write(path_);
    return {};
}

Result<HeldJournal> HeldJournal::write(const std::string& state_directory, const Journal& journal) {
    HeldJournal held = TRY(begin(state_directory, journal.token));
    held.text_ = encode(journal);
    Result<void> written = held.finish(held.text_);
    if (written) return held;
    held.remove();
    return written.error();
}

std::optional<HeldJournal> HeldJournal::take(std::string path) {
    HeldJournal held;
    held.file_.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!held.file_ || !lock(held.file_.get())) return std::nullopt;
    struct stat status = {};
    const bool is_there = ::fstat(held.file_.get(), &status) == 0 && status.st_nlink > 0;
    std::optional<std::string> text = is_there ? read_whole(held.file_.get()) : std::nullopt;
    if (!text) return std::nullopt;
    held.path_ = std::move(path);
    held.text_ = std::move(*text);
    return held;
}

std::vector<HeldJournal> HeldJournal::left_over(const std::string& state_directory) {
    const std::string place = place_below(state_directory);
    std::vector<HeldJournal> found;
    const os::Directory directory = os::open_directory(place);
    if (!directory) return found;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string name = entry->d_name;
        const std::string path = core::joined(place, name);
        if (name.ends_with(unfinished) &&
            is_token(std::string_view(name).substr(0, name.size() - unfinished.size())))
            remove_unfinished(path);
        if (!is_token(name)) continue;
        if (std::optional<HeldJournal> journal = take(path)) found.push_back(std::move(*journal));
    }
    return found;
}

// If the journal cannot be removed, the next recovery finds it as left over.
void HeldJournal::remove() const {
    (void)::unlink((path_ + std::string(unfinished)).c_str());
    (void)::unlink(path_.c_str());
}

std::vector<LeftOver> recover_left_over(const std::string& state_directory) {
    std::vector<LeftOver> all;
    const std::string place = place_below(state_directory);
    if (::access(place.c_str(), F_OK) != 0) return all; // no patch was ever applied
    const UniqueFd turn = open_turn(state_directory);
    if (!turn || !os::lock_within(turn.get(), LOCK_EX, patience))
        return all; // a patch is being applied and hangs
    for (const HeldJournal& journal : HeldJournal::left_over(state_directory)) {
        LeftOver left;
        left.journal = journal.path();
        left.failure = recover_patch(journal.text(), left.report);
        if (!left.failure) journal.remove();
        all.push_back(std::move(left));
    }
    return all;
}

} // namespace ew::files
