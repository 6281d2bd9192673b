#include "core/exec_environment.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace ew::core {

namespace {

constexpr const char* session_variable = "EXECWARD_SESSION_ID";
constexpr const char* exec_variable = "EXECWARD_EXEC";

Variables fixed_variables() {
    return {{"NO_COLOR", "1"},       {"TERM", "dumb"},      {"LANG", "C.UTF-8"},
            {"LC_CTYPE", "C.UTF-8"}, {"LC_ALL", "C.UTF-8"}, {"COLORTERM", ""},
            {"PAGER", "cat"},        {"GIT_PAGER", "cat"},  {"GH_PAGER", "cat"},
            {exec_variable, "1"}};
}

template <std::size_t size>
bool is_listed(const std::array<std::string_view, size>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_letter_or_digit(char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
}

// Returns true if the value contains no option and no path, and nothing that a shell would evaluate
// or split.
bool is_plain(std::string_view value, std::string_view also) {
    constexpr std::size_t max_size = 64; // nobody reviews the value, so it must be short
    return value.size() <= max_size && !value.starts_with('-') &&
           std::all_of(value.begin(), value.end(), [&](char c) {
               return is_letter_or_digit(c) || also.find(c) != std::string_view::npos;
           });
}

bool is_number(std::string_view value) {
    constexpr std::size_t max_digits = 6;
    return value.size() <= max_digits &&
           std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Variables harmless_settings() {
    // GIT_CONFIG_COUNT settings override those of all files, including the repository's
    // (git-config(1)).
    constexpr std::array<std::pair<const char*, const char*>, 14> git_settings = {{
        {"safe.bareRepository", "explicit"}, // ignore look-alikes of a repository
        {"core.fsmonitor", "false"},
        {"core.hooksPath", "/dev/null"},
        {"core.alternateRefsCommand", "true"}, // runs for --alternate-refs
        {"diff.autoRefreshIndex", "false"},    // git diff would write the index
        // Each of these settings can request signatures, and thereby run the programs below.
        {"log.showSignature", "false"},
        {"log.diffMerges", "separate"}, // "remerge" merges anew, with the drivers of a repository
        {"format.pretty", "medium"},
        {"tag.sort", "refname"},
        {"branch.sort", "refname"},
        // An absolute path, because the caller may control PATH.
        {"gpg.program", "/bin/false"},
        {"gpg.openpgp.program", "/bin/false"},
        {"gpg.x509.program", "/bin/false"},
        {"gpg.ssh.program", "/bin/false"},
    }};
    Variables variables = {
        {"LANG", "C.UTF-8"},
        {"LC_ALL", "C.UTF-8"},
        {"PAGER", "cat"},
        {"GIT_PAGER", "cat"},
        {"GH_PAGER", "cat"},
        {"GIT_OPTIONAL_LOCKS", "0"},
        {"GIT_TERMINAL_PROMPT", "0"},
        {"GIT_NO_LAZY_FETCH", "1"}, // no fetch of objects that a partial clone lacks; for versions
                                    // of git without this variable:
        {"GIT_ALLOW_PROTOCOL", ""}, // no transport is allowed
        {"GIT_CONFIG_COUNT", std::to_string(git_settings.size())},
    };
    for (std::size_t i = 0; i < git_settings.size(); ++i) {
        const std::string number = std::to_string(i);
        variables.emplace_back("GIT_CONFIG_KEY_" + number, git_settings[i].first);
        variables.emplace_back("GIT_CONFIG_VALUE_" + number, git_settings[i].second);
    }
    return variables;
}

} // namespace

ExecEnvironment exec_environment(const EnvironmentPolicy& policy, const Variables& inherited,
                                 std::string_view session_id, const Variables& call_overlay) {
    Variables over = fixed_variables();
    over.insert(over.end(), call_overlay.begin(), call_overlay.end());
    over.emplace_back(exec_variable, "1");
    over.emplace_back(session_variable, session_id);
    ExecEnvironment result;
    result.variables = overlaid(apply(policy, inherited), over);

    std::unordered_set<std::string_view> passed;
    for (const auto& variable : result.variables)
        passed.insert(variable.first);
    for (const auto& variable : inherited)
        if (!passed.contains(variable.first)) result.dropped.push_back(variable.first);
    std::sort(result.dropped.begin(), result.dropped.end());
    result.dropped.erase(std::unique(result.dropped.begin(), result.dropped.end()),
                         result.dropped.end());
    return result;
}

bool is_inert_variable(std::string_view name, std::string_view value) {
    constexpr auto switches = std::to_array<std::string_view>(
        {"CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "FORCE_COLOR", "NO_COLOR", "TERM"});
    constexpr auto numbers = std::to_array<std::string_view>({"COLUMNS", "LINES"});
    constexpr auto locales =
        std::to_array<std::string_view>({"LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES",
                                         "LC_MONETARY", "LC_NUMERIC", "LC_TIME"});
    // These locales use ASCII or UTF-8 and need no file.
    constexpr auto plain_locales =
        std::to_array<std::string_view>({"C", "C.UTF-8", "C.utf8", "POSIX"});
    if (is_listed(switches, name)) return is_plain(value, "+-._");
    if (is_listed(numbers, name)) return is_number(value);
    if (is_listed(locales, name)) return is_listed(plain_locales, value);
    // The name of a time zone is a file below the C library's own directory (tzset(3)), so it may
    // have no dots.
    if (name == "TZ") return is_plain(value, "+-_/") && !value.starts_with('/');
    const Variables fixed = fixed_variables();
    return std::any_of(fixed.begin(), fixed.end(), [&](const auto& variable) {
        return variable.first == name && variable.second == value;
    });
}

bool is_kept_by_hardening(std::string_view name) {
    constexpr auto kept = std::to_array<std::string_view>(
        {"PATH", "HOME", "USER", "LOGNAME", exec_variable, session_variable});
    return is_listed(kept, name);
}

Variables hardened(Variables variables, Hardening hardening) {
    if (hardening == Hardening::none) return variables;
    if (hardening == Hardening::all)
        std::erase_if(variables, [&](const auto& variable) {
            return !is_kept_by_hardening(variable.first) &&
                   !is_inert_variable(variable.first, variable.second);
        });
    return overlaid(std::move(variables), harmless_settings());
}

} // namespace ew::core
