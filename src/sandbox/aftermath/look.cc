#include "sandbox/aftermath/look.h"

#include "core/sha256.h"
#include "core/text/paths.h"
#include "sandbox/aftermath/controls.h"
#include "sandbox/aftermath/git_index.h"
#include "sandbox/aftermath/place.h"
#include "sandbox/aftermath/set_aside.h"
#include "sandbox/plan/resolved_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t largest_index = 512 << 20;    // bytes
constexpr std::size_t most_entries_seen = 50'000;   // in one git directory, without its objects
constexpr std::size_t most_directories_seen = 2048; // git directories, for the whole look
constexpr int most_levels = 64;                     // directories in one another
constexpr int most_nested = 16;                     // repositories in one another

std::size_t components_of(std::string_view path) {
    return path.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(path, '/')) + 1;
}

// A git directory in its surroundings.
struct GitDirectory {
    std::string work_tree = {}; // empty: unknown
    // How many ".." lead from it to the work tree of the outermost repository; nullopt: unknown.
    std::optional<std::size_t> levels = {};
    bool is_module = false;   // of that repository
    bool is_worktree = false; // linked: in "worktrees" of another git directory
    int depth = 0;            // repositories around it
};

class Looking {
public:
    Looking(const LookPlaces& places, const std::set<std::string>* before)
        : places_(places), before_(before) {}

    void look() {
        for (const std::string& path : places_.absent)
            if (is_after()) look_at_absent(path);
        for (const LookPlaces::Repository& repository : places_.repositories) {
            GitDirectory git;
            git.work_tree = repository.work_tree;
            if (repository.git_directory == joined(git.work_tree, ".git")) git.levels = 1;
            look_at_git(repository.git_directory, git);
            look_at_index_of(repository.git_directory, git);
            if (std::ranges::find(places_.roots, repository.work_tree) == places_.roots.end())
                look_for_bare(repository.work_tree);
        }
        for (const std::string& root : places_.roots)
            look_for_bare(root);
    }

    std::vector<Danger> dangers = {};
    std::set<std::string> keys = {};

private:
    bool is_after() const { return before_ != nullptr; }

    std::optional<Place> open(const std::string& path) const {
        return Place::at(path, is_after() ? Place::Rights::to_read : Place::Rights::as_they_are);
    }

    // `identity` tells this danger from another one at the same path.
    void add(const std::string& holder, const std::string& name, std::string reason,
             std::string_view identity) {
        std::string key =
            fmt::format("{}\n{}\n{}", joined(holder, name), reason, core::sha256(identity));
        if (!is_after()) return void(keys.insert(std::move(key)));
        if (!before_->contains(key)) dangers.push_back({holder, name, std::move(reason)});
    }

    // Was it protected by a mount while the command ran? Before the start, says that it will be.
    bool is_protected(const Place& place, const std::string& name) {
        std::string key = protected_key(joined(place.path(), name));
        if (is_after()) return before_->contains(key);
        keys.insert(std::move(key));
        return true;
    }

    void look_at_absent(const std::string& path) {
        const std::string work_tree = parent_of(path);
        const std::string name = path.substr(path.rfind('/') + 1);
        if (name == ".git") return look_at_new_git(work_tree, 0);
        const std::optional<Place> place = open(work_tree);
        if (!place || place->kind(name) == EntryKind::missing) return;
        const std::optional<Place> inside = place->inner(name);
        if (inside && inside->is_empty()) return; // a placeholder looks like this
        add(work_tree, name, "agents would obey it", "");
    }

    void look_at_new_git(const std::string& work_tree, int depth) {
        const std::optional<Place> place = open(work_tree);
        if (!place) return;
        switch (place->kind(".git")) {
        case EntryKind::missing: return;
        case EntryKind::directory: {
            GitDirectory git;
            git.work_tree = work_tree;
            git.levels = 1;
            git.depth = depth;
            return look_at_git(joined(work_tree, ".git"), git);
        }
        case EntryKind::file: return look_at_git_file(*place, depth);
        case EntryKind::link:
            return add(work_tree, ".git", fmt::format("a link to {}", place->target(".git")), "");
        case EntryKind::other: return add(work_tree, ".git", "neither a directory nor a file", "");
        }
    }

