// Journals of patches (patch_journal.h) on disk: STATE_DIRECTORY/patches/TOKEN. The process that
// applies the patch holds a lock on the journal; a journal without a lock belongs to an interrupted
// patch. A user's patches are applied one at a time, because two patches that change the same files
// would partly undo each other: STATE_DIRECTORY/patches.lock is locked meanwhile.
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

// Holds the lock for the lifetime of this object. The journal stays on disk unless remove() is
// called.
class HeldJournal {
public:
    // Creates an empty journal. Forked processes share its lock, which lasts until the last of them
    // has closed it.
    static Result<HeldJournal> begin(const std::string& state_directory, const std::string& token);

    // Waits up to 10 s for other patches and then writes the journal to disk. Call it once after
    // begin(). A fork may call it, since its locks also count for the process that called begin().
    Result<void> finish(const std::string& text) const;

    // Combines begin() and finish().
    static Result<HeldJournal> write(const std::string& state_directory, const Journal& journal);

    // Returns the journals that nobody has locked.
    static std::vector<HeldJournal> left_over(const std::string& state_directory);

    const std::string& text() const { return text_; }

    // The descriptors that a fork must keep open.
    std::array<int, 2> descriptors() const { return {file_.get(), turn_.get()}; }

    const std::string& path() const { return path_; }

    // Removes the journal after the patch was applied or undone. If that fails, a later recovery
    // finds the journal and has nothing to do.
    void remove() const;

private:
    HeldJournal() = default;
    static std::optional<HeldJournal> take(std::string path);

    std::string path_ = {};
    UniqueFd file_ = {};
    UniqueFd turn_ = {}; // the file that is locked while a patch is applied
    std::string text_ = {};
};

struct LeftOver {
    std::string journal = {}; // the path of the journal
    Failure failure = {};     // if set, the journal stays
    RecoveryReport report = {};
};

// Undoes or finishes all interrupted patches, in this process.
std::vector<LeftOver> recover_left_over(const std::string& state_directory);

} // namespace ew::files
