#include "files/patch/patch_plan.h"

#include "core/sha256.h"
#include "core/text/display.h"
#include "core/text/paths.h"
#include "files/patch/patch_places.h"
#include "files/stand_ins.h"
#include "patch/diff.h"
#include "patch/parse.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <variant>

namespace ew::files {

namespace {

using patch::Addition;
using patch::FileChange;
using patch::Update;

Failed unfit(Error error) {
    const Trouble trouble = error.kind == ErrorKind::limit ? Trouble::limit : Trouble::unfit;
    return {trouble, std::move(error.message), std::move(error.hint)};
}

// Counts the added and removed lines of a diff, behind its two names.
void count_lines(PatchedFile& file) {
    std::string_view rest = file.diff;
    for (int line = 0; !rest.empty(); ++line) {
        if (line >= 2 && rest.front() == '+') ++file.added;
        if (line >= 2 && rest.front() == '-') ++file.removed;
        rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    }
}

void cut(std::string& diff, std::size_t most) {
    if (diff.size() <= most) return;
    const std::size_t end = diff.rfind('\n', most);
    diff.resize(end == std::string::npos ? 0 : end + 1);
    diff += "… the rest of this file is not shown\n";
}

class Planner {
public:
    Planner(const PatchOrder& order, PatchPlan& plan)
        : order_(order), plan_(plan), stand_ins_(order.stand_ins) {}

    Failure add(const FileChange& change) {
        if (const auto* addition = std::get_if<Addition>(&change.change))
            return add_addition(change, *addition);
        if (const auto* update = std::get_if<Update>(&change.change))
            return add_update(change, *update);
        return add_deletion(change);
    }

    Failure finish() {
        for (const auto& [path, file] : plan_.files)
            if (Failure failure = check_above(path, file)) return failure;
        add_stand_ins();
        std::ranges::sort(plan_.report.directories);
        plan_.report.digest = digest_of(plan_.report);
        return {};
    }

private:
    Failure add_addition(const FileChange& change, const Addition& addition) {
        PatchedFile file;
        file.kind = PatchedKind::add;
        file.shown = change.path;
        PlannedFile* planned = nullptr;
        if (Failure failure = look(change.path, Wanted::file_or_none, file.path, planned))
            return failure;
        if (planned->before) file.kind = PatchedKind::update; // it is replaced
        planned->new_bytes = addition.contents;
        describe(file, *planned, *planned);
        return keep(std::move(file));
    }

    Failure add_deletion(const FileChange& change) {
        PatchedFile file;
        file.kind = PatchedKind::remove;
        file.shown = change.path;
        PlannedFile* planned = nullptr;
        if (Failure failure = look(change.path, Wanted::no_link, file.path, planned))
            return failure;
        describe(file, *planned, *planned);
        return keep(std::move(file));
    }

    Failure add_update(const FileChange& change, const Update& update) {
        const bool moves = !update.destination.empty();
        PatchedFile file;
        file.kind = moves ? PatchedKind::move : PatchedKind::update;
        file.shown = change.path;
        PlannedFile* from = nullptr;
        if (Failure failure =
                look(change.path, moves ? Wanted::no_link : Wanted::file, file.path, from))
            return failure;
        patch::Updated updated = {from->old_bytes, {}};
        if (!update.chunks.empty()) {
            Result<patch::Updated> result = patch::apply(update, from->old_bytes);
            if (!result) return misfit(change.path, std::move(result.error()));
            updated = std::move(*result);
        }
        file.matches = std::move(updated.matches);
        PlannedFile* to = from;
        if (moves) {
            file.shown_destination = update.destination;
            if (Failure failure =
                    look(update.destination, Wanted::file_or_none, file.destination, to))
                return failure;
            if (to->before) file.replaced_digest = core::sha256(to->old_bytes);
            to->moved_from = file.path;
        }
        to->new_bytes = std::move(updated.bytes);
        describe(file, *from, *to);
        return keep(std::move(file));
    }

    static Failed misfit(const std::string& shown, Error error) {
        error.message = shown + ": " + error.message;
        return unfit(std::move(error));
    }

    // Finds and reads a file. A file may be named only once, whichever path leads to it.
    Failure look(const std::string& shown, Wanted wanted, std::string& path,
                 PlannedFile*& planned) {
        const std::string whole = shown.starts_with('/') ? shown : order_.base + "/" + shown;
        Located located;
        if (Failure failure = locate(whole, shown, wanted, located)) return failure;
        if (Failure failure = check_inside(located, shown, order_.roots)) return failure;
        const auto [entry, is_new] = plan_.files.try_emplace(located.path);
        if (!is_new) return same_file(entry->second.shown, shown);
        path = located.path;
        planned = &entry->second;
        planned->shown = shown;
        if (!located.made.empty()) return note_made(located, shown);
        return read(located.place, wanted, *planned);
    }

    static Failed same_file(const std::string& one, const std::string& other) {
        return failed(Trouble::unfit, other, "is the same file as " + one + ", named twice");
    }

