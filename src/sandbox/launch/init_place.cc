#include "sandbox/launch/init_place.h"

#include "build_places.h"
#include "os/io.h"
#include "sandbox/launch/bubblewrap.h"
#include "sandbox/plan/bubblewrap_arguments.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string_view>

namespace ew::sandbox {

namespace {

constexpr std::string_view build_directory = EXECWARD_BUILD_DIRECTORY;

std::string own_path() {
    return os::link_target("/proc/self/exe").value_or("");
}

bool is_uninstalled() {
    const std::string self = own_path();
    return self.starts_with(build_directory) &&
           self.substr(build_directory.size()).starts_with('/');
}

} // namespace

std::string part_beside(std::string_view program, std::string_view name) {
    for (int levels = 0; levels < 2; ++levels) {
        const std::size_t slash = program.rfind('/');
        if (slash == std::string_view::npos) return {};
        program = program.substr(0, slash);
    }
    return fmt::format("{}/libexec/{}", program, name);
}

std::string init_place() {
    if (is_relocatable()) return part_beside(own_path(), "execward-init");
    return fmt::format("{}/execward-init",
                       is_uninstalled() ? build_directory : std::string_view(EXECWARD_LIBEXEC));
}

std::string tools_place() {
    if (is_relocatable()) return part_beside(own_path(), "execward-tools");
    return is_uninstalled() ? fmt::format("{}/src/tools", build_directory)
                            : std::string(EXECWARD_LIBEXEC "/execward-tools");
}

Result<std::string> checked_init_place() {
    std::string place = init_place();
    if (!is_relocatable()) return place;
    return TRY(find_own_init(place)).path;
}

bool is_in_sandbox() {
    struct stat devices = {};
    struct stat init = {};
    return ::stat("/dev", &devices) == 0 && ::stat(std::string(init_path).c_str(), &init) == 0 &&
           init.st_dev != devices.st_dev;
}

} // namespace ew::sandbox
