#include "sandbox/plan/protection.h"

#include "sandbox/plan/plan.h"
#include "sandbox/plan/protective_rules.h"
#include "sandbox/plan/repositories.h"
#include "sandbox/plan/workspace_search.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::sandbox {

namespace {

using State = PathRule::State;
using Kind = ResolvedPath::Kind;

constexpr std::array<std::string_view, 3> agent_places = {".agents", ".codex", ".execward"};

constexpr std::size_t kept_for_closing = 448; // mounts: for a whole .git and its directories
constexpr std::size_t most_unreadable = 200;

// Reasons to close a directory.
constexpr std::string_view cannot_look =
    "cannot be read and searched, so what must be protected in it cannot be found";
constexpr std::string_view has_links =
    "has a link in it that leads git to hooks, settings or a repository, and that could be "
    "replaced: put what the link leads to in its place";
constexpr std::string_view is_called_repository =
    "is called a git directory by a file .git or commondir, and is none";
constexpr std::string_view has_too_much = "has too much in it to protect each part";
constexpr std::string_view has_too_many_unreadable =
    "has too many directories in it that cannot be read and searched";
constexpr std::string_view has_too_many_directories =
    "has too many directories in it to search all of them for repositories";
constexpr std::string_view is_not_searched_yet =
    "has directories in it that could not be searched for repositories in time";
constexpr std::string_view has_too_many_repositories =
    "has too many repositories in it to protect each of them";

constexpr std::string_view is_link_itself =
    "is a link: what it leads to is protected, the link is not";

bool is_accessible(const std::string& path, int how) {
    return ::faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0;
}

// A missing path gets a placeholder (held) or no protection (left).
enum class Missing : std::uint8_t { held, left };

class Protection {
public:
    Protection(PathRules& rules, const Policy& policy, const Context& context)
        : rules_(rules),
          places_(rules),
          policy_(policy),
          looks_afterwards_(context.looks_afterwards),
          home_(context.home.starts_with('/') ? locate(context.home).path : "") {}

    void protect() {
        std::vector<std::pair<std::string, Missing>> roots;
        for (const auto& [path, rule] : rules_.at) {
            if (rule.state != State::write || rule.kind != Kind::directory) continue;
            if (path == "/") {
                for (const std::string& root : rules_.workspace)
                    if (rules_.covering(root) == State::write)
                        roots.emplace_back(root, Missing::held);
                continue;
            }
            roots.emplace_back(path, rule.is_temporary ? Missing::left : Missing::held);
        }
        std::vector<std::string> kept;
        for (const auto& [path, missing] : roots)
            if (missing == Missing::held) kept.push_back(path);
        if (looks_afterwards_) rules_.look.roots = kept;
        places_.set_kept(std::move(kept));
        for (const auto& [path, missing] : roots)
            protect_root(path, missing);
        protect_named(roots);
        places_.begin_search();
        for (const auto& [path, missing] : roots)
            search(path);
    }

private:
    // Each step adds protection, whatever the others have found: a command may have made the root
    // look like anything.
    void protect_root(const std::string& root, Missing missing) {
        if (!is_accessible(root, R_OK | X_OK)) return places_.close(root, cannot_look);
        pin_granted(root);
        protect_git(root, missing);
        for (const std::string_view name : agent_places)
            protect_agent(joined(root, name), missing);
    }

    void protect_named(const std::vector<std::pair<std::string, Missing>>& roots) {
        constexpr std::string_view at_home = "~/";
        for (const std::string& name : policy_.read_only)
            if (name.starts_with(at_home) && !home_.empty())
                protect_existing(joined(home_, name.substr(at_home.size())));
            else if (name.starts_with('/'))
                protect_existing(name);
            else
                for (const auto& [root, missing] : roots)
                    protect_existing(joined(root, name));
        if (!home_.empty() && places_.is_writable(home_))
            places_.tell(home_, "is your home directory, and commands may change what is in it: "
                                "take a directory below it as the workspace");
    }

    // What is missing stays possible to make.
    void protect_existing(const std::string& path) {
        const ResolvedPath place = locate(path);
        if (!place.exists() || !places_.is_writable(place.path)) return;
        if (is_link(path)) places_.tell(path, is_link_itself);
        places_.add(place.path, place.kind);
    }

    void protect_agent(const std::string& path, Missing missing) {
        const ResolvedPath place = locate_last(path);
        if (is_link(path))
            places_.tell(path, is_link_itself);
        else if (place.kind == Kind::unreachable)
            places_.close(parent_of(path), cannot_look);
        if (place.exists())
            places_.add(place.path, place.kind);
        else if (place.kind == Kind::missing && missing == Missing::held)
            keep_absent(place.path);
    }

    void keep_absent(const std::string& path) {
        if (!looks_afterwards_) return places_.hold(path, std::nullopt);
        if (places_.is_writable(path) && !rules_.at.contains(path))
            rules_.look.absent.push_back(path);
    }

    void note_repository(const std::string& work_tree, const std::string& git_directory) {
        if (looks_afterwards_ && !places_.is_temporary(work_tree) &&
            places_.is_writable(git_directory))
            rules_.look.repositories.push_back({work_tree, git_directory});
    }

