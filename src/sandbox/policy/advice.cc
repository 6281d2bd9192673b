#include "sandbox/policy/advice.h"

#include "core/text/paths.h"

#include <algorithm>

namespace ew::sandbox {

namespace {

// The number of names from the home directory down to the directory of one program, or 0 if the
// path is in no hidden directory.
int depth_of_program(std::string_view below_home) {
    const std::string_view first = below_home.substr(0, below_home.find('/'));
    if (first == ".local") return 3; // .local/share/PROGRAM
    if (first == ".cache" || first == ".config") return 2;
    return first.starts_with('.') ? 1 : 0;
}

std::string_view first_names(std::string_view path, int count) {
    std::size_t end = 0;
    for (int i = 0; i < count && end != std::string_view::npos; ++i)
        end = path.find('/', i == 0 ? 0 : end + 1);
    return path.substr(0, end);
}

} // namespace

bool is_too_wide(std::string_view path, std::string_view home) {
    return path.empty() || path == "/" || (!home.empty() && core::is_at_or_below(home, path));
}

std::string directory_to_open(std::string_view operation, std::string_view target,
                              std::string_view home) {
    std::string directory = core::parent_of(std::string(target));
    if (!home.empty() && home != "/" && core::is_below(target, home)) {
        const std::string_view below = target.substr(home.size() + 1);
        const int depth = depth_of_program(below);
        const bool is_deep = std::count(below.begin(), below.end(), '/') >= depth;
        if (depth > 0 && (is_deep || operation == "mkdir"))
            directory = std::string(home) + "/" + std::string(first_names(below, depth));
    }
    return is_too_wide(directory, home) ? std::string() : directory;
}

} // namespace ew::sandbox
