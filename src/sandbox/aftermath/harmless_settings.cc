#include "sandbox/aftermath/harmless_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace ew::sandbox {

namespace {

enum class Value : std::uint8_t {
    any,     // text that git only shows or sends
    boolean, // true, false, and git's other words for them
    word,    // letters, digits and - _ . : = , + / without a leading dash
    url,     // see is_plain_url(), or the name of a remote
    update,  // of a submodule: no command
};

enum class Subsection : std::uint8_t { none, some };

struct Harmless {
    std::string_view section;
    Subsection subsection;
    std::string_view key;
    Value value;
};

constexpr auto harmless = std::to_array<Harmless>({
    {"branch", Subsection::some, "description", Value::any},
    {"branch", Subsection::some, "gh-merge-base", Value::word},
    {"branch", Subsection::some, "merge", Value::word},
    {"branch", Subsection::some, "pushremote", Value::url},
    {"branch", Subsection::some, "rebase", Value::word},
    {"branch", Subsection::some, "remote", Value::url},
    {"branch", Subsection::some, "vscode-merge-base", Value::word},
    {"color", Subsection::none, "ui", Value::word},
    {"commit", Subsection::none, "gpgsign", Value::boolean},
    {"core", Subsection::none, "abbrev", Value::word},
    {"core", Subsection::none, "autocrlf", Value::word},
    {"core", Subsection::none, "bare", Value::boolean},
    {"core", Subsection::none, "bigfilethreshold", Value::word},
    {"core", Subsection::none, "commitgraph", Value::boolean},
    {"core", Subsection::none, "compression", Value::word},
    {"core", Subsection::none, "eol", Value::word},
    {"core", Subsection::none, "filemode", Value::boolean},
    {"core", Subsection::none, "ignorecase", Value::boolean},
    {"core", Subsection::none, "logallrefupdates", Value::word},
    {"core", Subsection::none, "multipackindex", Value::boolean},
    {"core", Subsection::none, "precomposeunicode", Value::boolean},
    {"core", Subsection::none, "preloadindex", Value::boolean},
    {"core", Subsection::none, "protecthfs", Value::boolean},
    {"core", Subsection::none, "protectntfs", Value::boolean},
    {"core", Subsection::none, "quotepath", Value::boolean},
    {"core", Subsection::none, "repositoryformatversion", Value::word},
    {"core", Subsection::none, "safecrlf", Value::word},
    {"core", Subsection::none, "sharedrepository", Value::word},
    {"core", Subsection::none, "sparsecheckout", Value::boolean},
    {"core", Subsection::none, "sparsecheckoutcone", Value::boolean},
    {"core", Subsection::none, "symlinks", Value::boolean},
    {"core", Subsection::none, "untrackedcache", Value::word},
    {"extensions", Subsection::none, "compatobjectformat", Value::word},
    {"extensions", Subsection::none, "objectformat", Value::word},
    {"extensions", Subsection::none, "partialclone", Value::word},
    {"extensions", Subsection::none, "preciousobjects", Value::boolean},
    {"extensions", Subsection::none, "refstorage", Value::word},
    {"extensions", Subsection::none, "relativeworktrees", Value::boolean},
    {"extensions", Subsection::none, "worktreeconfig", Value::boolean},
    {"fetch", Subsection::none, "prune", Value::boolean},
    {"gc", Subsection::none, "auto", Value::word},
    {"gc", Subsection::none, "autodetach", Value::boolean},
    {"index", Subsection::none, "skiphash", Value::boolean},
    {"index", Subsection::none, "sparse", Value::boolean},
    {"index", Subsection::none, "threads", Value::word},
    {"index", Subsection::none, "version", Value::word},
    {"init", Subsection::none, "defaultbranch", Value::word},
    {"lfs", Subsection::none, "repositoryformatversion", Value::word},
    {"maintenance", Subsection::none, "auto", Value::boolean},
    {"maintenance", Subsection::none, "strategy", Value::word},
    {"merge", Subsection::none, "conflictstyle", Value::word},
    {"pull", Subsection::none, "ff", Value::word},
    {"pull", Subsection::none, "rebase", Value::word},
    {"push", Subsection::none, "autosetupremote", Value::boolean},
    {"push", Subsection::none, "default", Value::word},
    {"remote", Subsection::none, "pushdefault", Value::url},
    {"remote", Subsection::some, "fetch", Value::any},
    {"remote", Subsection::some, "followremotehead", Value::word},
    {"remote", Subsection::some, "gh-resolved", Value::word},
    {"remote", Subsection::some, "mirror", Value::boolean},
    {"remote", Subsection::some, "partialclonefilter", Value::word},
    {"remote", Subsection::some, "promisor", Value::boolean},
    {"remote", Subsection::some, "prune", Value::boolean},
    {"remote", Subsection::some, "push", Value::any},
    {"remote", Subsection::some, "pushurl", Value::url},
    {"remote", Subsection::some, "tagopt", Value::any},
    {"remote", Subsection::some, "url", Value::url},
    {"rerere", Subsection::none, "enabled", Value::boolean},
    {"status", Subsection::none, "showuntrackedfiles", Value::word},
    {"submodule", Subsection::none, "active", Value::any},
    {"submodule", Subsection::some, "active", Value::boolean},
    {"submodule", Subsection::some, "branch", Value::word},
    {"submodule", Subsection::some, "ignore", Value::word},
    {"submodule", Subsection::some, "update", Value::update},
    {"submodule", Subsection::some, "url", Value::url},
    {"user", Subsection::none, "email", Value::any},
    {"user", Subsection::none, "name", Value::any},
    {"user", Subsection::none, "signingkey", Value::any},
    {"user", Subsection::none, "useconfigonly", Value::boolean},
});

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view further) {
    return std::ranges::all_of(text, [further](char c) {
        return is_alphanumeric(c) || further.find(c) != std::string_view::npos;
    });
}

