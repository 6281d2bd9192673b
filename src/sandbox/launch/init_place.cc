#include "sandbox/launch/init_place.h"

#include "build_places.h"
#include "os/io.h"

#include <fmt/format.h>

#include <string_view>

namespace ew::sandbox {

std::string init_place() {
    const std::string self = os::link_target("/proc/self/exe").value_or("");
    constexpr std::string_view build_directory = EXECWARD_BUILD_DIRECTORY;
    const bool is_uninstalled =
        self.starts_with(build_directory) && self.substr(build_directory.size()).starts_with('/');
    return fmt::format("{}/execward-init",
                       is_uninstalled ? build_directory : std::string_view(EXECWARD_LIBEXEC));
}

} // namespace ew::sandbox
