// Which file a command's name stands for, and whether that file is out of reach of what is run for
// agents. All of it is about now: whoever may write to a directory on the way can change the
// answer a moment later, so resolve once, show the result, and execute that path.
#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::os {

// The file that execvp(3) would run for `word`, with all symlinks resolved: below `directory` if
// the word has a slash and is relative, else from the directories of `path_variable` (an empty
// one is `directory`, which is absolute). The program should still see `word` as its argv[0].
// Errors: spawn_not_found, or spawn_failed if it is there and no executable file.
Result<std::string> resolve_program(const std::string& word, std::string_view path_variable,
                                    const std::string& directory);

struct TrustPlaces {
    std::string path;                         // the PATH that the programs will have
    std::vector<std::string> workspace_roots; // what agents may write to
    std::vector<std::string> temporary_directories = {"/tmp", "/var/tmp",
                                                      "/dev/shm"}; // and $TMPDIR
};

// Trust in programs by where they are. A directory is trusted if it and those above it belong to
// root or to us, if no others may write to it (nor, unless it is sticky, to one above it), and if
// it is, with symlinks resolved, neither a workspace or temporary directory nor in one. The same is
// asked of the places of all symlinks on the way, so that nobody can turn them elsewhere.
class TrustedPrograms {
public:
    explicit TrustedPrograms(TrustPlaces places);

    // A bare name: every directory of PATH up to the first that has it is absolute and trusted, and
    // so is the file it leads to. One that no directory has could be a shell's builtin; it is
    // trusted if all of them are. An absolute path: its own directory, as spelled, is one of the
    // system's such as /usr/bin or one of PATH, and it leads to a trusted file. So the word's last
    // part is a name that whoever looks after that directory has given. Other words: never.
    bool is_trusted(std::string_view word) const;

    // Does this absolute path, itself in a trusted directory, lead to a file in a trusted directory
    // that only root or we may write to?
    bool is_trusted_file(const std::string& path) const;

private:
    bool is_trusted_directory(const std::string& directory) const;
    bool is_trusted_name(const std::string& name) const;
    bool is_trusted_path(const std::string& path) const;
    bool is_in_unsafe_place(const std::string& path) const;
    std::optional<std::string> guarded_target(const std::string& path) const;

    std::vector<std::string> path_;
    std::vector<std::string> unsafe_; // as given and with symlinks resolved
};

} // namespace ew::os
