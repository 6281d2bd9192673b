// New content for a file, complete before anybody sees it: it is written beside the old one and
// takes its place by a rename. Where a rename would lose something (further names, the owner) or is
// not possible, it is written over the old content at the end, after room has been made.
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
    UniqueFd content = {};      // of the new file; can be read too
    UniqueFd beside = {};       // the directory, or the old file if it is written over
    std::string name = {};      // of the file in the directory; empty: written over
    std::string temporary = {}; // the new file's name as long as it needs one; mostly it has none
};

// The old file is as it was until commit(). A link at `place` is replaced, not followed. Failures:
// a directory or something else that is no file, a file that may not be written.
Failure begin_replacement(const std::string& path, EntryRef place, Replacement& replacement);

// The new content takes the place of the old one, or all is as it was.
Failure commit(const std::string& path, Replacement& replacement);

// The file at `place`, open for writing: what may not be written is not replaced either. A program
// that runs cannot be written (ETXTBSY), but another can take its place, so it is open for reading.
UniqueFd open_old(const EntryRef& place);

// Can the new file be all that the old one was, to its owner, mode and attributes? It is so then.
bool take_over(int old, const struct stat& was, int content);

// SIGTERM, by which the server ends file processes, has to wait as long as this lives: it must not
// come between two steps that belong together.
class Untorn {
public:
    Untorn();
    ~Untorn();
    Untorn(const Untorn&) = delete;
    Untorn& operator=(const Untorn&) = delete;

private:
    sigset_t before_ = {};
};

// A link that says `target`, in the place of a file or link that may be there.
Failure put_link(const std::string& path, const std::string& target, const EntryRef& place);

// Takes away what would be left over.
void give_up(Replacement& replacement);

Failure write_all(int file, std::string_view bytes, const std::string& path);

} // namespace ew::files