    Failure note_made(const Located& located, const std::string& shown) {
        for (const std::string& directory : located.made)
            if (std::ranges::find(plan_.report.directories, directory) ==
                plan_.report.directories.end())
                plan_.report.directories.push_back(directory);
        if (plan_.report.directories.size() <= most_made_directories) return {};
        return failed(Trouble::limit, shown, "the patch needs too many new directories");
    }

    Failure read(const EntryRef& place, Wanted wanted, PlannedFile& planned) {
        const std::string& shown = planned.shown;
        struct stat status = {};
        const bool is_there =
            ::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (!is_there && (errno != ENOENT || wanted != Wanted::file_or_none))
            return failed(shown, errno);
        if (!is_there) return {};
        if (stand_ins_.contain(status)) {
            if (wanted == Wanted::file_or_none) return protects(shown);
            return failed(shown, ENOENT);
        }
        UniqueFd file;
        if (Failure failure = open_regular(shown, place, O_RDONLY | O_NOFOLLOW, file))
            return failure;
        if (::fstat(file.get(), &status) != 0) return failed(shown, errno);
        const auto [twin, is_new] = known_.try_emplace({status.st_dev, status.st_ino}, shown);
        if (!is_new) return same_file(twin->second, shown);
        if (Failure failure = read_bounded(shown, file.get(), planned.old_bytes)) return failure;
        planned.before = status;
        return {};
    }

    void describe(PatchedFile& file, const PlannedFile& from, const PlannedFile& to) {
        constexpr std::string_view nothing;
        if (from.before) file.old_digest = core::sha256(from.old_bytes);
        if (to.new_bytes) file.new_digest = core::sha256(*to.new_bytes);
        const std::string no_name = "/dev/null";
        patch::DiffLimits limits;
        limits.most_bytes = 4 * patch::largest_file;
        file.diff = patch::unified_diff(from.before ? std::string_view(from.old_bytes) : nothing,
                                        to.new_bytes ? std::string_view(*to.new_bytes) : nothing,
                                        from.before ? core::visible(from.shown) : no_name,
                                        to.new_bytes ? core::visible(to.shown) : no_name, limits);
        count_lines(file);
        cut(file.diff, std::min(longest_diff, longest_diffs - std::min(shown_, longest_diffs)));
        shown_ += file.diff.size();
    }

    Failure keep(PatchedFile file) {
        for (const std::string* path : {&file.path, &file.destination}) {
            const auto found = plan_.files.find(*path);
            if (found == plan_.files.end()) continue;
            const PlannedFile& planned = found->second;
            bytes_ +=
                planned.old_bytes.size() + (planned.new_bytes ? planned.new_bytes->size() : 0);
        }
        if (bytes_ > most_patched_bytes)
            return failed(Trouble::limit, file.shown,
                          "the files of the patch have more than " +
                              std::to_string(most_patched_bytes >> 20) + " MiB together");
        plan_.report.files.push_back(std::move(file));
        return {};
    }

    // A directory that is only a placeholder in the sandbox counts as missing.
    void add_stand_ins() {
        for (const std::string& place : order_.stand_ins)
            if (std::ranges::any_of(plan_.files, [&place](const auto& entry) {
                    return core::is_below(entry.first, place);
                }))
                plan_.report.directories.push_back(place);
    }

    // A file cannot also be a directory.
    Failure check_above(const std::string& path, const PlannedFile& file) const {
        for (std::string above = core::parent_of(path); above != "/";
             above = core::parent_of(above)) {
            const auto found = plan_.files.find(above);
            if (found == plan_.files.end()) continue;
            return failed(Trouble::unfit, file.shown,
                          "lies in " + found->second.shown + ", which the patch has as a file");
        }
        return {};
    }

    const PatchOrder& order_;
    PatchPlan& plan_;
    StandIns stand_ins_;
    std::map<std::pair<dev_t, ino_t>, std::string> known_ = {};
    std::size_t bytes_ = 0;
    std::size_t shown_ = 0; // bytes of diffs so far
};

} // namespace

Failure read_bounded(const std::string& path, int file, std::string& bytes) {
    bytes.clear();
    std::array<char, 64 << 10> block;
    for (;;) {
        const ssize_t count = ::read(file, block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failed(path, errno);
        if (count == 0) return {};
        bytes.append(block.data(), static_cast<std::size_t>(count));
        if (bytes.size() > patch::largest_file)
            return failed(Trouble::limit, path,
                          "has more than " + std::to_string(patch::largest_file >> 20) + " MiB");
    }
}

Failure plan_patch(const PatchOrder& order, PatchPlan& plan) {
    plan = {};
    Result<patch::Patch> parsed = patch::parse(order.patch);
    if (!parsed) return unfit(std::move(parsed.error()));
    Planner planner(order, plan);
    for (const FileChange& change : parsed->changes)
        if (Failure failure = planner.add(change)) return failure;
    return planner.finish();
}

} // namespace ew::files
