#include "files/patch/patch_commit.h"

#include "base/check.h"
#include "core/sha256.h"
#include "core/text/paths.h"
#include "files/entry_ref.h"
#include "files/patch/patch_places.h"
#include "files/patch/patch_recovery.h"
#include "files/replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

namespace ew::files {

namespace {

bool is_same(const struct stat& one, const struct stat& other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino &&
           one.st_size == other.st_size && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
           one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

Failed has_changed(const std::string& shown) {
    return failed(Trouble::changed, shown, "has changed since the patch was checked");
}

class Commit {
public:
    Commit(const PatchPlan& plan, const Journal& journal) : plan_(plan), journal_(journal) {}

    Failure stage_all() const {
        for (const std::string& directory : journal_.directories)
            if (Failure failure = make_directory(directory)) return failure;
        return each(&Commit::stage);
    }

    Failure verify_all() const { return each(&Commit::verify); }

    Failure exchange_all() const {
        if (Failure failure = each(&Commit::exchange)) return failure;
        return sync_directories(journal_);
    }

    Failure remove_old() const {
        if (Failure failure = each(&Commit::remove_held)) return failure;
        return sync_directories(journal_);
    }

private:
    struct At {
        const Step& step;
        const PlannedFile& file;
        EntryRef place;
        std::string staged;
        std::string old;
    };

    Failure each(Failure (*action)(const At&)) const {
        for (std::size_t i = 0; i < journal_.steps.size(); ++i) {
            const Step& step = journal_.steps[i];
            const auto found = plan_.files.find(core::joined(step.directory, step.name));
            CHECK(found != plan_.files.end());
            UniqueFd directory = open_canonical(step.directory, O_PATH);
            if (!directory) return failed(found->second.shown, errno);
            const At at = {step,
                           found->second,
                           {std::move(directory), step.name},
                           staged_name(journal_.token, i),
                           old_name(journal_.token, i)};
            if (Failure failure = action(at)) return failure;
        }
        return {};
    }

    static Failure make_directory(const std::string& path) {
        const UniqueFd above = open_canonical(core::parent_of(path), O_PATH);
        const std::string name = path.substr(path.rfind('/') + 1);
        if (!above || ::mkdirat(above.get(), name.c_str(), 0777) != 0) {
            if (errno == EEXIST) return has_changed(path);
            return failed(path, errno);
        }
        return {};
    }

    static Failure stage(const At& at) {
        if (at.step.kind == StepKind::remove) return {};
        const std::string& shown = at.file.shown;
        UniqueFd old;
        struct stat was = {};
        if (at.step.kind == StepKind::replace || !at.file.moved_from.empty()) {
            old = at.file.moved_from.empty() ? open_old(at.place) : open_source(at.file.moved_from);
            if (!old && errno == ENOENT) return has_changed(shown);
            if (!old || ::fstat(old.get(), &was) != 0) return failed(shown, errno);
        }
        const UniqueFd staged = open_at(at.place.directory.get(), at.staged,
                                        O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, true);
        if (!staged) return failed(shown, errno);
        // Before any content is written, because the old file may be less readable than a new one.
        if (old && !take_over(old.get(), was, staged.get()))
            return failed(Trouble::permission, shown,
                          "cannot be replaced by a file of the same owner, mode and attributes");
        if (Failure failure = write_all(staged.get(), *at.file.new_bytes, shown)) return failure;
        if (::fdatasync(staged.get()) != 0) return failed(shown, errno);
        return {};
    }

    static UniqueFd open_source(const std::string& path) {
        UniqueFd directory = open_canonical(core::parent_of(path), O_PATH);
        if (!directory) return {};
        return open_old({std::move(directory), path.substr(path.rfind('/') + 1)});
    }

    static Failure verify(const At& at) {
        const std::string& shown = at.file.shown;
        const int directory = at.place.directory.get();
        struct stat now = {};
        const bool is_there =
            ::fstatat(directory, at.place.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
        if (!is_there && errno != ENOENT) return failed(shown, errno);
        if (is_there != at.file.before.has_value()) return has_changed(shown);
        if (!is_there) return {};
        if (!is_same(now, *at.file.before)) return has_changed(shown);
        UniqueFd file;
        std::string bytes;
        if (Failure failure = open_regular(shown, at.place, O_RDONLY | O_NOFOLLOW, file))
            return failure;
        if (Failure failure = read_bounded(shown, file.get(), bytes)) return failure;
        if (core::sha256(bytes) != at.step.old_digest) return has_changed(shown);
        return {};
    }

    static Failure exchange(const At& at) {
        const int directory = at.place.directory.get();
        const std::string& name = at.place.name;
        switch (at.step.kind) {
        case StepKind::make:
            if (rename_to_free(directory, at.staged, name)) return {};
            if (errno == EEXIST) return has_changed(at.file.shown);
            return failed(at.file.shown, errno);
        case StepKind::remove:
            if (rename_to_free(directory, name, at.staged)) return is_what_was(at, at.staged);
            return failed(at.file.shown, errno);
        case StepKind::replace: break;
        }
        if (::renameat2(directory, at.staged.c_str(), directory, name.c_str(), RENAME_EXCHANGE) ==
            0)
            return is_what_was(at, at.staged);
        if (errno != EINVAL && errno != ENOSYS) return failed(at.file.shown, errno);
        // The file system does not support the exchange of two names.
        if (::linkat(directory, name.c_str(), directory, at.old.c_str(), 0) != 0 ||
            ::renameat(directory, at.staged.c_str(), directory, name.c_str()) != 0)
            return failed(at.file.shown, errno);
        return is_what_was(at, at.old);
    }

    // Another process may have put another file there at the last moment.
    static Failure is_what_was(const At& at, const std::string& name) {
        struct stat now = {};
        if (::fstatat(at.place.directory.get(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
            is_same(now, *at.file.before))
            return {};
        return has_changed(at.file.shown);
    }

    static Failure remove_held(const At& at) {
        const int directory = at.place.directory.get();
        for (const std::string* name : {&at.staged, &at.old})
            if (::unlinkat(directory, name->c_str(), 0) != 0 && errno != ENOENT)
                return failed(core::joined(at.step.directory, *name), errno);
        return {};
    }

    const PatchPlan& plan_;
    const Journal& journal_;
};

std::string kept_of(const RecoveryReport& report) {
    std::string text;
    for (const RecoveredFile& file : report.files)
        if (!file.kept.empty())
            text += "; " + file.path + " was changed meanwhile, and what was there before is now " +
                    file.kept;
    return text;
}

Failed undone(const Journal& journal, Failed why) {
    RecoveryReport report;
    if (Failure failure = settle(journal, Direction::back, report)) {
        why.trouble = Trouble::not_undone;
        why.message += "; and not all of the patch could be undone: " + failure->message;
    }
    why.message += kept_of(report);
    return why;
}

} // namespace

Failure carry_out(const PatchPlan& plan, const Journal& journal) {
    const Commit commit(plan, journal);
    Failure failure = commit.stage_all();
    if (!failure) failure = commit.verify_all();
    const Untorn untorn;
    if (!failure) failure = commit.exchange_all();
    if (failure) return undone(journal, std::move(*failure));
    failure = commit.remove_old();
    if (!failure) return {};
    failure->trouble = Trouble::not_undone;
    failure->message =
        "the patch is applied, but what it replaced is still there: " + failure->message;
    return failure;
}

} // namespace ew::files
