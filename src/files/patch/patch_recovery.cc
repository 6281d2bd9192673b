#include "files/patch/patch_recovery.h"

#include "core/sha256.h"
#include "core/text/paths.h"
#include "files/patch/patch_places.h"
#include "files/patch/patch_plan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

namespace ew::files {

namespace {

// The content of a name: nothing (empty), a file (its digest), or anything else ("-").
using Content = std::string;

constexpr const char* something_else = "-";

enum class State { before, after, foreign };

struct Found {
    State state = State::before;
    std::string held = {};    // the name of the old file, if it is not in its place now
    bool is_held_old = false; // the held file is the one that the patch expected to replace
    std::vector<std::string> left = {}; // other names that are in use next to it
    bool is_gone = false;               // the directory is gone
};

std::string path_of(const Step& step) {
    return core::joined(step.directory, step.name);
}

Failure look(const std::string& path, int directory, const std::string& name, Content& content) {
    struct stat status = {};
    content.clear();
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return {};
        return failed(path, errno);
    }
    content = something_else;
    if (!S_ISREG(status.st_mode)) return {};
    const UniqueFd file = open_at(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, true);
    if (!file) return failed(path, errno);
    std::string bytes;
    Failure failure = read_bounded(path, file.get(), bytes);
    if (failure && failure->trouble != Trouble::limit) return failure;
    if (!failure) content = core::sha256(bytes);
    return {};
}

State state_of(const Step& step, const Content& content) {
    if (content == step.new_digest) return State::after;
    return content == step.old_digest ? State::before : State::foreign;
}

bool is_missing(int error_number) {
    return error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP;
}

// A step with its directory open while it is undone or finished.
class Spot {
public:
    Spot(const Journal& journal, std::size_t number)
        : step_(journal.steps[number]),
          staged_(staged_name(journal.token, number)),
          old_(old_name(journal.token, number)),
          path_(path_of(step_)) {}

    Failure find(Found& found) {
        directory_ = open_canonical(step_.directory, O_PATH);
        if (!directory_) {
            found.is_gone = true;
            if (!is_missing(errno)) return failed(path_, errno);
            found.state = step_.kind == StepKind::make ? State::before : State::foreign;
            return {};
        }
        Content target;
        Content staged;
        Content old;
        for (const auto& [name, content] :
             {std::pair{&step_.name, &target}, {&staged_, &staged}, {&old_, &old}})
            if (Failure failure = look(path_, directory_.get(), *name, *content)) return failure;
        found.state = state_of(step_, target);
        if (!staged.empty()) found.left.push_back(staged_);
        if (!old.empty()) found.left.push_back(old_);
        // The new file is still next to it, so another process created the file in its place.
        if (step_.kind == StepKind::make && !staged.empty()) found.state = State::before;
        if (step_.kind == StepKind::make || found.state == State::before) return {};
        // A staged file that is not the new one is the result of an exchange, even if it is not the
        // expected file.
        if (!old.empty())
            found.held = old_;
        else if (staged == step_.old_digest ||
                 (found.state == State::after && !staged.empty() && staged != step_.new_digest))
            found.held = staged_;
        found.is_held_old = (old.empty() ? staged : old) == step_.old_digest;
        return {};
    }

    Failure undo(const Found& found, RecoveredFile& file) const {
        file.path = path_;
        file.outcome = Recovery::undone;
        if (found.is_gone && found.state == State::before) return {};
        if (found.state == State::after && !put_back(found, file)) return failed(path_, errno);
        if (found.state == State::foreign) leave(found, file);
        return clear(found, file.kept.empty() ? std::string() : found.held);
    }

    Failure finish(const Found& found, RecoveredFile& file) const {
        file.path = path_;
        file.outcome = Recovery::finished;
        const bool is_unexpected = !found.held.empty() && !found.is_held_old;
        if (found.state != State::after || is_unexpected) leave(found, file);
        return clear(found, file.kept.empty() ? std::string() : found.held);
    }

private:
    void leave(const Found& found, RecoveredFile& file) const {
        file.outcome = Recovery::left_alone;
        if (!found.held.empty()) file.kept = core::joined(step_.directory, found.held);
    }

