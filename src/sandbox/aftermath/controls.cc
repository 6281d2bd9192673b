#include "sandbox/aftermath/controls.h"

#include "sandbox/aftermath/harmless_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ew::sandbox {

namespace {

using Judged = std::optional<ControlDanger>;

constexpr std::size_t largest_settings = 256 << 10; // bytes of a file of settings
constexpr std::size_t most_hooks = 1024;
constexpr std::size_t most_named = 8; // settings or hooks in one reason

std::string listed(const std::vector<std::string>& names) {
    const std::size_t count = std::min(names.size(), most_named);
    std::string text =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(count), ", "));
    if (names.size() > count) text += fmt::format(" and {} more", names.size() - count);
    return text;
}

Judged judge_settings(const Place& git, const std::string& name, const ControlContext& context) {
    const std::optional<std::string> text = git.read(name, largest_settings);
    if (!text) return ControlDanger{"settings that cannot be read", ""};
    const std::vector<std::string> found = dangers_in_settings(*text, context.levels_to_work_tree);
    if (found.empty()) return std::nullopt;
    return ControlDanger{fmt::format("settings: {}", listed(found)), *text};
}

Judged judge_hooks(const Place& git) {
    const std::optional<Place> hooks = git.inner("hooks");
    const auto entries = hooks ? hooks->entries(most_hooks) : std::nullopt;
    if (!entries) return ControlDanger{"hooks that cannot be read", ""};
    std::vector<std::string> names;
    for (const PlaceEntry& entry : *entries)
        if (!entry.name.ends_with(".sample")) names.push_back(entry.name);
    std::ranges::sort(names);
    if (names.empty()) return std::nullopt;
    return ControlDanger{fmt::format("hooks: {}", listed(names)),
                         fmt::format("{}", fmt::join(names, "/"))};
}

// Settings and hooks are read from the directory to which it leads.
Judged judge_commondir(const Place& git, const ControlContext& context) {
    const std::optional<std::string> text = git.read("commondir", longest_line);
    const std::string_view target = without_line_end(text ? *text : std::string_view("?"));
    if (target == "." || (context.is_worktree && target == "../..")) return std::nullopt;
    return ControlDanger{fmt::format("it leads to {}", target), ""};
}

Judged judge_old_remotes(const Place& git, const std::string& name) {
    const std::optional<Place> inside = git.inner(name);
    if (inside && inside->is_empty()) return std::nullopt;
    return ControlDanger{"remotes without settings", ""};
}

} // namespace

std::optional<ControlDanger> judge_control(const Place& git, const std::string& name,
                                           const ControlContext& context) {
    if (name == "config") return judge_settings(git, name, context);
    if (name == "config.worktree") return judge_settings(git, name, {});
    if (name == "hooks") return judge_hooks(git);
    if (name == "commondir") return judge_commondir(git, context);
    if (name != "info") return judge_old_remotes(git, name);
    if (git.kind(name) == EntryKind::directory) return std::nullopt;
    return ControlDanger{"no directory", ""};
}

std::string_view without_line_end(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
        text.remove_suffix(1);
    return text;
}

} // namespace ew::sandbox