    void look_at_git_file(const Place& work_tree, int depth) {
        constexpr std::string_view start = "gitdir: ";
        const std::optional<std::string> text = work_tree.read(".git", longest_line);
        if (!text || !text->starts_with(start))
            return add(work_tree.path(), ".git", "a file that leads nowhere", text.value_or(""));
        const std::string target(without_line_end(std::string_view(*text).substr(start.size())));
        const std::string path =
            core::without_dots(target.starts_with('/') ? target : joined(work_tree.path(), target));
        GitDirectory git;
        git.work_tree = work_tree.path();
        git.depth = depth;
        // The rest of a submodule is looked at where it is.
        if (is_part_of_known(path) && open(path)) return look_at_index_of(path, git);
        const auto holds = [&path](const std::string& root) { return is_below(path, root); };
        const bool is_inside = std::ranges::any_of(places_.roots, holds);
        if (!is_inside || is_closed(path) || !open(path))
            return add(work_tree.path(), ".git", fmt::format("it leads to {}", path), *text);
        look_at_git(path, git);
    }

    // Is it a submodule or a linked worktree of a git directory that is looked at?
    bool is_part_of_known(const std::string& path) const {
        const auto holds = [&path](const std::string& git) {
            return is_below(path, joined(git, "modules")) ||
                   is_below(path, joined(git, "worktrees"));
        };
        return std::ranges::any_of(seen_, holds) ||
               std::ranges::any_of(places_.repositories, holds,
                                   &LookPlaces::Repository::git_directory);
    }

    // A writable root may lie in a closed directory.
    bool is_closed(const std::string& path) const {
        const auto longest = [&path](const std::vector<std::string>& places) {
            std::size_t size = 0;
            for (const std::string& place : places)
                if (is_at_or_below(path, place)) size = std::max(size, place.size());
            return size;
        };
        return longest(places_.closed) > longest(places_.roots);
    }

    void look_at_git(const std::string& path, const GitDirectory& git) {
        if (git.depth > most_nested || seen_.size() > most_directories_seen)
            return add(parent_of(path), path.substr(path.rfind('/') + 1), "too many repositories",
                       "");
        if (!seen_.insert(path).second) return;
        const std::optional<Place> place = open(path);
        if (!place) return;
        const auto entries = place->entries(most_entries_seen);
        if (!entries)
            return add(parent_of(path), path.substr(path.rfind('/') + 1), "it cannot be read", "");
        std::size_t left = most_entries_seen;
        for (const PlaceEntry& entry : *entries)
            look_at_entry(*place, entry, left);
        look_at_controls(*place, git);
        if (git.is_worktree) return look_at_gitlinks_of_worktree(*place, git);
        look_at_modules(*place, "modules", git);
        look_at_worktrees(*place, git);
        look_at_index_of(path, git);
    }

    void look_at_entry(const Place& place, const PlaceEntry& entry, std::size_t& left) {
        if (is_set_aside(entry.name)) return;
        if (entry.kind == EntryKind::link) return look_at_link(place, place, entry.name);
        if (entry.kind != EntryKind::directory) return;
        constexpr std::array<std::string_view, 3> others = {"modules", "worktrees", "objects"};
        const bool is_other = std::ranges::find(others, entry.name) != others.end();
        if (is_other && entry.name != "objects") return;
        const std::optional<Place> inside = place.inner(entry.name);
        if (inside) look_for_links(place, *inside, left, is_other ? 1 : most_levels);
    }

    // git writes through links, and reads through them.
    void look_for_links(const Place& git, const Place& here, std::size_t& left, int levels) {
        const auto entries = here.entries(left);
        if (!entries) return add_below(git, here.path(), "it has too much in it, or is closed", "");
        left -= entries->size();
        for (const PlaceEntry& entry : *entries) {
            if (entry.kind == EntryKind::link) look_at_link(git, here, entry.name);
            if (entry.kind != EntryKind::directory || levels <= 1) continue;
            if (const std::optional<Place> inside = here.inner(entry.name))
                look_for_links(git, *inside, left, levels - 1);
        }
    }

