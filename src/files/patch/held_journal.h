// Journals of patches (patch_journal.h) on the disk: STATE_DIRECTORY/patches/TOKEN, each locked by
// whoever lets its patch be applied. One that nobody has locked is of a patch that was interrupted.
// A user's patches are applied one at a time, since two that change the same files would undo each
// other in part: STATE_DIRECTORY/patches.lock is locked meanwhile.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "files/outcome.h"
#include "files/patch/patch_journal.h"
#include "files/patch/patch_report.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace ew::files {

// Locked as long as this lives. It stays on the disk unless remove() is called.
class HeldJournal {
public:
    // A new one that says nothing yet. Its lock goes to processes that are forked, too, and lasts
    // as long as any of them has it.
    static Result<HeldJournal> begin(const std::string& state_directory, const std::string& token);

    // Waits up to 10 s for other patches; then it is on the disk. Once, after begin(). May be
    // called in a fork, since what it locks is locked for the one who began as well.
    Result<void> finish(const std::string& text) const;

    // Both.
    static Result<HeldJournal> write(const std::string& state_directory, const Journal& journal);

    // Those that nobody holds.
    static std::vector<HeldJournal> left_over(const std::string& state_directory);

    const std::string& text() const { return text_; }

    // What a fork has to keep open.
    std::array<int, 2> descriptors() const { return {file_.get(), turn_.get()}; }

    const std::string& path() const { return path_; }

    // The patch is applied, or undone. If it cannot be removed, it is found again, to no effect.
    void remove() const;

private:
    HeldJournal() = default;
    static std::optional<HeldJournal> take(std::string path);

    std::string path_ = {};
    UniqueFd file_ = {};
    UniqueFd turn_ = {}; // of the file that is locked by whoever applies a patch
    std::string text_ = {};
};

struct LeftOver {
    std::string journal = {}; // its path
    Failure failure = {};     // then the journal stays
    RecoveryReport report = {};
};

// Undoes or finishes all that was left over, in this process.
std::vector<LeftOver> recover_left_over(const std::string& state_directory);

} // namespace ew::files
