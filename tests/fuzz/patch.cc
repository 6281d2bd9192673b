// A file, a NUL and a patch: the patch is read or refused, and an update fits the file or does not,
// the same each time. What is made of it has bounds.
#include "fuzz/scenes.h"
#include "patch/apply.h"
#include "patch/diff.h"
#include "patch/parse.h"
#include "patch/recognise.h"

#include <algorithm>
#include <variant>

namespace ew::fuzz {

namespace {

using patch::Patch;
using patch::Update;
using patch::Updated;

constexpr std::size_t longest_message = 20'000;

void require_bounded(const Error& error) {
    require(!error.message.empty());
    require(error.message.size() + error.hint.size() < longest_message);
}

void show(std::string_view before, std::string_view after) {
    constexpr std::size_t most_bytes = 500;
    constexpr std::size_t beside = 100; // names and last line
    const std::string diff =
        patch::unified_diff(before, after, "a", "b", {.most_bytes = most_bytes});
    require(diff.empty() == (before == after));
    require(diff.size() <= most_bytes + beside);
}

void apply(const Update& update, std::string_view file, std::size_t patch_size) {
    Result<Updated> updated = patch::apply(update, file);
    Result<Updated> again = patch::apply(update, file);
    require(static_cast<bool>(updated) == static_cast<bool>(again));
    if (!updated) {
        require_bounded(updated.error());
        require(updated.error().message == again.error().message);
        return;
    }
    require(updated->bytes == again->bytes);
    require(updated->bytes.size() <= file.size() + 2 * patch_size);
    require(updated->matches.size() == update.chunks.size());
    for (const patch::ChunkMatch& match : updated->matches)
        require(match.line >= 1 && match.line <= file.size() + 1);
    show(file, updated->bytes);
}

void recognise(std::string_view text) {
    (void)patch::recognise({"bash", "-c", std::string(text)}); // must end
    Result<std::optional<patch::PatchCall>> call =
        patch::recognise({"apply_patch", std::string(text)});
    require(call && *call && (*call)->patch == text);
}

} // namespace

void patch(std::string_view input) {
    const std::size_t nul = std::min(input.find('\0'), input.size());
    const std::string_view file = input.substr(0, nul);
    const std::string_view text = input.substr(std::min(nul + 1, input.size()));
    recognise(text);
    show(file, text);
    Result<Patch> parsed = patch::parse(text);
    if (!parsed) return require_bounded(parsed.error());
    require(!parsed->changes.empty());
    for (const patch::FileChange& change : parsed->changes)
        if (const auto* update = std::get_if<Update>(&change.change))
            apply(*update, file, text.size());
}

} // namespace ew::fuzz
