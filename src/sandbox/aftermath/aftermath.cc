#include "sandbox/aftermath/aftermath.h"

#include "core/output/utf8.h"
#include "sandbox/aftermath/look.h"
#include "sandbox/aftermath/set_aside.h"
#include "sandbox/plan/resolved_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::string_view done = "done";

// What is set aside may have hidden something else: settings that lead to others.
constexpr int most_rounds = 4;

std::string_view path_in(std::string_view key) {
    return key.substr(0, key.find('\n'));
}

// Is it a path that the look after another command will judge?
bool is_judged_by(std::string_view path, const LookPlaces& places) {
    const auto holds = [path](const std::string& place) { return is_at_or_below(path, place); };
    return std::ranges::any_of(places.absent, holds) ||
           std::ranges::find(places.roots, parent_of(path)) != places.roots.end() ||
           std::ranges::any_of(places.repositories, holds, &LookPlaces::Repository::git_directory);
}

// Another command, after which nobody has looked yet, may have made what this start finds: then it
// does not count as having been there.
void forget_what_is_doubtful(LookRecord& record, const LookRecord& other) {
    std::erase_if(record.before, [&other](const std::string& key) {
        return is_judged_by(path_in(key), other.places) && !other.before.contains(key);
    });
    std::erase_if(record.places.nested, [&other](const std::string& work_tree) {
        const auto holds = [&work_tree](const std::string& root) {
            return is_below(work_tree, root);
        };
        return std::ranges::any_of(other.places.roots, holds) &&
               std::ranges::find(other.places.nested, work_tree) == other.places.nested.end();
    });
}

// `look` holds the record.
std::vector<SetAside> set_aside_all(const LookRecord& record, const HeldLook& look) {
    std::vector<SetAside> things = record.set_aside;
    for (int round = 0; round < most_rounds; ++round) {
        bool has_moved = false;
        for (const Danger& danger : dangers_after(record.places, record.before)) {
            const std::string path = joined(danger.holder, danger.name);
            const auto known = std::ranges::find(things, path, &SetAside::path);
            if (known != things.end() && known->moved_to.empty()) continue;
            std::optional<std::string> moved = set_aside(danger.holder, danger.name);
            has_moved = has_moved || moved.has_value();
            things.push_back({path, danger.reason, moved.value_or("")});
            if (moved) note_set_aside(look, things.back());
        }
        if (!has_moved) break;
    }
    return things;
}

} // namespace

Result<HeldLook> look_first(const LookPlaces& places, const std::string& journal) {
    LookRecord record{places, seen_before(places)};
    for (const LookRecord& other : known_looks(journal))
        forget_what_is_doubtful(record, other);
    return keep_look(record, journal);
}

std::vector<SetAside> look_again(HeldLook look) {
    const std::optional<LookRecord> record = read_look(look.lock.get());
    std::vector<SetAside> things;
    if (record) things = set_aside_all(*record, look);
    forget_look(look);
    return things;
}

std::vector<SetAside> sweep_looks(const std::string& journal) {
    std::vector<SetAside> all;
    for (HeldLook& look : abandoned_looks(journal))
        for (SetAside& thing : look_again(std::move(look)))
            all.push_back(std::move(thing));
    return all;
}

std::string described(const SetAside& thing) {
    const std::string path = core::shortened(thing.path);
    if (thing.moved_to.empty())
        return fmt::format("'{}' was left by an earlier command and could not be moved aside: {}",
                           path, thing.danger);
    return fmt::format("'{}' was left by an earlier command and is now '{}': {}", path,
                       core::shortened(thing.moved_to), thing.danger);
}

std::string encode_set_aside(const std::vector<SetAside>& things, std::size_t most) {
    constexpr std::size_t room_for_count = 128;
    std::string text;
    for (std::size_t i = 0; i < things.size(); ++i) {
        SetAside thing = things[i];
        const std::size_t size =
            thing.path.size() + thing.danger.size() + thing.moved_to.size() + 3;
        const bool is_too_much = text.size() + size + room_for_count > most;
        if (is_too_much)
            thing = {"further paths", fmt::format("{} more, moved beside them", things.size() - i),
                     ""};
        append(text, thing);
        if (is_too_much) break;
    }
    text.append(done);
    return text;
}

std::optional<std::vector<SetAside>> decode_set_aside(std::string_view text) {
    std::vector<SetAside> things;
    while (text != done) {
        std::optional<SetAside> thing = take_set_aside(text);
        if (!thing) return std::nullopt;
        things.push_back(std::move(*thing));
    }
    return things;
}

} // namespace ew::sandbox
