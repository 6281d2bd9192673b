#include "server/request/extra_permissions.h"

#include "core/text/display.h"
#include "core/text/paths.h"
#include "os/io.h"
#include "sandbox/policy/advice.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace ew::server {

namespace {

constexpr std::size_t most_named = 8; // denials named in an audit row

void sort_once_each(std::vector<std::string>& paths) {
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
}

// Resolves the links of the part that exists. Returns nullopt if the part that does not exist
// contains "..": nobody can say where it leads.
std::optional<std::string> canonical(const std::string& path) {
    std::string there = path;
    std::string rest;
    std::optional<std::string> real = os::real_path(there);
    while (!real && there != "/") {
        const std::string name = there.substr(there.rfind('/') + 1);
        if (name == "..") return std::nullopt;
        if (!name.empty() && name != ".") rest = fmt::format("/{}{}", name, rest);
        there = core::parent_of(there);
        real = os::real_path(there);
    }
    const std::string base = real.value_or("/");
    if (rest.empty()) return base;
    return base == "/" ? rest : base + rest;
}

using Resolver = std::optional<std::string> (*)(const std::string& path);

Result<std::vector<std::string>> resolved(const std::vector<std::string>& wanted,
                                          const std::string& workdir, std::string_view member,
                                          Resolver resolve) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string& path = wanted[i];
        if (path.empty()) continue;
        const bool is_whole = path.find('\0') == std::string::npos;
        std::optional<std::string> real;
        if (is_whole)
            real = resolve(path.front() == '/' ? path : fmt::format("{}/{}", workdir, path));
        const std::string name = fmt::format("additionalPermissions.fileSystem.{}[{}]", member, i);
        if (!real)
            return Error{ErrorKind::invalid_params,
                         fmt::format("{}: expected a path without NUL, and without \"..\" behind "
                                     "what does not exist",
                                     name),
                         "", name};
        paths.push_back(std::move(*real));
    }
    sort_once_each(paths);
    return paths;
}

bool exists(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0;
}

// Returns true if the operation makes, removes or renames its target. That changes the target's
// directory.
bool changes_directory(std::string_view operation) {
    constexpr std::array<std::string_view, 7> starts = {"unlink", "rmdir",   "rename", "mkdir",
                                                        "mknod",  "symlink", "link"};
    return std::any_of(starts.begin(), starts.end(),
                       [&](std::string_view start) { return operation.starts_with(start); });
}

// Returns the path that must be writable. Returns nullopt if no such path may be offered.
std::optional<std::string> place_to_write(const protocol::Denial& denial, const std::string& home) {
    std::string place = denial.target.value_or("");
    if (!place.starts_with('/')) return std::nullopt; // an abstract socket
    const std::string operation = denial.operation.value_or("");
    if (denial.kind == "file" && (changes_directory(operation) || !exists(place)))
        place = sandbox::directory_to_open(operation, place, home);
    while (!sandbox::is_too_wide(place, home) && !exists(place))
        place = core::parent_of(place);
    std::optional<std::string> real = os::real_path(place);
    if (!real || sandbox::is_too_wide(place, home) || sandbox::is_too_wide(*real, home))
        return std::nullopt;
    return real;
}

// Each in one form, so that equal permissions have one key.
Result<std::vector<std::string>> hosts_of(const std::vector<std::string>& wanted) {
    std::vector<std::string> hosts;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        Result<core::HostRule> rule = core::allowed_host(wanted[i]);
        if (!rule) {
            rule.error().path = fmt::format("additionalPermissions.network.hosts[{}]", i);
            return rule.error();
        }
        hosts.push_back(rule->ports.size() == 1 ? core::shown(rule->host, rule->ports.front())
                                                : rule->host);
    }
    sort_once_each(hosts);
    return hosts;
}

Result<sandbox::Additions> additions_by(const protocol::AdditionalPermissions& wanted,
                                        const std::string& workdir, Resolver resolve) {
    sandbox::Additions additions;
    additions.network = wanted.network && wanted.network->enabled;
    if (wanted.network) additions.hosts = TRY(hosts_of(wanted.network->hosts));
    if (!wanted.file_system) return additions;
    additions.read = TRY(resolved(wanted.file_system->read, workdir, "read", resolve));
    additions.write = TRY(resolved(wanted.file_system->write, workdir, "write", resolve));
    return additions;
}

} // namespace

Result<sandbox::Additions> additions_of(const protocol::AdditionalPermissions& wanted,
                                        const std::string& workdir) {
    return additions_by(wanted, workdir, canonical);
}

Result<sandbox::Additions> additions_as_written(const protocol::AdditionalPermissions& wanted,
                                                const std::string& workdir) {
    if (wanted.network && !wanted.network->hosts.empty())
        return Error{ErrorKind::invalid_params,
                     "additionalPermissions.network.hosts: single hosts can be allowed on this "
                     "machine only",
                     "", "additionalPermissions.network.hosts"};
    return additions_by(wanted, workdir, core::path_as_written);
}

