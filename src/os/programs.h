// Finds the file that a command name refers to, and decides whether agents' programs are unable to
// change that file. The answers are true only now: a user who can write to a directory on the way
// can change them a moment later. So resolve once, show the result, and execute that path.
#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::os {

// Returns the file that execvp(3) would execute for `word`, with all symlinks resolved. If the word
// has a slash and is relative, it is relative to `directory`; without a slash it is searched in
// `path_variable`, in which an empty element means `directory`. `directory` is absolute. The
// program should still see `word` as its argv[0]. Errors: spawn_not_found, or spawn_failed if the
// file exists but is not executable.
Result<std::string> resolve_program(const std::string& word, std::string_view path_variable,
                                    const std::string& directory);

// Returns the absolute path with all symlinks resolved, as every process sees it. Returns nullopt
// if it does not exist, or leads through procfs, where self or cwd are other places for each
// process.
std::optional<std::string> shared_real_path(const std::string& path);

struct TrustPlaces {
    std::string path;                  // the PATH of the programs
    std::vector<std::string> writable; // directories and files that agents may write to
    std::vector<std::string> temporary_directories = {"/tmp", "/var/tmp",
                                                      "/dev/shm"}; // and $TMPDIR
};

// Decides by its location whether a program is trusted. A directory is trusted if all of this is
// true: root or we own it and the directories above it; others cannot write to it, nor to a
// directory above it unless that one is sticky; with symlinks resolved it is not a directory that
// agents may write to, nor inside one. The same applies to the directories of all symlinks on the
// way, so that nobody can redirect them.
class TrustedPrograms {
public:
    explicit TrustedPrograms(TrustPlaces places);

    // A bare name is trusted if every directory of PATH up to the first one that has it is absolute
    // and trusted, and if the file is trusted too. A name that no directory has could be a shell
    // builtin; it is trusted if all directories of PATH are. An absolute path is trusted if its
    // directory, as spelled, is a system directory such as /usr/bin or is in PATH, and if it leads
    // to a trusted file. So the maintainer of that directory has chosen the last component of the
    // word. Other words are never trusted.
    bool is_trusted(std::string_view word) const;

    // Returns true if this absolute path is in a trusted directory and leads to a file in a trusted
    // directory that only root or we may write to.
    bool is_trusted_file(const std::string& path) const;

private:
    bool is_trusted_directory(const std::string& directory) const;
    bool is_trusted_name(const std::string& name) const;
    bool is_trusted_path(const std::string& path) const;
    bool is_in_unsafe_place(const std::string& path) const;
    std::optional<std::string> guarded_target(const std::string& path) const;

    std::vector<std::string> path_;
    std::vector<std::string> unsafe_; // as passed in, and with symlinks resolved
};

} // namespace ew::os
