#include "sandbox/plan/tool_caches.h"

#include "sandbox/plan/resolved_path.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ew::sandbox {

namespace {

struct ToolCache {
    std::string_view variable;
    std::string_view name;     // below the place of all
    std::string_view usual{};  // below the home directory; empty: the cache can always be made anew
    std::string_view before{}; // what the value begins with
};

constexpr auto tool_caches = std::to_array<ToolCache>({
    {"CCACHE_DIR", "ccache"},
    {"CHROME_CONFIG_HOME", "chrome"}, // Chromium does not start without
    {"GOCACHE", "go-build"},
    {"PIP_CACHE_DIR", "pip"},
    {"SCCACHE_DIR", "sccache"},
    {"UV_CACHE_DIR", "uv"},
    {"YARN_CACHE_FOLDER", "yarn"},
    {"npm_config_cache", "npm"},
    {"CARGO_HOME", "cargo", ".cargo"},
    {"COREPACK_HOME", "corepack", ".cache/node/corepack"},
    {"DENO_DIR", "deno", ".cache/deno"},
    {"DOTNET_CLI_HOME", "dotnet", ".dotnet"},
    {"GOMODCACHE", "go-mod", "go/pkg/mod"},
    {"GRADLE_USER_HOME", "gradle", ".gradle"},
    {"MAVEN_ARGS", "maven", ".m2/repository", "-Dmaven.repo.local="}, // Maven 3.9
    {"NUGET_PACKAGES", "nuget", ".nuget/packages"},
    {"POETRY_CACHE_DIR", "poetry", ".cache/pypoetry"},
    {"PRE_COMMIT_HOME", "pre-commit", ".cache/pre-commit"},
});

const std::string* value_in(const Environment& environment, std::string_view name) {
    const auto found = std::ranges::find(environment, name, &Environment::value_type::first);
    return found == environment.end() ? nullptr : &found->second;
}

} // namespace

Environment cache_variables(const Environment& environment, const Policy& policy,
                            const Plan& plan) {
    const std::string* const home = value_in(environment, "HOME");
    const auto holds_home = [&](const Mount& mount) {
        return mount.kind == Mount::Kind::writable && is_at_or_below(*home, mount.path);
    };
    if (policy.caches == Caches::usual || !policy.has_private_tmp || home == nullptr ||
        std::ranges::any_of(plan.mounts, holds_home))
        return {};
    const std::string_view place =
        policy.caches == Caches::of_session ? "/tmp/.caches" : "/dev/shm/.caches";
    Environment variables;
    for (const ToolCache& cache : tool_caches) {
        const bool is_given = value_in(environment, cache.variable) != nullptr;
        if (is_given || (!cache.usual.empty() && exists(*home + "/" + std::string(cache.usual))))
            continue;
        std::string value(cache.before);
        value.append(place).append("/").append(cache.name);
        variables.emplace_back(cache.variable, std::move(value));
    }
    return variables;
}

} // namespace ew::sandbox