    void protect_git(const std::string& work_tree, Missing missing) {
        const std::string path = joined(work_tree, ".git");
        const ResolvedPath place = locate_last(path);
        if (is_link(path)) places_.tell(path, is_link_itself);
        switch (place.kind) {
        case Kind::directory:
            note_repository(work_tree, place.path);
            return protect_git_directory(place.path);
        case Kind::file: return protect_git_file(place.path, work_tree);
        case Kind::device: return places_.add(place.path, place.kind);
        case Kind::missing:
            if (missing == Missing::left) return;
            // Inside a work tree git would take the placeholder for a broken repository.
            if (looks_afterwards_ || !is_inside_repository(work_tree)) keep_absent(place.path);
            return;
        case Kind::unreachable:
            if (!is_link(path)) places_.close(work_tree, cannot_look);
            return;
        }
    }

    void protect_git_directory(const std::string& path) {
        if (!places_.is_writable(path)) return;
        if (!is_git_directory(path)) return places_.add(path, Kind::directory);
        pin(path);
        const Linked linked = linked_from(path);
        close_links(linked.links);
        if (linked.common_directory != path) protect_linked(linked.common_directory);
    }

    // The file is followed now, before a confined program could have changed it. This does not open
    // its target; it only protects the target where a grant opens it.
    void protect_git_file(const std::string& path, const std::string& work_tree) {
        places_.add(path, Kind::file);
        const std::optional<Linked> linked = linked_by(path);
        if (!linked) return;
        note_repository(work_tree, linked->git_directory);
        close_links(linked->links);
        protect_linked(linked->git_directory);
        if (linked->common_directory != linked->git_directory)
            protect_linked(linked->common_directory);
    }

    // A root stays writable, but can become no git directory.
    void protect_linked(const std::string& directory) {
        const bool is_git = is_git_directory(directory);
        if (!is_git && !places_.is_root(directory))
            return places_.close(directory, is_called_repository);
        if (!is_git && places_.is_writable(directory))
            places_.tell(directory, is_called_repository);
        pin(directory);
    }

    // Pins the git directory that a root is, or lies in. A directory called .git counts even
    // without its HEAD: a command may have removed it.
    void pin_granted(const std::string& root) {
        for (std::string path = root; path != "/"; path = parent_of(path)) {
            const bool is_top = path.ends_with("/.git");
            if (is_top || is_git_directory(path)) pin(path);
            if (is_top) return;
            if (path == root && is_git_directory(path) && exists(joined(path, ".git")))
                places_.tell(path, "looks like a git directory, too: what git would execute and "
                                   "obey in one is read-only in it, such as hooks and config");
        }
    }

    // A program that replaces such a link leads git elsewhere.
    void close_links(const std::vector<std::string>& links) {
        for (const std::string& link : links)
            places_.close(parent_of(link), has_links);
    }

    void pin(const std::string& git_directory) {
        std::vector<GitPin> pins = git_pins(git_directory);
        for (const std::string_view many : {"modules", "worktrees"})
            if (stand_ins_of(pins) > places_.stand_ins_left())
                pin_as_a_whole(pins, joined(git_directory, many));
        const bool is_too_much =
            stand_ins_of(pins) > places_.stand_ins_left() ||
            (places_.is_searching() && pins.size() + kept_for_closing > places_.mounts_left());
        if (is_too_much && !places_.is_root(git_directory))
            return places_.close(git_directory, has_too_much);
        for (const GitPin& git_pin : pins)
            keep(git_pin);
    }

    void pin_as_a_whole(std::vector<GitPin>& pins, const std::string& directory) {
        if (!exists(directory)) return;
        std::erase_if(pins, [&](const GitPin& pin) { return is_at_or_below(pin.path, directory); });
        pins.push_back({directory});
        places_.tell(directory, "is read-only: it has too much in it to protect each part");
    }

    // An empty file or directory may be the stand-in of another sandbox, which is to be shared.
    static std::size_t stand_ins_of(const std::vector<GitPin>& pins) {
        return static_cast<std::size_t>(std::ranges::count_if(pins, [](const GitPin& pin) {
            struct stat status = {};
            if (pin.stand_in == GitPin::StandIn::none) return false;
            if (::lstat(pin.path.c_str(), &status) != 0) return true;
            if (S_ISDIR(status.st_mode)) return is_empty_directory(pin.path);
            return static_cast<std::size_t>(status.st_size) == pin.content.size();
        }));
    }

    void keep(const GitPin& pin) {
        const ResolvedPath place = locate_last(pin.path);
        if (is_link(pin.path)) {
            std::vector<std::string> links;
            for (const Link& link : way_to(pin.path).links)
                links.push_back(link.path);
            close_links(links);
        } else if (place.kind == Kind::unreachable) {
            places_.close(parent_of(pin.path), cannot_look);
        }
        if (place.exists()) return places_.add(place.path, place.kind, pin.content);
        if (place.kind != Kind::missing) return;
        // git makes this one itself, and the look at the end sees what is in it.
        if (looks_afterwards_ && pin.path.ends_with("/modules")) return;
        if (pin.stand_in == GitPin::StandIn::file)
            places_.hold(place.path, pin.content);
        else if (pin.stand_in == GitPin::StandIn::directory || is_link(pin.path))
            places_.hold(place.path, std::nullopt);
    }