std::vector<core::HostRule> rules_of(const sandbox::Additions& additions) {
    std::vector<core::HostRule> rules;
    for (const std::string& host : additions.hosts) {
        Result<core::HostRule> rule = core::allowed_host(host); // it was read before
        if (!rule) continue;
        rule->origin = "additionalPermissions";
        rules.push_back(std::move(*rule));
    }
    return rules;
}

bool are_where_they_were(const sandbox::Additions& additions) {
    const auto is_there = [](const std::string& path) { return canonical(path) == path; };
    return std::all_of(additions.read.begin(), additions.read.end(), is_there) &&
           std::all_of(additions.write.begin(), additions.write.end(), is_there);
}

sandbox::Additions together(sandbox::Additions one, const sandbox::Additions& other) {
    one.read.insert(one.read.end(), other.read.begin(), other.read.end());
    one.write.insert(one.write.end(), other.write.begin(), other.write.end());
    sort_once_each(one.read);
    one.hosts.insert(one.hosts.end(), other.hosts.begin(), other.hosts.end());
    sort_once_each(one.write);
    sort_once_each(one.hosts);
    one.network = one.network || other.network;
    return one;
}

std::optional<sandbox::Additions> widening_for(const std::vector<protocol::Denial>& denials,
                                               const std::string& home) {
    sandbox::Additions widening;
    for (const protocol::Denial& denial : denials) {
        // No permission would have allowed it, or it has been moved and nothing was refused.
        if (!denial.allow || denial.kind == "setAside") continue;
        if (denial.kind == "network") {
            widening.network = true;
        } else if (std::optional<std::string> place = place_to_write(denial, home)) {
            widening.write.push_back(std::move(*place));
        }
    }
    sort_once_each(widening.write);
    if (widening.empty()) return std::nullopt;
    return widening;
}

protocol::Widening to_wire(const sandbox::Additions& additions) {
    return {additions.read, additions.write, additions.network};
}

protocol::AdditionalPermissions permissions_of(const sandbox::Additions& additions) {
    protocol::AdditionalPermissions permissions;
    if (additions.network || !additions.hosts.empty())
        permissions.network = protocol::NetworkPermission{additions.network, additions.hosts};
    if (!additions.read.empty() || !additions.write.empty())
        permissions.file_system = protocol::FileSystemPermission{additions.read, additions.write};
    return permissions;
}

std::string described(const sandbox::Additions& additions) {
    std::vector<std::string> parts;
    for (const std::string& path : additions.write)
        parts.push_back(fmt::format("write {}", core::shell_quoted({path})));
    for (const std::string& path : additions.read)
        parts.push_back(fmt::format("read {}", core::shell_quoted({path})));
    for (const std::string& host : additions.hosts)
        parts.push_back(fmt::format("connect to {}", host));
    if (additions.network) parts.emplace_back("use the network (all of it)");
    return fmt::format("{}", fmt::join(parts, ", "));
}

// The program chooses the path, and a path may read like a sentence of execward. Quotes show where
// it ends. Addresses need no quotes: execward writes them.
std::string described(const protocol::Denial& denial) {
    std::string target = denial.target.value_or("of something");
    if (denial.target && denial.kind != "network") target = core::shell_quoted({target});
    if (denial.kind == "setAside")
        return fmt::format("{} was moved aside ({})", target, denial.rule.value_or(""));
    std::string text = fmt::format("{} {}", denial.operation.value_or(denial.kind), target);
    if (denial.program && !denial.program->empty())
        text += fmt::format(" by {}", core::shell_quoted({*denial.program}));
    if (denial.count > 1) text += fmt::format(", {} times", denial.count);
    if (denial.rule) text += fmt::format(" ({})", *denial.rule);
    return text;
}

std::string summary_of(const std::vector<protocol::Denial>& denials) {
    std::uint64_t count = 0;
    std::vector<std::string> parts;
    for (const protocol::Denial& denial : denials) {
        count += denial.count;
        if (parts.size() < most_named)
            parts.push_back(fmt::format("{} {}", denial.operation.value_or(denial.kind),
                                        denial.target.value_or("of something")));
    }
    const std::size_t left = denials.size() - parts.size();
    const std::string more = left > 0 ? fmt::format("; and {} others", left) : std::string();
    return fmt::format("{} refused: {}{}", count, fmt::join(parts, "; "), more);
}

bool is_directory(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool holds_what_runs_later(std::string_view path) {
    constexpr std::array<std::string_view, 4> names = {".git", ".agents", ".codex", ".execward"};
    while (!path.empty()) {
        const std::string_view name = path.substr(0, path.find('/'));
        if (std::find(names.begin(), names.end(), name) != names.end()) return true;
        path.remove_prefix(std::min(name.size() + 1, path.size()));
    }
    return false;
}

} // namespace ew::server
