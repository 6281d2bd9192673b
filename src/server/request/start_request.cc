#include "server/request/start_request.h"

#include "core/environment.h"
#include "server/session/session_settings.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::server {

namespace {

void add_limit(std::vector<os::ChildLimit>& limits, int resource,
               const std::optional<std::uint64_t>& value) {
    if (value) limits.push_back({resource, {*value, *value}});
}

std::vector<os::ChildLimit> limits_of(const std::optional<protocol::Limits>& limits) {
    std::vector<os::ChildLimit> result;
    if (!limits) return result;
    // SIGXCPU at the limit shows the cause. A program that ignores it is killed a second later
    // (setrlimit(2)).
    if (limits->cpu_seconds)
        result.push_back({RLIMIT_CPU, {*limits->cpu_seconds, *limits->cpu_seconds + 1}});
    add_limit(result, RLIMIT_AS, limits->address_space_bytes);
    add_limit(result, RLIMIT_FSIZE, limits->file_size_bytes);
    add_limit(result, RLIMIT_NOFILE, limits->open_files);
    add_limit(result, RLIMIT_NPROC, limits->processes);
    add_limit(result, RLIMIT_CORE, limits->core_bytes);
    return result;
}

} // namespace

core::Variables own_environment() {
    core::Variables variables;
    for (char** entry = ::environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

os::WindowSize window_size(const protocol::WindowSize& size) {
    return {static_cast<std::uint16_t>(size.rows), static_cast<std::uint16_t>(size.cols)};
}

os::SpawnRequest spawn_request(const protocol::StartParams& params) {
    os::SpawnRequest request;
    request.argv = params.argv;
    request.arg0 = params.arg0;
    request.directory = params.cwd.native;
    if (params.tty) request.terminal = window_size(params.size.value_or(protocol::WindowSize{}));
    request.pipe_stdin = params.pipe_stdin;
    core::Variables inherited;
    if (params.env_policy)
        inherited = core::apply(policy_of(*params.env_policy), own_environment());
    request.environment = core::overlaid(std::move(inherited), params.env);
    request.limits = limits_of(params.limits);
    return request;
}

void limit_open_files(os::SpawnRequest& request, const rlimit& limit) {
    const auto is_about_files = [](const os::ChildLimit& given) {
        return given.resource == RLIMIT_NOFILE;
    };
    if (std::ranges::none_of(request.limits, is_about_files))
        request.limits.push_back({RLIMIT_NOFILE, limit});
}

void mark(os::SpawnRequest& request, std::optional<std::uint64_t> cookie) {
    if (cookie) request.limits.push_back({RLIMIT_RTTIME, {*cookie, *cookie}});
}

} // namespace ew::server
