#include "sandbox/launch/init_place.h"

#include "build_places.h"
#include "os/io.h"
#include "sandbox/plan/bubblewrap_arguments.h"

#include <fmt/format.h>
#include <sys/stat.h>

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
    struct stat devices = {};
    struct stat init = {};
    return ::stat("/dev", &devices) == 0 && ::stat(std::string(init_path).c_str(), &init) == 0 &&
           init.st_dev != devices.st_dev;
}

} // namespace ew::sandbox
