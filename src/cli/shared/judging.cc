#include "cli/shared/judging.h"

#include "cli/shared/places.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "config/paths.h"
#include "config/project.h"
#include "core/text/display.h"
#include "version.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace ew::cli {

std::string trusted_rules_dir(const std::string& project) {
    std::string rules_dir = config::project_rules_dir(project);
    std::error_code error;
    if (!std::filesystem::exists(rules_dir, error)) return {};
    Result<std::unique_ptr<store::Store>> store = open_store({}, store::Moment::now().wall);
    Result<bool> trusted =
        store ? (*store)->is_project_trusted(project) : Result<bool>(store.error());
    if (!trusted) (void)fail(trusted.error());
    // If it is unknown whether the project is trusted, its rules count: they can only tighten.
    if (!trusted || *trusted) return rules_dir;
    fmt::print(stderr, "execward: {} does not count without execward project trust\n",
               core::visible(rules_dir));
    return {};
}

config::RulePlaces rule_places(const std::string& project_dir) {
    return {config::Paths::from_environment().rules_directory, system_rules_directory, project_dir};
}

os::TrustPlaces trust_places(const config::Config& config, const std::string& directory) {
    os::TrustPlaces places;
    places.path = variable("PATH");
    places.writable = config.confinement.writable_roots;
    places.writable.push_back(directory);
    if (std::string temp = variable("TMPDIR"); !temp.empty())
        places.temporary_directories.push_back(std::move(temp));
    return places;
}

Result<os::TrustPlaces> trust_places_here() {
    const config::Config config = TRY(settings_in_force(config::Paths::from_environment()));
    std::error_code error; // without a working directory, no directory is writable for it
    return trust_places(config, std::filesystem::current_path(error).string());
}

bool TrustMemory::is_trusted(std::string_view word) {
    const auto known = known_.find(word);
    if (known != known_.end()) return known->second;
    const bool is_trusted = programs_.is_trusted(word);
    known_.emplace(word, is_trusted);
    return is_trusted;
}

} // namespace ew::cli
