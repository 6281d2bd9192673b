#include "core/environment.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

namespace ew::core {

namespace {

constexpr std::array<const char*, 11> core_names = {"PATH",     "SHELL",   "TMPDIR", "TEMP",
                                                    "TMP",      "HOME",    "LANG",   "LC_ALL",
                                                    "LC_CTYPE", "LOGNAME", "USER"};
constexpr const char* own_variables = "EXECWARD_*";

template <class Patterns>
bool any_matches(const Patterns& patterns, const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const auto& pattern) { return name_matches(pattern, name); });
}

// One of the words of a name, in capitals, of letters and digits.
bool is_secret_word(std::string_view word) {
    constexpr auto words = std::to_array<std::string_view>(
        {"KEY", "KEYS", "PASS", "PWD", "SECRETS", "APIKEY", "ACCESSKEY", "PRIVATEKEY"});
    constexpr auto ends = std::to_array<std::string_view>(
        {"PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN"}); // PGPASSWORD, authToken
    return std::ranges::find(words, word) != words.end() ||
           std::ranges::any_of(ends, [&](std::string_view end) { return word.ends_with(end); });
}

// git(1) reads GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0 and so on together, and fails if one is missing.
bool is_secret(const std::string& name) {
    if (name == "PWD" || name.starts_with("GIT_CONFIG_KEY_")) return false;
    std::string word;
    for (const char c : name + '_') {
        const bool is_small = c >= 'a' && c <= 'z';
        if (is_small || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
            word.push_back(is_small ? static_cast<char>(c - 'a' + 'A') : c);
        } else {
            if (is_secret_word(word)) return true;
            word.clear();
        }
    }
    return false;
}

bool is_inherited(const EnvironmentPolicy& policy, const std::string& name) {
    using Inherit = EnvironmentPolicy::Inherit;
    if (policy.inherit == Inherit::none) return false;
    if (policy.inherit == Inherit::core && !any_matches(core_names, name)) return false;
    if (!policy.ignore_default_excludes && is_secret(name)) return false;
    return !any_matches(policy.exclude, name) && !name_matches(own_variables, name);
}

} // namespace

bool name_matches(const std::string& pattern, const std::string& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_CASEFOLD | FNM_NOESCAPE) == 0;
}

Variables apply(const EnvironmentPolicy& policy, const Variables& inherited) {
    Variables result;
    for (const auto& variable : inherited)
        if (is_inherited(policy, variable.first)) result.push_back(variable);
    result = overlaid(std::move(result), policy.set);
    if (!policy.include_only.empty())
        std::erase_if(result, [&](const auto& variable) {
            return !any_matches(policy.include_only, variable.first);
        });
    return result;
}

Variables overlaid(Variables base, const Variables& overlay) {
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < base.size(); ++i)
        places[base[i].first] = i;
    for (const auto& variable : overlay) {
        const auto [place, is_new] = places.try_emplace(variable.first, base.size());
        if (is_new)
            base.push_back(variable);
        else
            base[place->second].second = variable.second;
    }
    return base;
}

} // namespace ew::core
