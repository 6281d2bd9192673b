#include "sandbox/plan/tool_caches.h"

#include <sys/stat.h>

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

bool exists(const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0;
}

} // namespace

std::vector<std::pair<std::string, std::string>> cache_variables(const std::string& home,
                                                                 const std::string& place) {
    std::vector<std::pair<std::string, std::string>> variables;
    for (const ToolCache& cache : tool_caches) {
        if (!cache.usual.empty() && exists(home + "/" + std::string(cache.usual))) continue;
        std::string value(cache.before);
        value.append(place).append("/").append(cache.name);
        variables.emplace_back(cache.variable, std::move(value));
    }
    return variables;
}

} // namespace ew::sandbox
