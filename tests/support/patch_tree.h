// Files in memory, and patches applied to them as the server does it on disk, but in one step.
#pragma once

#include "patch/apply.h"
#include "patch/parse.h"

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ew::test {

using Tree = std::map<std::string, std::string>; // content by path

struct Patched {
    Tree tree;
    std::map<std::string, std::vector<patch::ChunkMatch>> matches; // by the old path
};

inline Result<void> carry_out(const patch::FileChange& change, const Tree& before,
                              Patched& patched) {
    if (const auto* addition = std::get_if<patch::Addition>(&change.change)) {
        patched.tree[change.path] = addition->contents;
        return {};
    }
    const auto old = before.find(change.path);
    if (old == before.end()) return Error{ErrorKind::not_found, "no file " + change.path};
    patched.tree.erase(change.path);
    const auto* update = std::get_if<patch::Update>(&change.change);
    if (update == nullptr) return {};
    patch::Updated updated = TRY(patch::apply(*update, old->second));
    const bool stays = update->destination.empty();
    patched.tree[stays ? change.path : update->destination] = std::move(updated.bytes);
    patched.matches[change.path] = std::move(updated.matches);
    return {};
}

inline Result<Patched> patched(std::string_view text, const Tree& before) {
    const patch::Patch patch = TRY(patch::parse(text));
    Patched patched = {before, {}};
    for (const patch::FileChange& change : patch.changes)
        TRY(carry_out(change, before, patched));
    return patched;
}

} // namespace ew::test
