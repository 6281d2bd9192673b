// What a session runs under: the configuration, with what the client has set over it.
#pragma once

#include "config/config.h"
#include "protocol/approval.h"

#include <string>
#include <vector>

namespace ew::server {

struct SessionSettings {
    config::Config config;
    std::vector<std::string> workspace_roots; // absolute; never empty
    std::vector<std::string> named_roots =
        {}; // the same as the client named them; empty: the default

    // Restricts a sandbox of ours what programs may do, unless a call asks for less?
    bool is_confining() const;

    // Does a call with these permissions need a sandbox? It never does while somebody else confines
    // (external_sandbox) or nobody is to (danger_full_access).
    bool needs_sandbox(core::SandboxPermissions permissions) const;
};

// Absent members leave what is.
void apply(SessionSettings& settings, const protocol::Settings& changes);

protocol::Settings to_wire(const SessionSettings& settings);
protocol::EnvPolicy to_wire(const core::EnvironmentPolicy& policy);
core::EnvironmentPolicy policy_of(const protocol::EnvPolicy& policy);

} // namespace ew::server