bool is_word(std::string_view text) {
    return !text.starts_with('-') && consists_of(text, "-_.:=,+/@");
}

bool is_boolean(std::string_view text) {
    constexpr std::array<std::string_view, 9> words = {"true", "false", "yes", "no", "on",
                                                       "off",  "1",     "0",   ""};
    return std::ranges::find(words, text) != words.end();
}

bool fits(Value kind, const std::string& value) {
    switch (kind) {
    case Value::any: return true;
    case Value::boolean: return is_boolean(value);
    case Value::word: return is_word(value);
    case Value::url: return is_plain_url(value);
    case Value::update:
        return value == "checkout" || value == "rebase" || value == "merge" || value == "none";
    }
    return false;
}

bool is_in_work_tree(std::string_view path, std::size_t levels) {
    constexpr std::string_view up = "../";
    std::size_t ups = 0;
    for (; path.starts_with(up); ++ups)
        path.remove_prefix(up.size());
    if (ups != levels || path.empty()) return false;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, end);
        path.remove_prefix(std::min(end + 1, path.size()));
        constexpr std::array<std::string_view, 4> odd = {"", ".", "..", ".git"};
        if (std::ranges::find(odd, part) != odd.end()) return false;
    }
    return true;
}

} // namespace

bool is_harmless(const GitSetting& setting, std::optional<std::size_t> levels) {
    if (setting.section == "core" && !setting.subsection && setting.key == "worktree")
        return levels && setting.value && is_in_work_tree(*setting.value, *levels);
    const auto known = std::ranges::find_if(harmless, [&setting](const Harmless& candidate) {
        return candidate.section == setting.section && candidate.key == setting.key &&
               (candidate.subsection == Subsection::some) == setting.subsection.has_value();
    });
    if (known == harmless.end()) return false;
    return fits(known->value, setting.value.value_or("true"));
}

std::vector<std::string> dangers_in_settings(std::string_view text,
                                             std::optional<std::size_t> levels_to_work_tree) {
    std::vector<std::string> dangers;
    const GitSettings read = read_git_settings(text);
    for (const GitSetting& setting : read.settings) {
        if (is_harmless(setting, levels_to_work_tree)) continue;
        std::string name = setting.name();
        if (std::ranges::find(dangers, name) == dangers.end()) dangers.push_back(std::move(name));
    }
    for (const std::size_t line : read.odd_lines)
        dangers.push_back(fmt::format("line {}", line));
    return dangers;
}

bool is_plain_url(std::string_view url) {
    constexpr std::array<std::string_view, 5> schemes = {"https://", "http://", "git://", "ssh://",
                                                         "file://"};
    constexpr std::string_view plain = "-_.~%+@/:?=&#,()[]!*$' ";
    const bool is_printable = std::ranges::all_of(url, [plain](char c) {
        return is_alphanumeric(c) || plain.find(c) != std::string_view::npos ||
               static_cast<unsigned char>(c) >= 0x80;
    });
    if (!is_printable || url.empty() || url.starts_with('-')) return false;
    for (const std::string_view scheme : schemes) {
        if (!url.starts_with(scheme)) continue;
        url.remove_prefix(scheme.size());
        const std::string_view authority = url.substr(0, url.find('/'));
        const std::string_view host = authority.substr(authority.rfind('@') + 1);
        return !authority.starts_with('-') && !host.starts_with('-');
    }
    const std::size_t colon = url.find(':');
    if (colon == std::string_view::npos || url.find('/') < colon) return true; // a path or a name
    // "user@host:path". A second colon after the first would name a helper: "ext::…".
    const std::string_view authority = url.substr(0, colon);
    const std::string_view host = authority.substr(authority.rfind('@') + 1);
    const std::string_view path = url.substr(colon + 1);
    return !host.empty() && !host.starts_with('-') && consists_of(authority, "-_.~+@") &&
           !path.starts_with(':') && !path.starts_with("//");
}

} // namespace ew::sandbox
