// What the command line of `execward run` asks for: the command, where it runs, and how it is
// confined.
#pragma once

#include "base/result.h"
#include "cli/shared/options.h"
#include "config/config.h"
#include "core/judgement/policy_types.h"
#include "core/network/hosts.h"
#include "protocol/settings.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

class RunArguments {
public:
    // Borrows the arguments.
    explicit RunArguments(const Arguments& arguments) : arguments_(arguments) {}

    std::vector<std::string> command() const { return arguments_.operands(); }

    core::SandboxMode mode() const;

    bool is_confined() const { return mode() != core::SandboxMode::danger_full_access; }

    bool is_quiet() const { return arguments_.has("quiet"); }

    bool is_best_effort() const { return arguments_.has("best-effort"); }

    bool reports_writes() const { return arguments_.has("report-writes"); }

    // Hosts that nothing allows are asked about.
    bool asks_about_hosts() const { return arguments_.value("network").value_or("") == "ask"; }

    // Returns nullopt if the command line says nothing about it.
    std::optional<core::ApprovalPolicy> approval_policy() const;

    // As it was written.
    std::string given_directory() const { return arguments_.value("directory").value_or("."); }

    // Errors: it does not exist.
    Result<std::string> directory() const;

    // The settings of the file hold where they make the sandbox stricter; the rest of the sandbox
    // is that of the command line. Errors: a path that does not exist, or that cannot be judged.
    Result<protocol::ConfinementSettings> confinement(const config::Config& config) const;

    // Of --allow-host. Errors: what is no host.
    Result<std::vector<core::HostRule>> allowed_hosts() const;

private:
    const Arguments& arguments_;
};

// Returns the path without links. Errors: it does not exist; `what` names the option.
Result<std::string> path_of(std::string_view what, const std::string& path);

// The error of a path, by errno.
Error not_there(std::string_view what, const std::string& path);

} // namespace ew::cli
