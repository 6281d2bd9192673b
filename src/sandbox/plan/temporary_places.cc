#include "sandbox/plan/temporary_places.h"

#include "sandbox/plan/resolved_path.h"

#include <algorithm>

namespace ew::sandbox {

bool is_for_temporary_files(const std::string& path) {
    return path == "/tmp" || path == "/var/tmp" || path == "/dev/shm";
}

std::string_view fault_of_tmpdir(const Context& context) {
    const ResolvedPath place = locate(context.tmpdir);
    if (place.kind != ResolvedPath::Kind::directory) return "it is no directory";
    if (is_for_temporary_files(place.path)) return "";
    if (is_of_the_machine(place.path)) return "it belongs to the machine";
    const auto holds = [&place](const std::string& path) {
        return path.starts_with('/') && is_at_or_below(locate(path).path, place.path);
    };
    if (holds(context.cwd) || std::ranges::any_of(context.workspace_roots, holds))
        return "the workspace is in it";
    if (holds(context.home)) return "the home directory is in it";
    if (std::ranges::any_of(context.hidden, holds))
        return "execward's own settings or records are in it";
    return "";
}

} // namespace ew::sandbox