    // Returns false and sets errno on failure.
    bool put_back(const Found& found, RecoveredFile& file) const {
        const int directory = directory_.get();
        if (step_.kind == StepKind::make)
            return ::unlinkat(directory, step_.name.c_str(), 0) == 0 || errno == ENOENT;
        if (found.held.empty()) {
            leave(found, file);
            return true;
        }
        if (step_.kind == StepKind::remove)
            return rename_to_free(directory, found.held, step_.name);
        return ::renameat(directory, found.held.c_str(), directory, step_.name.c_str()) == 0;
    }

    Failure clear(const Found& found, const std::string& kept) const {
        for (const std::string& name : found.left)
            if (name != kept && ::unlinkat(directory_.get(), name.c_str(), 0) != 0 &&
                errno != ENOENT)
                return failed(core::joined(step_.directory, name), errno);
        return {};
    }

    const Step& step_;
    std::string staged_;
    std::string old_;
    std::string path_;
    UniqueFd directory_ = {};
};

// Old files are removed only after all exchanges, so a removed old file means: go forward.
Direction direction_of(const Journal& journal, const std::vector<Found>& found) {
    bool has_before = false;
    bool has_foreign = false;
    bool has_lost = false; // nothing is left of a removed file: another process may have removed it
    for (std::size_t i = 0; i < found.size(); ++i) {
        const bool is_after = found[i].state == State::after;
        const bool is_let_go = is_after && found[i].held.empty() && found[i].left.empty();
        // Only the patch creates exactly this content, so it has already removed the old file.
        if (is_let_go && journal.steps[i].kind == StepKind::replace) return Direction::to_the_end;
        has_lost = has_lost || (is_let_go && journal.steps[i].kind == StepKind::remove);
        has_before = has_before || found[i].state == State::before;
        has_foreign = has_foreign || found[i].state == State::foreign;
    }
    if (has_before || (has_foreign && !has_lost)) return Direction::back;
    return Direction::to_the_end;
}

void remove_made(const Journal& journal) {
    for (auto made = journal.directories.rbegin(); made != journal.directories.rend(); ++made) {
        const UniqueFd above = open_canonical(core::parent_of(*made), O_PATH);
        // A directory that is not empty is used by others now, so it stays.
        if (above)
            (void)::unlinkat(above.get(), made->c_str() + made->rfind('/') + 1, AT_REMOVEDIR);
    }
}

void keep_first(Failure& first, Failure next) {
    if (!first) first = std::move(next);
}

} // namespace

bool rename_to_free(int directory, const std::string& from, const std::string& to) {
    if (::renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS) return false; // not supported by the file system
    return ::linkat(directory, from.c_str(), directory, to.c_str(), 0) == 0 &&
           ::unlinkat(directory, from.c_str(), 0) == 0;
}

Failure settle(const Journal& journal, Direction direction, RecoveryReport& report) {
    if (direction == Direction::by_what_is_there) {
        std::vector<Found> found(journal.steps.size());
        for (std::size_t i = 0; i < found.size(); ++i)
            if (Failure failure = Spot(journal, i).find(found[i])) return failure;
        direction = direction_of(journal, found);
    }
    Failure first;
    report.files.resize(journal.steps.size());
    for (std::size_t i = journal.steps.size(); i-- > 0;) {
        Spot spot(journal, i);
        Found found;
        Failure failure = spot.find(found);
        if (!failure)
            failure = direction == Direction::back ? spot.undo(found, report.files[i])
                                                   : spot.finish(found, report.files[i]);
        keep_first(first, std::move(failure));
    }
    if (direction == Direction::back) remove_made(journal);
    keep_first(first, sync_directories(journal));
    return first;
}

Failure sync_directories(const Journal& journal) {
    std::set<std::string> paths;
    for (const Step& step : journal.steps)
        paths.insert(step.directory);
    for (const std::string& made : journal.directories)
        paths.insert(core::parent_of(made));
    for (const std::string& path : paths) {
        const UniqueFd directory = open_canonical(path, O_RDONLY);
        if (!directory) continue; // the directory is gone, or cannot be read, which this needs
        if (::fsync(directory.get()) != 0 && errno != EINVAL && errno != EROFS)
            return failed(path, errno);
    }
    return {};
}

} // namespace ew::files
