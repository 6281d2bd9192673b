#include "cli/shared/places.h"

#include <sys/stat.h>

#include <cstdlib>

namespace ew::cli {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

Result<config::Config> settings_in_force(const config::Paths& paths) {
    const std::string named = variable("EXECWARD_CONFIG");
    return TRY(named.empty()
                   ? config::load_config(paths.config_file, config::WhenMissing::use_defaults)
                   : config::load_config(named, config::WhenMissing::fail))
        .config;
}

std::string state_place(const config::Paths& paths) {
    const char* const home = std::getenv("HOME");
    if (home == nullptr || !paths.state_directory.starts_with(std::string(home) + '/'))
        return paths.state_directory;
    struct stat info = {};
    return ::stat(home, &info) == 0 ? paths.state_directory : "";
}

} // namespace ew::cli
