#include "sandbox/plan/protection.h"

#include "core/output/utf8.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/repositories.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace ew::sandbox {

namespace {

using State = PathRule::State;

constexpr std::array<std::string_view, 3> agent_places = {".agents", ".codex", ".execward"};

constexpr std::ptrdiff_t most_levels = 32;      // from a root to a protected path in it
constexpr std::size_t longest_protected = 2048; // bytes; bubblewrap may not accept a longer path
constexpr std::size_t most_found_mounts = 768;  // bubblewrap's time is quadratic in them
constexpr std::size_t kept_for_closing = 448;   // of these: for a whole .git and its directories
constexpr std::size_t most_unreadable = 200;

bool has_component(std::string_view path, std::string_view name) {
    for (std::size_t from = 0; from < path.size();) {
        const std::size_t to = std::min(path.find('/', from), path.size());
        if (path.substr(from, to - from) == name) return true;
        from = to + 1;
    }
    return false;
}

// A missing path gets a placeholder (held) or no protection (left).
enum class Missing : std::uint8_t { held, left };

class Protection {
public:
    Protection(PathRules& rules, bool looks_afterwards)
        : rules_(rules), looks_afterwards_(looks_afterwards) {}

    void protect() {
        std::vector<std::pair<std::string, Missing>> roots;
        for (const auto& [path, rule] : rules_.at) {
            if (rule.state != State::write || rule.kind != ResolvedPath::Kind::directory) continue;
            if (path == "/") {
                for (const std::string& root : rules_.workspace)
                    if (rules_.covering(root) == State::write)
                        roots.emplace_back(root, Missing::held);
                continue;
            }
            roots.emplace_back(path, rule.is_temporary ? Missing::left : Missing::held);
        }
        for (const auto& [path, missing] : roots)
            if (missing == Missing::held) kept_.push_back(path);
        if (looks_afterwards_) rules_.look.roots = kept_;
        for (const auto& [path, missing] : roots)
            protect_root(path, missing);
        is_searching_ = true;
        for (const auto& [path, missing] : roots)
            search(path);
    }

private:
    bool is_writable(const std::string& path) const {
        return rules_.covering(path) == State::write;
    }

    // Other users and programs have files in a directory for temporary files.
    bool is_temporary(const std::string& path) const {
        return std::ranges::none_of(
            kept_, [&path](const std::string& root) { return is_at_or_below(path, root); });
    }

    void protect_root(const std::string& root, Missing missing) {
        // The grant is for git's own files, not for a work tree.
        if (has_component(root, ".git") || is_git_directory(root)) return pin_granted(root);
        protect_git(root, missing);
        for (const std::string_view name : agent_places)
            protect_agent(joined(root, name), missing);
    }

    void protect_agent(const std::string& path, Missing missing) {
        const ResolvedPath place = locate_last(path);
        if (place.path != path) note_link(path);
        if (place.exists() && is_writable(place.path))
            add(place.path, place.kind);
        else if (place.kind == ResolvedPath::Kind::missing && missing == Missing::held)
            keep_absent(path);
    }

    void protect_git(const std::string& work_tree, Missing missing) {
        const std::string path = joined(work_tree, ".git");
        const ResolvedPath place = locate_last(path);
        if (place.path != path) note_link(path);
        switch (place.kind) {
        case ResolvedPath::Kind::directory:
            note_repository(work_tree, place.path);
            return protect_git_directory(place.path);
        case ResolvedPath::Kind::file: return protect_git_file(place.path, work_tree);
        case ResolvedPath::Kind::missing:
            if (missing == Missing::left) return;
            // Inside a work tree git would take the placeholder for a broken repository.
            if (looks_afterwards_ || !is_inside_repository(work_tree)) keep_absent(path);
            return;
        case ResolvedPath::Kind::device:
        case ResolvedPath::Kind::unreachable: return;
        }
    }

    void protect_git_directory(const std::string& path) {
        if (!is_writable(path)) return;
        if (is_git_directory(path)) return pin(path);
        add(path, ResolvedPath::Kind::directory);
    }

    // The file is followed now, before a confined program could have changed it. This does not open
    // its target; it only protects the target where a grant opens it.
    void protect_git_file(const std::string& path, const std::string& work_tree) {
        if (is_writable(path)) add(path, ResolvedPath::Kind::file);
        const std::optional<Linked> linked = linked_by(path);
        if (!linked) return;
        note_repository(work_tree, linked->git_directory);
        protect_linked(linked->git_directory);
        if (linked->common_directory != linked->git_directory)
            protect_linked(linked->common_directory);
    }

