// The text of a git configuration file as settings (git-config(1), "CONFIGURATION FILE"). Pure.
// The reader is stricter than git: it accepts only what git cannot read differently, so a line that
// it does not understand counts as dangerous.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

struct GitSetting {
    std::string section = {};                   // in lower case
    std::optional<std::string> subsection = {}; // as written
    std::string key = {};                       // in lower case
    std::optional<std::string> value = {};      // nullopt: "key" alone, which means true

    // "branch.main.remote"
    std::string name() const;

    bool operator==(const GitSetting&) const = default;
};

struct GitSettings {
    std::vector<GitSetting> settings = {};
    std::vector<std::size_t> odd_lines = {}; // numbers of lines that are not understood, from 1
};

GitSettings read_git_settings(std::string_view text);

} // namespace ew::sandbox
