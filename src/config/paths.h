// The locations of execward's own files, according to the XDG Base Directory Specification.
#pragma once

#include <string>

namespace ew::config {

// All paths are absolute, or empty if they cannot be determined.
struct Paths {
    std::string config_directory; // $XDG_CONFIG_HOME/execward, else HOME/.config/execward
    std::string config_file;      // config.toml in it
    std::string rules_directory;  // rules.d in it
    std::string state_directory;  // $XDG_STATE_HOME/execward, else HOME/.local/state/execward
    std::string state_database;   // execward.db in it

    // Uses XDG_CONFIG_HOME, XDG_STATE_HOME and HOME if they are absolute. Without HOME, uses the
    // home directory in the user database, which may be on a network.
    static Paths from_environment();
};

Paths paths_below(const std::string& config_home, const std::string& state_home,
                  const std::string& home);

} // namespace ew::config