    void protect_linked(const std::string& directory) {
        if (is_git_directory(directory)) return pin(directory);
        if (is_writable(directory)) add(directory, ResolvedPath::Kind::directory);
    }

    // Protects the git directory that a granted path is, or lies in. A directory called .git counts
    // even without its HEAD: a command may have removed it.
    void pin_granted(const std::string& root) {
        for (std::string path = root; path != "/"; path = parent_of(path)) {
            const bool is_top = path.ends_with("/.git");
            if (is_top || is_git_directory(path)) pin(path);
            if (is_top) return;
        }
    }

    void pin(const std::string& git_directory) {
        const std::vector<GitPin> pins = git_pins(git_directory);
        if (is_searching_ && pins.size() + kept_for_closing > mounts_left_ &&
            is_writable(git_directory))
            return add(git_directory, ResolvedPath::Kind::directory);
        for (const GitPin& git_pin : pins) {
            const ResolvedPath place = locate_last(git_pin.path);
            if (!is_writable(place.path)) continue;
            if (place.exists()) {
                add(place.path, place.kind, git_pin.content);
                continue;
            }
            if (place.kind != ResolvedPath::Kind::missing ||
                git_pin.stand_in == GitPin::StandIn::none)
                continue;
            if (git_pin.stand_in == GitPin::StandIn::file)
                hold(place.path, git_pin.content);
            else
                hold(place.path, std::nullopt);
        }
    }

    void add(const std::string& path, ResolvedPath::Kind kind,
             std::optional<std::string> file = {}) {
        if (const std::string at = place_for(path); at != path) return close_whole(at);
        PathRule rule{State::read, kind};
        rule.is_protection = true;
        rule.is_temporary = is_temporary(path);
        if (kind == ResolvedPath::Kind::file) rule.file = std::move(file);
        rules_.at.try_emplace(path, std::move(rule));
    }

    void note_repository(const std::string& work_tree, const std::string& git_directory) {
        if (looks_afterwards_ && !is_temporary(work_tree) && is_writable(git_directory))
            rules_.look.repositories.push_back({work_tree, git_directory});
    }

    void keep_absent(const std::string& path) {
        if (!looks_afterwards_) return hold(path, std::nullopt);
        if (is_writable(path) && !rules_.at.contains(path)) rules_.look.absent.push_back(path);
    }

    void hold(const std::string& path, std::optional<std::string> file) {
        if (!is_writable(path) || making_of(path) == Making::impossible) return;
        if (const std::string at = place_for(path); at != path) return close_whole(at);
        PathRule rule{State::read, ResolvedPath::Kind::missing};
        rule.is_protection = true;
        rule.file = std::move(file);
        rules_.at.try_emplace(path, std::move(rule));
    }

    // Every directory between a writable root and a protected path in it becomes a mount (pin_above
    // in plan.cc), so deep or numerous paths are protected by one mount nearer to the root. Returns
    // `path`, or the directory above it that is to be read-only as a whole.
    std::string place_for(const std::string& path) {
        std::vector<std::string> chain = {path}; // inner before outer, without named paths
        for (std::string here = parent_of(path); !is_named(here); here = parent_of(here))
            chain.push_back(here);
        auto at = chain.begin();
        while (at->size() > longest_protected && std::next(at) != chain.end())
            ++at;
        if (chain.end() - at > most_levels) at = chain.end() - most_levels;
        // When no mounts are left, it takes one: the outermost directory that is no mount yet.
        const auto known = [this](const std::string& here) { return ways_.contains(here); };
        const auto first_known = std::find_if(std::next(at), chain.end(), known);
        const auto cost = static_cast<std::size_t>(first_known - at);
        if (is_searching_ && cost > mounts_left_) at = std::prev(first_known);
        ways_.insert(std::next(at), first_known);
        if (is_searching_) mounts_left_ -= std::min(mounts_left_, cost);
        return std::move(*at);
    }

    bool is_named(const std::string& path) const {
        return path == "/" || rules_.at.contains(path) ||
               std::ranges::find(rules_.workspace, path) != rules_.workspace.end();
    }

    void close_whole(const std::string& path) {
        const auto [at, is_new] = rules_.at.try_emplace(path);
        if (!is_new) return;
        PathRule& rule = at->second;
        rule.state = State::read;
        rule.is_protection = true;
        rule.is_temporary = is_temporary(path);
        if (wholes_++ > 0) return;
        rules_.notes.push_back(
            fmt::format("'{}' is read-only as a whole, and there may be more like it: what is "
                        "protected in it lies too far down, or is too much",
                        core::shortened(path)));
    }

