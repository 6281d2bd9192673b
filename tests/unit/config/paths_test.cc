#include "config/paths.h"
#include "support/testing.h"

using ew::config::Paths;
using ew::config::paths_below;

TEST_SUITE_BEGIN("config/paths");

TEST_CASE("files are below the home directory where nothing else is said") {
    const Paths paths = paths_below("", "", "/home/me");

    CHECK(paths.config_directory == "/home/me/.config/execward");
    CHECK(paths.config_file == "/home/me/.config/execward/config.toml");
    CHECK(paths.rules_directory == "/home/me/.config/execward/rules.d");
    CHECK(paths.state_directory == "/home/me/.local/state/execward");
    CHECK(paths.state_database == "/home/me/.local/state/execward/execward.db");
}

TEST_CASE("XDG directories win over the home directory") {
    const Paths paths = paths_below("/etc/me", "/var/me", "/home/me");

    CHECK(paths.config_file == "/etc/me/execward/config.toml");
    CHECK(paths.state_database == "/var/me/execward/execward.db");
}

TEST_CASE("directories that are not absolute do not count") {
    const Paths paths = paths_below("config", "./state", "/home/me");

    CHECK(paths.config_file == "/home/me/.config/execward/config.toml");
    CHECK(paths.state_database == "/home/me/.local/state/execward/execward.db");
}

TEST_CASE("without any directory there is no place") {
    const Paths paths = paths_below("", "", "home");

    CHECK(paths.config_file.empty());
    CHECK(paths.rules_directory.empty());
    CHECK(paths.state_database.empty());
}

TEST_SUITE_END();
