// Where commands can run, and where one does: on this machine, or in an environment of config.toml.
#pragma once

#include "base/result.h"
#include "protocol/environment.h"
#include "server/session/session_settings.h"

#include <optional>
#include <string>

namespace ew::server {

// Where a call runs that names `wanted`, or nothing. Null: on this machine. The environment is part
// of the settings. Error: invalid_params, with the path "environment".
Result<const config::Environment*> chosen_environment(const SessionSettings& settings,
                                                      const std::optional<std::string>& wanted);

// Which processes exec/list and exec/terminateAll are about.
class EnvironmentFilter {
public:
    // `wanted` as the request has it: absent for all. Error: as above.
    static Result<EnvironmentFilter> of(const SessionSettings& settings,
                                        const std::optional<std::string>& wanted);

    // `environment` as messages tell it: absent on this machine.
    bool takes(const std::optional<std::string>& environment) const;

private:
    bool takes_all_ = true;
    std::optional<std::string> only_ = {};
};

// This machine first, then all of the settings in their order, idle.
protocol::EnvironmentListResult environment_list(const SessionSettings& settings);

} // namespace ew::server
