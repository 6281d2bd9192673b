#include "sandbox/launch/init_place.h"

#include "build_places.h"
#include "os/io.h"
#include "sandbox/plan/bubblewrap_arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

namespace ew::sandbox {

namespace {

constexpr std::string_view build_directory = EXECWARD_BUILD_DIRECTORY;

bool is_uninstalled() {
    const std::string self = os::link_target("/proc/self/exe").value_or("");
    return self.starts_with(build_directory) &&
           self.substr(build_directory.size()).starts_with('/');
}

} // namespace

std::string init_place() {
    return fmt::format("{}/execward-init",
                       is_uninstalled() ? build_directory : std::string_view(EXECWARD_LIBEXEC));
}

std::string tools_place() {
    return is_uninstalled() ? fmt::format("{}/src/tools", build_directory)
                            : std::string(EXECWARD_LIBEXEC "/execward-tools");
}

bool is_in_sandbox() {
    return ::access(std::string(init_path).c_str(), F_OK) == 0;
}

} // namespace ew::sandbox
