#include "cli/run/run_arguments.h"

#include "config/settings.h"
#include "core/text/patterns.h"
#include "os/io.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace ew::cli {

namespace {

// Keeps symbolic links in the path, so that the policy can judge them: a program in the sandbox may
// have made them. Fails if the path goes back ("..") behind a link.
Result<std::string> unresolved(std::string_view what, const std::string& path) {
    const std::string real = TRY(path_of(what, path));
    std::error_code error;
    std::string absolute = std::filesystem::absolute(path, error).lexically_normal().string();
    if (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
    if (error || os::real_path(absolute) != real)
        return Error{
            ErrorKind::invalid_params,
            fmt::format("{} '{}': it goes back behind a link; name '{}'", what, path, real)};
    return absolute;
}

// Keeps the meaning of the path: it may not exist, or may be a pattern.
Result<std::string> denied_at(const std::string& path) {
    if (std::optional<std::string> real = os::real_path(path))
        return core::is_pattern(*real) ? core::pattern_for(*real) : std::move(*real);
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (path.empty() || error) return Error{ErrorKind::invalid_params, "--deny-read needs a path"};
    return absolute.lexically_normal().string();
}

} // namespace

Error not_there(std::string_view what, const std::string& path) {
    return {ErrorKind::invalid_params,
            fmt::format("{} '{}': {}", what, path, std::strerror(errno))};
}

Result<std::string> path_of(std::string_view what, const std::string& path) {
    std::optional<std::string> real = os::real_path(path);
    if (!real) return not_there(what, path);
    return std::move(*real);
}

core::SandboxMode RunArguments::mode() const {
    return config::value_named<core::SandboxMode>(arguments_.value("sandbox").value_or(""))
        .value_or(core::SandboxMode::workspace_write);
}

std::optional<core::ApprovalPolicy> RunArguments::approval_policy() const {
    return config::value_named<core::ApprovalPolicy>(
        arguments_.value("approval-policy").value_or(""));
}

Result<std::string> RunArguments::directory() const {
    return path_of("--directory", given_directory());
}

Result<protocol::ConfinementSettings>
RunArguments::confinement(const config::Config& config) const {
    protocol::ConfinementSettings confinement;
    std::vector<protocol::Path>& writable = confinement.writable_roots.emplace();
    for (const std::string& path : arguments_.values("writable"))
        writable.push_back({TRY(unresolved("--writable", path))});
    std::vector<std::string>& denied = confinement.deny_read.emplace(config.confinement.deny_read);
    for (const std::string& path : arguments_.values("deny-read"))
        denied.push_back(TRY(denied_at(path)));
    std::vector<std::string>& read_only =
        confinement.read_only.emplace(config.confinement.read_only);
    for (const std::string& path : arguments_.values("read-only"))
        read_only.push_back(path.starts_with("./") ? path.substr(2) : path);
    const std::string network = arguments_.value("network").value_or("off");
    confinement.network_access = network == "on" || network.empty();
    confinement.network_by_host =
        network == "hosts" || network == "ask" || arguments_.has("allow-host");
    confinement.network_observe = network == "observe";
    confinement.shared_tmp = arguments_.has("shared-tmp");
    confinement.exclude_slash_tmp = confinement.exclude_tmpdir_env_var =
        arguments_.has("exclude-tmp");
    confinement.report_writes = reports_writes();
    confinement.enforcement =
        is_best_effort() ? protocol::Enforcement::best_effort : protocol::Enforcement::require;
    return confinement;
}

Result<std::vector<core::HostRule>> RunArguments::allowed_hosts() const {
    std::vector<core::HostRule> rules;
    for (const std::string& text : arguments_.values("allow-host"))
        rules.push_back(TRY(core::allowed_host(text)));
    return rules;
}

} // namespace ew::cli
