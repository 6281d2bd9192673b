// The environment of a call or request: this machine, or an environment of config.toml.
#pragma once

#include "base/result.h"
#include "protocol/environment.h"
#include "server/session/session_settings.h"

#include <optional>
#include <string>

namespace ew::server {

// Returns the environment of a call that names `wanted`, or names none. Returns null for this
// machine. The environment is part of the settings. Error: invalid_params, with the path
// "environment".
Result<const config::Environment*> chosen_environment(const SessionSettings& settings,
                                                      const std::optional<std::string>& wanted);

// The environments whose processes exec/list and exec/terminateAll cover.
class EnvironmentFilter {
public:
    // `wanted` is the member of the request; nullopt selects all environments. Error: as above.
    static Result<EnvironmentFilter> of(const SessionSettings& settings,
                                        const std::optional<std::string>& wanted);

    // `environment` is the member of a message; nullopt is this machine.
    bool takes(const std::optional<std::string>& environment) const;

private:
    bool takes_all_ = true;
    std::optional<std::string> only_ = {};
};

// Lists this machine first, then all environments of the settings in their order, as idle.
protocol::EnvironmentListResult environment_list(const SessionSettings& settings);

} // namespace ew::server
