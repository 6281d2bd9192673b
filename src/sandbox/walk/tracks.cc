#include "sandbox/walk/tracks.h"

#include "core/text/paths.h"
#include "sandbox/policy/glob.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::uint32_t any_level = std::numeric_limits<std::uint32_t>::max();

// Directories of a .git in which git keeps what is its own: no work trees, and repositories only in
// modules, which git_pins() finds.
bool is_of_git_itself(std::string_view name) {
    constexpr std::array<std::string_view, 5> names = {"objects", "refs", "logs", "modules", "lfs"};
    return std::ranges::find(names, name) != names.end();
}

void sort_and_unite(std::vector<std::string>& paths) {
    std::ranges::sort(paths);
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
}

bool has(const std::vector<std::string>& sorted, std::string_view path) {
    return std::binary_search(sorted.begin(), sorted.end(), path, std::less<>());
}

} // namespace

Tracks::Tracks(const WalkOrder& order)
    : order_(order), starts_(order.roots), closed_(order.closed), all_(1) {
    for (const WalkPattern& pattern : order.patterns) {
        starts_.push_back(pattern.base);
        std::vector<NamePart>& parts = parts_.emplace_back();
        for (const std::string& part : pattern.parts)
            parts.push_back(part_of(part));
    }
    sort_and_unite(starts_);
    sort_and_unite(closed_);
    for (const std::string& root : order.roots)
        if (std::ranges::none_of(order.roots, [&root](const std::string& other) {
                return core::is_below(root, other);
            }))
            outermost_.push_back(root);
    sort_and_unite(outermost_);
    numbers_.emplace(Key(), no_track);
}

bool Tracks::is_start(std::string_view path) const {
    return has(starts_, path);
}

bool Tracks::is_outermost_root(std::string_view path) const {
    return has(outermost_, path);
}

std::string Tracks::below_start(const std::string& path, std::size_t levels) const {
    std::size_t end = 0;
    for (const std::string& start : starts_)
        if (start != "/" && core::is_at_or_below(path, start)) end = std::max(end, start.size());
    return core::cut_below(path, end, levels);
}

Tracks::Track Tracks::at_start(const std::string& path) {
    Key key;
    key.seeks_repositories = seeks_at(path);
    key.is_in_git = path.ends_with("/.git");
    for (std::uint32_t pattern = 0; pattern < order_.patterns.size(); ++pattern) {
        const std::string& base = order_.patterns[pattern].base;
        if (!core::is_at_or_below(path, base)) continue;
        std::vector<Place> places = first_places(pattern);
        const std::string_view rest = std::string_view(path).substr(base == "/" ? 0 : base.size());
        for (std::size_t from = 1; from < rest.size();) {
            const std::size_t to = std::min(rest.find('/', from), rest.size());
            places = places_below(places, rest.substr(from, to - from));
            from = to + 1;
        }
        key.places.insert(key.places.end(), places.begin(), places.end());
    }
    return number_of(std::move(key));
}

Tracks::Track Tracks::below(Track track, std::string_view directory, std::string_view name) {
    const Key& above = all_[track].key;
    Key key;
    key.seeks_repositories = above.seeks_repositories &&
                             !(above.is_in_git && is_of_git_itself(name)) &&
                             (closed_.empty() || !has(closed_, core::joined(directory, name)));
    key.is_in_git = name == ".git";
    if (!above.places.empty()) key.places = places_below(above.places, name);
    if (!key.seeks_repositories && key.places.empty()) return no_track;
    return number_of(std::move(key));
}

std::vector<std::uint32_t> Tracks::patterns_at(Track track) const {
    std::vector<std::uint32_t> result;
    for (const Place& place : all_[track].key.places)
        if (result.empty() || result.back() != place.pattern) result.push_back(place.pattern);
    return result;
}

Tracks::NamePart Tracks::part_of(const std::string& text) {
    const auto is_plain = [](std::string_view rest) {
        return rest.find_first_of("*?[\\") == std::string_view::npos;
    };
    if (is_plain(text)) return {text, NamePart::Kind::exact};
    if (text.starts_with('*') && is_plain(std::string_view(text).substr(1)))
        return {text.substr(1), NamePart::Kind::ending};
    return {text, NamePart::Kind::general};
}

bool Tracks::is_match(const NamePart& part, std::string_view name) {
    switch (part.kind) {
    case NamePart::Kind::exact: return name == part.text;
    case NamePart::Kind::ending: return name.ends_with(part.text);
    case NamePart::Kind::general: return matches(part.text, name);
    }
    return true;
}

Tracks::Track Tracks::number_of(Key key) {
    const auto known = numbers_.find(key);
    if (known != numbers_.end()) return known->second;
    const auto number = static_cast<Track>(all_.size());
    Entry entry;
    for (const Place& place : key.places) {
        const std::vector<NamePart>& parts = parts_[place.pattern];
        const bool is_last = place.part + 1 == parts.size();
        const bool is_told = !entry.ends.empty() && entry.ends.back().pattern == place.pattern;
        if (is_last && !is_told) entry.ends.push_back({place.pattern, &parts[place.part]});
    }
    numbers_.emplace(key, number);
    entry.key = std::move(key);
    all_.push_back(std::move(entry));
    return number;
}

std::vector<Tracks::Place> Tracks::first_places(std::uint32_t pattern) const {
    const WalkPattern& wanted = order_.patterns[pattern];
    const std::uint64_t depth = wanted.depth.value_or(any_level);
    const auto left = static_cast<std::uint32_t>(std::min<std::uint64_t>(depth, any_level));
    std::vector<Place> places = {{pattern, 0, left}};
    // "**" may match no component.
    if (wanted.parts.size() > 1 && wanted.parts.front() == any_depth)
        places.push_back({pattern, 1, left});
    return places;
}

// Adds where the places of one pattern lead in a directory with that name. A pattern is not
// followed below what it matches.
void Tracks::add_places_below(std::span<const Place> of_one, std::string_view name,
                              std::vector<Place>& result) const {
    const std::uint32_t pattern = of_one.front().pattern;
    const std::vector<std::string>& texts = order_.patterns[pattern].parts;
    const std::size_t before = result.size();
    for (const Place& from : of_one) {
        const bool is_any = texts[from.part] == any_depth;
        if (!is_any && !is_match(parts_[pattern][from.part], name)) continue;
        if (from.part + 1 == texts.size()) return result.resize(before);
        if (from.left == 0) continue;
        const std::uint32_t left = from.left == any_level ? any_level : from.left - 1;
        const std::uint32_t next = is_any ? from.part : from.part + 1;
        result.push_back({pattern, next, left});
        if (texts[next] == any_depth && next + 1 < texts.size())
            result.push_back({pattern, next + 1, left});
    }
    const auto own = result.begin() + static_cast<std::ptrdiff_t>(before);
    std::sort(own, result.end());
    result.erase(std::unique(own, result.end()), result.end());
}

std::vector<Tracks::Place> Tracks::places_below(const std::vector<Place>& places,
                                                std::string_view name) const {
    std::vector<Place> result;
    for (auto from = places.begin(); from != places.end();) {
        const auto to = std::find_if(from, places.end(), [&from](const Place& place) {
            return place.pattern != from->pattern;
        });
        add_places_below({from, to}, name, result);
        from = to;
    }
    return result;
}

bool Tracks::seeks_at(std::string_view path) const {
    for (std::string here(path);; here = core::parent_of(here)) {
        if (std::ranges::find(order_.roots, here) != order_.roots.end()) return true;
        if (here == "/" || has(closed_, here)) return false;
    }
}

} // namespace ew::sandbox
