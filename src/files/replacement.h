// New content for a file that becomes visible only when it is complete: it is written to a new file
// next to the old one, which a rename then replaces. If a rename would lose something (other names,
// the owner) or is not possible, the old content is overwritten at the end, after space was
// allocated.
#pragma once

#include "base/unique_fd.h"
#include "files/entry_ref.h"
#include "files/outcome.h"

#include <sys/stat.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <string_view>

namespace ew::files {

struct Replacement {
    UniqueFd content = {};      // the new file; it can also be read
    UniqueFd beside = {};       // the directory, or the old file if it is overwritten
    std::string name = {};      // the name in the directory; empty if the old file is overwritten
    std::string temporary = {}; // the temporary name of the new file; usually it has none
};

// The old file stays unchanged until commit(). A symlink at `place` is replaced, not followed.
// Fails for a directory or another non-file, and for a file that may not be written.
Failure begin_replacement(const std::string& path, EntryRef place, Replacement& replacement);

// Replaces the old content by the new content, or leaves everything unchanged.
Failure commit(const std::string& path, Replacement& replacement);

// Opens the file at `place` for writing, because a file that may not be written must not be
// replaced either. A running program cannot be opened for writing (ETXTBSY) but can be replaced, so
// it is opened for reading.
UniqueFd open_old(const EntryRef& place);

// Gives the new file the owner, mode and attributes of the old file. Returns false if that is not
// possible.
bool take_over(int old, const struct stat& was, int content);

// Blocks SIGTERM, by which the server ends file processes, for the lifetime of this object. So the
// signal cannot come between two steps that belong together.
class Untorn {
public:
    Untorn();
    ~Untorn();
    Untorn(const Untorn&) = delete;
    Untorn& operator=(const Untorn&) = delete;

private:
    sigset_t before_ = {};
};

// Creates a symlink to `target`. A file or symlink at `place` is replaced.
Failure put_link(const std::string& path, const std::string& target, const EntryRef& place);

// Removes temporary files.
void give_up(Replacement& replacement);

Failure write_all(int file, std::string_view bytes, const std::string& path);

} // namespace ew::files
