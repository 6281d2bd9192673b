// The settings of a session: the configuration, with the client's changes.
#pragma once

#include "config/config.h"
#include "os/known_directory.h"
#include "protocol/process_start.h"
#include "protocol/settings.h"

#include <string>
#include <vector>

namespace ew::server {

struct SessionSettings {
    config::Config config;
    std::vector<std::string> workspace_roots;  // absolute; never empty
    std::vector<std::string> named_roots = {}; // as the client named them; empty: the default
    // The workspace roots and writable roots that existed when they were named.
    std::vector<os::KnownDirectory> known_roots = {};

    // Returns true if a sandbox of this server restricts programs, unless a call asks for less.
    bool is_confining() const;

    // Returns true if a call with these permissions needs a sandbox. Returns false in the modes
    // external_sandbox, where somebody else confines programs, and danger_full_access.
    bool needs_sandbox(core::SandboxPermissions permissions) const;
};

// Members that `changes` leaves out stay as they are.
void apply(SessionSettings& settings, const protocol::Settings& changes);

protocol::Settings to_wire(const SessionSettings& settings);
protocol::EnvPolicy to_wire(const core::EnvironmentPolicy& policy);
core::EnvironmentPolicy policy_of(const protocol::EnvPolicy& policy);

} // namespace ew::server
