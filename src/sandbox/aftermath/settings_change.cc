#include "sandbox/aftermath/settings_change.h"

#include "sandbox/aftermath/git_settings.h"
#include "sandbox/aftermath/harmless_settings.h"
#include "sandbox/aftermath/look.h"
#include "sandbox/aftermath/place.h"
#include "sandbox/plan/resolved_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ew::sandbox {

namespace {

using Outcome = SettingsChange::Outcome;

constexpr std::string_view lock_end = ".lock";
constexpr std::size_t largest = 256 << 10; // bytes of a file of settings
constexpr std::size_t most_named = 8;      // settings in one reason

constexpr std::array<std::string_view, 2> names = {"config", "config.worktree"};

std::string_view last_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// These would make git read other files, or the same ones in another way.
bool is_about_format(const GitSetting& setting) {
    if (setting.section == "extensions") return true;
    return setting.section == "core" &&
           (setting.key == "repositoryformatversion" || setting.key == "bare");
}

// Takes away one equal setting for each that `others` has.
std::vector<GitSetting> without(std::vector<GitSetting> settings,
                                const std::vector<GitSetting>& others) {
    for (const GitSetting& other : others)
        if (const auto at = std::ranges::find(settings, other); at != settings.end())
            settings.erase(at);
    return settings;
}

bool is_changeable(const LookRecord& record, const std::string& path) {
    const auto is_closed = [&path](const std::string& closed) {
        return is_at_or_below(path, closed);
    };
    return std::ranges::none_of(record.places.closed, is_closed) &&
           record.before.contains(protected_key(path));
}

bool write_in_place(const Place& git, const std::string& name, std::string_view text) {
    const UniqueFd file(
        ::openat(git.fd(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    return ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
           ::ftruncate(file.get(), static_cast<off_t>(text.size())) == 0;
}

SettingsChange change_in(const Place& git, const std::string& name) {
    const std::string lock = name + std::string(lock_end);
    const std::optional<std::string> before = git.read(name, largest);
    const std::optional<std::string> after = git.read(lock, largest);
    if (!before || !after) return {};
    const std::vector<std::string> dangers = dangers_in_change(*before, *after);
    if (!dangers.empty())
        return {Outcome::refused, fmt::format("settings: {}", fmt::join(dangers, ", "))};
    if (!write_in_place(git, name, *after)) return {};
    (void)::unlinkat(git.fd(), lock.c_str(), 0); // if it fails, git reports a lock
    return {Outcome::made, {}};
}

} // namespace

bool may_be_settings_change(std::string_view from, std::string_view to) {
    if (std::ranges::find(names, last_of(to)) == names.end()) return false;
    return from.size() == to.size() + lock_end.size() && from.starts_with(to) &&
           from.ends_with(lock_end);
}

SettingsChange change_settings(const LookRecord& record, const std::string& to) {
    const std::string directory = parent_of(to);
    const std::string name(last_of(to));
    const bool is_known = std::ranges::find(record.places.repositories, directory,
                                            &LookPlaces::Repository::git_directory) !=
                          record.places.repositories.end();
    if (!is_known || std::ranges::find(names, name) == names.end()) return {};
    if (!is_changeable(record, to)) return {};
    const std::optional<Place> git = Place::at(directory, Place::Rights::as_they_are);
    return git ? change_in(*git, name) : SettingsChange();
}

std::string encode_change(const SettingsChange& change) {
    return static_cast<char>('0' + static_cast<int>(change.outcome)) + change.reason;
}

SettingsChange decode_change(std::string_view text) {
    if (text == "1") return {Outcome::made, {}};
    if (text.starts_with('2')) return {Outcome::refused, std::string(text.substr(1))};
    return {};
}

std::vector<std::string> dangers_in_change(std::string_view before, std::string_view after) {
    const GitSettings old_ones = read_git_settings(before);
    const GitSettings new_ones = read_git_settings(after);
    std::vector<std::string> dangers;
    for (const std::size_t line : new_ones.odd_lines)
        dangers.push_back(fmt::format("line {}", line));
    if (dangers.empty() && !old_ones.odd_lines.empty())
        dangers.push_back(fmt::format("line {} of the present file", old_ones.odd_lines.front()));
    for (const auto& [some, others] :
         {std::pair(&old_ones, &new_ones), std::pair(&new_ones, &old_ones)})
        for (const GitSetting& setting : without(some->settings, others->settings)) {
            const bool is_fine = is_harmless(setting, {}) && !is_about_format(setting);
            std::string named = setting.name();
            if (is_fine || std::ranges::find(dangers, named) != dangers.end()) continue;
            dangers.push_back(std::move(named));
        }
    if (dangers.size() > most_named) dangers.resize(most_named);
    return dangers;
}

} // namespace ew::sandbox