    void note_link(const std::string& path) {
        rules_.notes.push_back(
            fmt::format("'{}' is a link: what it leads to is protected, the link is not",
                        core::shortened(path)));
    }

    void search(const std::string& root) {
        if (is_enclosed(root) || has_component(root, ".git")) return;
        const Repositories found = find_repositories(
            root, most_directories, [this](const std::string& path) { return is_closed(path); });
        if (!found.is_complete) lose(root, fmt::format("{} directories", most_directories));
        if (looks_afterwards_) note_nested(found);
        protect_unreadable(root, found.unreadable);
        const std::size_t before = closed_;
        for (const std::string& work_tree : found.work_trees)
            if (!is_out_of_our_hands(work_tree)) protect_nested(work_tree);
        if (closed_ == before) return;
        rules_.notes.push_back(fmt::format(
            "'{}' has repositories in it that nothing can be committed to: more than {}, or some "
            "without a HEAD",
            core::shortened(root), most_repositories));
        if (closed_ > most_closed_repositories)
            lose(root,
                 fmt::format("{} repositories", most_repositories + most_closed_repositories));
    }

    void note_nested(const Repositories& found) {
        rules_.look.knows_all_nested = rules_.look.knows_all_nested && found.is_complete;
        rules_.look.nested.insert(rules_.look.nested.end(), found.work_trees.begin(),
                                  found.work_trees.end());
    }

    void protect_unreadable(const std::string& root, const std::vector<std::string>& paths) {
        for (const std::string& path : paths) {
            if (!is_writable(path)) continue;
            if (++unreadable_ > most_unreadable)
                return lose(root, fmt::format("{} directories that cannot be looked into",
                                              most_unreadable));
            add(path, ResolvedPath::Kind::directory);
        }
    }

    // An entry that is merely named .git must not use up the place of a real repository.
    static bool is_repository(const std::string& work_tree) {
        const ResolvedPath place = locate_last(joined(work_tree, ".git"));
        return place.kind == ResolvedPath::Kind::file || is_git_directory(place.path);
    }

    void protect_nested(const std::string& work_tree) {
        if (is_repository(work_tree) && open_ < most_repositories) {
            ++open_;
            protect_git(work_tree, Missing::left);
        } else if (is_empty_directory(joined(work_tree, ".git"))) {
            return; // not a repository; it may be a placeholder of another sandbox
        } else if (++closed_ <= most_closed_repositories) {
            close(joined(work_tree, ".git"));
        }
    }

    // The repository belongs to another user, in a directory that we share.
    static bool is_out_of_our_hands(const std::string& work_tree) {
        struct stat status = {};
        return ::lstat(joined(work_tree, ".git").c_str(), &status) == 0 &&
               status.st_uid != ::geteuid() &&
               making_of(joined(work_tree, ".git/hooks")) == Making::impossible &&
               making_of(joined(work_tree, ".git")) == Making::impossible;
    }

    // Each mount takes bubblewrap longer than the one before; this is one instead of six.
    void close(const std::string& path) {
        const ResolvedPath place = locate_last(path);
        if (place.path != path) note_link(path);
        if (place.exists() && is_writable(place.path)) add(place.path, place.kind);
    }

    void lose(const std::string& root, const std::string& bound) {
        rules_.losses.push_back(
            {Guarantee::protected_paths,
             fmt::format("'{}' has more than {} in it: not every repository there can be protected",
                         core::shortened(root), bound),
             "name a narrower root of the workspace, and no shared /tmp; enforcement best-effort "
             "(--best-effort) runs it with the others open to change"});
    }

    // The root is searched as part of another one.
    bool is_enclosed(const std::string& root) const {
        return root != "/" && rules_.at.count("/") == 0 ? is_writable(parent_of(root)) : false;
    }

    bool is_closed(const std::string& path) const {
        const auto rule = rules_.at.find(path);
        return rule != rules_.at.end() && rule->second.state != State::write;
    }

    PathRules& rules_;
    bool looks_afterwards_;         // see Context
    bool is_searching_ = false;     // the roots themselves are done
    std::vector<std::string> kept_; // the roots that are not for temporary files
    std::size_t open_ = 0;          // nested repositories that allow commits
    std::size_t closed_ = 0;        // nested repositories that do not
    std::size_t unreadable_ = 0;
    std::size_t wholes_ = 0;                      // directories closed as a whole
    std::size_t mounts_left_ = most_found_mounts; // for protected paths that the search finds
    std::set<std::string> ways_;                  // directories between a root and a protected path
};

} // namespace

void protect_metadata(PathRules& rules, bool looks_afterwards) {
    Protection(rules, looks_afterwards).protect();
}

} // namespace ew::sandbox
