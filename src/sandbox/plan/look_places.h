// What is looked at when a command has ended: the places where a program outside, such as git or an
// agent, would execute or obey what the command may have left. See sandbox/aftermath.
#pragma once

#include <string>
#include <vector>

namespace ew::sandbox {

struct LookPlaces {
    struct Repository {
        std::string work_tree = {};
        std::string git_directory = {}; // canonical

        bool operator==(const Repository&) const = default;
    };

    std::vector<std::string> roots = {};  // writable, not for temporary files
    std::vector<std::string> absent = {}; // protected names that did not exist before the start
    std::vector<Repository> repositories = {}; // existed before the start, at most once each
    std::vector<std::string> nested = {};      // all work trees below the roots
    std::vector<std::string> closed =
        {}; // the command can change nothing at or below these; without protected files
    bool knows_all_nested = true; // false: the search was cut short

    bool operator==(const LookPlaces&) const = default;
};

} // namespace ew::sandbox