    void look_at_link(const Place& git, const Place& here, const std::string& name) {
        const std::string target = here.target(name);
        const bool is_old_head = name == "HEAD" && target.starts_with("refs/heads/") &&
                                 target.find("..") == std::string::npos;
        if (is_old_head) return;
        add_below(git, joined(here.path(), name), fmt::format("a link to {}", target), "");
    }

    // Moves what lies deep in a git directory to its top, where it has no meaning.
    void add_below(const Place& git, const std::string& path, std::string reason,
                   std::string_view identity) {
        const std::size_t from = git.path() == "/" ? 1 : git.path().size() + 1;
        add(git.path(), path.substr(from), std::move(reason), identity);
    }

    void look_at_controls(const Place& place, const GitDirectory& git) {
        ControlContext context;
        if (git.is_module) context.levels_to_work_tree = git.levels;
        context.is_worktree = git.is_worktree;
        const auto is_there = [&place](const char* name) {
            const EntryKind kind = place.kind(name);
            return kind != EntryKind::missing && kind != EntryKind::link;
        };
        for (const char* const name : protected_controls)
            if (is_there(name) && !is_protected(place, name)) judge(place, name, context);
        for (const char* const name : old_remotes)
            if (is_there(name)) judge(place, name, context);
    }

    void judge(const Place& place, const std::string& name, const ControlContext& context) {
        if (std::optional<ControlDanger> danger = judge_control(place, name, context))
            add(place.path(), name, std::move(danger->reason), danger->identity);
    }

    // The name of a submodule may contain slashes.
    void look_at_modules(const Place& git_place, const std::string& below,
                         const GitDirectory& git) {
        const std::optional<Place> all = open(joined(git_place.path(), below));
        if (!all) return;
        const auto entries = all->entries(most_directories_seen);
        if (!entries) return add(git_place.path(), below, "it cannot be read", "");
        for (const PlaceEntry& entry : *entries) {
            const std::string path = joined(below, entry.name);
            if (entry.kind == EntryKind::link) look_at_link(git_place, *all, entry.name);
            if (entry.kind != EntryKind::directory) continue;
            if (components_of(path) > most_levels)
                return add(git_place.path(), "modules", "it is too deep", "");
            const std::optional<Place> inside = all->inner(entry.name);
            if (inside && is_module(*inside))
                look_at_module(git_place, path, git);
            else
                look_at_modules(git_place, path, git);
        }
    }

    static bool is_module(const Place& place) {
        constexpr std::array<const char*, 4> parts = {"HEAD", "config", "hooks", "commondir"};
        return std::ranges::any_of(
            parts, [&place](const char* part) { return place.kind(part) != EntryKind::missing; });
    }

    void look_at_module(const Place& git_place, const std::string& path, const GitDirectory& git) {
        GitDirectory module;
        if (git.levels) module.levels = *git.levels + components_of(path);
        module.is_module = true;
        module.depth = git.depth + 1;
        look_at_git(joined(git_place.path(), path), module);
    }

    void look_at_worktrees(const Place& git_place, const GitDirectory& git) {
        const std::optional<Place> all = git_place.inner("worktrees");
        if (!all) return;
        const auto entries = all->entries(most_directories_seen);
        if (!entries) return add(git_place.path(), "worktrees", "it cannot be read", "");
        for (const PlaceEntry& entry : *entries) {
            if (entry.kind == EntryKind::link) look_at_link(git_place, *all, entry.name);
            if (entry.kind != EntryKind::directory) continue;
            GitDirectory worktree;
            worktree.is_worktree = true;
            worktree.depth = git.depth + 1;
            look_at_git(joined(all->path(), entry.name), worktree);
        }
    }

    // git runs `git status` in each submodule that its index names and whose .git exists.
    void look_at_index_of(const std::string& git_directory, const GitDirectory& git) {
        if (git.work_tree.empty() || git.depth > most_nested) return;
        const std::optional<Place> place = open(git_directory);
        if (!place || place->kind("index") == EntryKind::missing) return;
        if (!indexes_.insert(git_directory).second) return;
        const std::string key = fmt::format("{}/index\n{}", git_directory, place->stamp("index"));
        if (!is_after()) return void(keys.insert(key));
        const std::optional<std::string> bytes = place->read("index", largest_index);
        const bool is_understood = bytes && look_at_index(*place, *bytes, git, true);
        if (!is_understood && !before_->contains(key))
            add(place->path(), "index", "an index that is not understood", "");
    }