    struct Found {
        std::vector<std::string> work_trees = {};
        std::vector<std::string> unreadable = {};
        std::vector<std::string> unsearched = {};
    };

    void search(const std::string& root) {
        if (!places_.is_writable(root)) return;
        const Found found = found_in(root);
        if (looks_afterwards_) note_nested(found);
        if (!found.unsearched.empty())
            places_.close_above(root, found.unsearched,
                                rules_.found.is_late ? is_not_searched_yet
                                                     : has_too_many_directories);
        protect_unreadable(root, found.unreadable);
        protect_found(root, found.work_trees);
    }

    // What the walk has found in the root and in no root below it, where commands may write.
    Found found_in(const std::string& root) {
        const bool is_walked = std::ranges::find(rules_.searched, root) != rules_.searched.end();
        const std::vector<std::string> only = {root};
        const std::vector<std::string>& roots = is_walked ? rules_.searched : only;
        const WalkFindings own = is_walked ? WalkFindings() : search_workspace({only, {}, {}}, {});
        const WalkFindings& walk = is_walked ? rules_.found : own;
        const auto is_of_root = [&](const std::string& path) {
            return places_.is_writable(path) && innermost(roots, path) == root;
        };
        Found found;
        for (const std::string& path : walk.work_trees)
            if (is_of_root(path)) found.work_trees.push_back(path);
        for (const LeftOut& each : walk.unreadable)
            if (each.is_in_root && is_of_root(each.path)) found.unreadable.push_back(each.path);
        for (const LeftOut& each : walk.unsearched)
            if (each.is_in_root && is_of_root(each.path)) found.unsearched.push_back(each.path);
        return found;
    }

    void note_nested(const Found& found) {
        LookPlaces& look = rules_.look;
        look.knows_all_nested = look.knows_all_nested && found.unsearched.empty();
        look.nested.insert(look.nested.end(), found.work_trees.begin(), found.work_trees.end());
    }

    void protect_unreadable(const std::string& root, const std::vector<std::string>& paths) {
        unreadable_ += paths.size();
        if (unreadable_ > most_unreadable)
            return places_.close_above(root, paths, has_too_many_unreadable);
        for (const std::string& path : paths)
            places_.close(path, cannot_look);
    }

    void protect_found(const std::string& root, const std::vector<std::string>& work_trees) {
        const std::size_t before = closed_;
        std::vector<std::string> beyond;
        for (const std::string& work_tree : work_trees)
            if (!protect_nested(work_tree)) beyond.push_back(work_tree);
        if (closed_ > before)
            places_.tell(root, fmt::format("has repositories in it that nothing can be committed "
                                           "to: more than {}, or some without a HEAD",
                                           most_repositories));
        if (!beyond.empty()) places_.close_above(root, beyond, has_too_many_repositories);
    }

    // An entry that is merely named .git must not use up the place of a real repository.
    static bool is_repository(const std::string& work_tree) {
        const ResolvedPath place = locate_last(joined(work_tree, ".git"));
        return place.kind == Kind::file || is_git_directory(place.path);
    }

    // Returns false if there are too many.
    bool protect_nested(const std::string& work_tree) {
        const std::string git = joined(work_tree, ".git");
        if (is_out_of_our_hands(git)) return true;
        if (is_repository(work_tree) && open_ < most_repositories) {
            ++open_;
            protect_git(work_tree, Missing::left);
            return true;
        }
        // Not a repository; it may be a placeholder of another sandbox.
        if (!is_link(git) && is_empty_directory(git)) return true;
        if (++closed_ > most_closed_repositories) return false;
        close(git);
        return true;
    }

    // Each mount takes bubblewrap longer than the one before; this is one instead of six. Where a
    // file .git leads is closed too.
    void close(const std::string& path) {
        const ResolvedPath place = locate_last(path);
        if (is_link(path)) places_.tell(path, is_link_itself);
        if (!place.exists()) return;
        places_.add(place.path, place.kind);
        const std::optional<Linked> linked = place.kind == Kind::file
                                                 ? linked_by(place.path)
                                                 : std::optional(linked_from(place.path));
        if (!linked) return;
        close_links(linked->links);
        for (const std::string& directory : {linked->git_directory, linked->common_directory})
            if (places_.is_root(directory))
                pin(directory);
            else
                places_.add(directory, Kind::directory);
    }

    PathRules& rules_;
    ProtectiveRules places_;
    const Policy& policy_;
    bool looks_afterwards_;  // see Context
    std::string home_;       // canonical; empty: unknown
    std::size_t open_ = 0;   // nested repositories that allow commits
    std::size_t closed_ = 0; // nested repositories that do not
    std::size_t unreadable_ = 0;
};

} // namespace

void protect_metadata(PathRules& rules, const Policy& policy, const Context& context) {
    Protection(rules, policy, context).protect();
}

} // namespace ew::sandbox
