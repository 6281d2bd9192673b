// What judges a command outside of a server: the rules in force, and the programs that are trusted.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "config/rule_files.h"
#include "os/programs.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace ew::cli {

// Returns the directory with the rules of the project. Returns an empty text if they do not count;
// if there are any, a line on stderr says why.
std::string trusted_rules_dir(const std::string& project);

// The user's rules, the system's, and those in `project_dir`, which may be empty.
config::RulePlaces rule_places(const std::string& project_dir);

// The places that decide which programs count as the system's, for commands in this directory.
os::TrustPlaces trust_places(const config::Config& config, const std::string& directory);

// For the working directory, with the settings in force. Errors: those of settings_in_force().
Result<os::TrustPlaces> trust_places_here();

// The same decision for many commands: each word is looked up once.
class TrustMemory {
public:
    explicit TrustMemory(os::TrustPlaces places) : programs_(std::move(places)) {}

    bool is_trusted(std::string_view word);

private:
    os::TrustedPrograms programs_;
    std::map<std::string, bool, std::less<>> known_;
};

} // namespace ew::cli
