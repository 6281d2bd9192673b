#include "server/session/environment_choice.h"

#include "core/output/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ew::server {

namespace {

using config::Environment;

// Returns null if no environment has this id.
const Environment* find(const SessionSettings& settings, const std::string& id) {
    const std::vector<Environment>& all = settings.config.environments;
    const auto found =
        std::ranges::find_if(all, [&](const Environment& one) { return one.id == id; });
    return found != all.end() ? &*found : nullptr;
}

bool is_here(const std::string& id) {
    return id.empty() || id == config::local_environment;
}

std::string way_out(const SessionSettings& settings) {
    constexpr std::size_t most_named = 10;
    const std::vector<Environment>& all = settings.config.environments;
    if (all.empty())
        return "there is only \"local\", this machine; others are [[environments]] in config.toml";
    std::string ids = "\"local\"";
    for (std::size_t i = 0; i < std::min(all.size(), most_named); ++i)
        ids += fmt::format(", \"{}\"", all[i].id);
    if (all.size() > most_named) return fmt::format("there are {}, …; see environment/list", ids);
    return fmt::format("there are {}", ids);
}

} // namespace

Result<const Environment*> chosen_environment(const SessionSettings& settings,
                                              const std::optional<std::string>& wanted) {
    const std::string& otherwise = settings.config.default_environment;
    if (wanted ? *wanted == config::local_environment : is_here(otherwise)) return nullptr;
    const std::string& id = wanted ? *wanted : otherwise;
    if (const Environment* const found = find(settings, id)) return found;
    return Error{ErrorKind::invalid_params,
                 fmt::format("environment: there is no environment '{}'", core::shortened(id)),
                 way_out(settings), "environment"};
}

Result<EnvironmentFilter> EnvironmentFilter::of(const SessionSettings& settings,
                                                const std::optional<std::string>& wanted) {
    EnvironmentFilter filter;
    if (!wanted) return filter;
    const Environment* const chosen = TRY(chosen_environment(settings, wanted));
    filter.takes_all_ = false;
    if (chosen != nullptr) filter.only_ = chosen->id;
    return filter;
}

bool EnvironmentFilter::takes(const std::optional<std::string>& environment) const {
    return takes_all_ || environment == only_;
}

protocol::EnvironmentListResult environment_list(const SessionSettings& settings) {
    const std::string& otherwise = settings.config.default_environment;
    protocol::EnvironmentListResult result;
    protocol::EnvironmentEntry& here = result.environments.emplace_back();
    here.id = config::local_environment;
    here.is_default = is_here(otherwise);
    here.state = protocol::EnvironmentEntryState::local;
    if (!settings.workspace_roots.empty()) here.cwd = settings.workspace_roots.front();
    for (const Environment& environment : settings.config.environments) {
        protocol::EnvironmentEntry& entry = result.environments.emplace_back();
        entry.id = environment.id;
        entry.is_default = environment.id == otherwise;
        entry.state = protocol::EnvironmentEntryState::idle;
        entry.program = environment.program;
        entry.args = environment.args;
    }
    return result;
}

} // namespace ew::server
