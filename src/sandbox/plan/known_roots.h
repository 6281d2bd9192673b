// Roots as a session has named them once. A program of another session may have replaced one since,
// and would lead this session elsewhere.
#pragma once

#include "os/known_directory.h"
#include "sandbox/plan/resolved_path.h"

#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

// Roots that the plans of one session know at most.
constexpr std::size_t most_roots = 128;

class KnownRoots {
public:
    // `known` must outlive the object.
    explicit KnownRoots(const std::vector<os::KnownDirectory>& known) : known_(known) {}

    // Does the name still lead to the directory that is known by it? Notes a new name. What is no
    // directory is no root.
    bool agree(const std::string& name, const ResolvedPath& place);

    // The message for a root that does not agree, and the way out.
    static std::string changed(const std::string& name);
    static constexpr const char* hint =
        "see what has taken its place; a new session takes it as it is now, as does "
        "session/configure for the roots that it names";

    std::vector<os::KnownDirectory> take_new() { return std::move(new_); }

private:
    const std::vector<os::KnownDirectory>& known_;
    std::vector<os::KnownDirectory> new_;
};

} // namespace ew::sandbox