    // Returns false if the bytes are no index that git writes.
    bool look_at_index(const Place& place, const std::string& bytes, const GitDirectory& git,
                       bool may_be_shared) {
        constexpr std::array<std::size_t, 2> id_sizes = {20, 32};
        bool is_understood = bytes.empty();
        for (const std::size_t id_size : id_sizes) {
            const std::optional<GitIndex> index = read_git_index(bytes, id_size);
            if (!index) continue;
            is_understood = true;
            for (const std::string& path : index->gitlinks)
                look_at_gitlink(core::without_dots(joined(git.work_tree, path)), git);
            std::size_t left = most_entries_seen;
            for (const std::string& path : index->sparse_directories)
                look_for_gitlinks(core::without_dots(joined(git.work_tree, path)), git, left);
            const std::string name = "sharedindex." + index->shared;
            if (index->shared.empty() || !may_be_shared) continue;
            if (const std::optional<std::string> shared = place.read(name, largest_index))
                is_understood = look_at_index(place, *shared, git, false);
        }
        return is_understood;
    }

    void look_at_gitlink(const std::string& work_tree, const GitDirectory& git) {
        if (!is_below(work_tree, git.work_tree) || is_closed(work_tree)) return;
        if (!places_.knows_all_nested) return; // the start has told that not all are protected
        if (std::ranges::find(places_.nested, work_tree) != places_.nested.end()) return;
        look_at_new_git(work_tree, git.depth + 1);
    }

    // The index has one entry for such a directory. Usually it does not exist; if it does, git
    // looks into the tree of the commit for submodules.
    void look_for_gitlinks(const std::string& directory, const GitDirectory& git,
                           std::size_t& left) {
        const std::optional<Place> place = open(directory);
        const auto entries = place ? place->entries(left) : std::nullopt;
        if (!entries) return;
        left -= entries->size();
        for (const PlaceEntry& entry : *entries) {
            if (entry.name == ".git")
                look_at_gitlink(directory, git);
            else if (entry.kind == EntryKind::directory)
                look_for_gitlinks(joined(directory, entry.name), git, left);
        }
    }

    void look_at_gitlinks_of_worktree(const Place& place, GitDirectory git) {
        const std::optional<std::string> text = place.read("gitdir", longest_line);
        if (!text) return;
        const std::string file(without_line_end(*text));
        if (!file.starts_with('/') || !file.ends_with("/.git")) return;
        git.work_tree = core::without_dots(parent_of(file));
        look_at_index_of(place.path(), git);
    }

    // git takes a directory with these entries for a bare repository, and obeys its settings. They
    // are ordinary names of a work tree, so no mount protects them.
    void look_for_bare(const std::string& directory) {
        const std::optional<Place> place = open(directory);
        const auto has = [&place](const char* name) {
            return place->kind(name) != EntryKind::missing;
        };
        if (!place || !has("HEAD")) return;
        if (!has("commondir") && !(has("objects") && has("refs"))) return;
        for (const char* const name : protected_controls) {
            const EntryKind kind = place->kind(name);
            if (kind == EntryKind::link)
                add(directory, name, fmt::format("a link to {}", place->target(name)), "");
            else if (kind != EntryKind::missing)
                judge(*place, name, {});
        }
    }

    const LookPlaces& places_;
    const std::set<std::string>* before_; // nullptr: the command has not started yet
    std::set<std::string> seen_;          // git directories
    std::set<std::string> indexes_;       // git directories whose index has been read
};

} // namespace

std::string protected_key(const std::string& path) {
    return path + "\nprotected";
}

std::set<std::string> seen_before(const LookPlaces& places) {
    Looking looking(places, nullptr);
    looking.look();
    return std::move(looking.keys);
}

std::vector<Danger> dangers_after(const LookPlaces& places, const std::set<std::string>& before) {
    Looking looking(places, &before);
    looking.look();
    return std::move(looking.dangers);
}

} // namespace ew::sandbox
