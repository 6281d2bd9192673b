#include "sandbox/init_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace ew::sandbox {

std::string init_place() {
    std::array<char, 4096> link = {};
    const ssize_t size = ::readlink("/proc/self/exe", link.data(), link.size());
    const std::string_view self(link.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    constexpr std::string_view build_directory = EXECWARD_BUILD_DIRECTORY;
    const bool is_uninstalled =
        self.starts_with(build_directory) && self.substr(build_directory.size()).starts_with('/');
    return fmt::format("{}/execward-init",
                       is_uninstalled ? build_directory : std::string_view(EXECWARD_LIBEXEC));
}

} // namespace ew::sandbox
