#include "config/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace ew::config {

namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string home_in_user_database() {
    constexpr std::size_t room = 16384; // more than any reasonable entry of the user database
    std::vector<char> buffer(room);
    passwd entry = {};
    passwd* found = nullptr;
    if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) != 0) return "";
    return found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

bool is_absolute(const std::string& path) {
    return !path.empty() && path.front() == '/';
}

std::string own_directory(const std::string& xdg, const std::string& home, const char* below_home) {
    if (is_absolute(xdg)) return xdg + "/execward";
    if (is_absolute(home)) return home + below_home + "/execward";
    return "";
}

std::string in(const std::string& directory, const char* name) {
    return directory.empty() ? "" : directory + "/" + name;
}

} // namespace

Paths Paths::from_environment() {
    std::string home = variable("HOME");
    if (!is_absolute(home)) home = home_in_user_database();
    return paths_below(variable("XDG_CONFIG_HOME"), variable("XDG_STATE_HOME"), home);
}

Paths paths_below(const std::string& config_home, const std::string& state_home,
                  const std::string& home) {
    Paths paths;
    paths.config_directory = own_directory(config_home, home, "/.config");
    paths.config_file = in(paths.config_directory, "config.toml");
    paths.rules_directory = in(paths.config_directory, "rules.d");
    paths.state_directory = own_directory(state_home, home, "/.local/state");
    paths.state_database = in(paths.state_directory, "execward.db");
    return paths;
}

} // namespace ew::config
