// What the search of the workspace is to look for, as the rules of a policy need it.
#pragma once

#include "sandbox/plan/path_rules.h"
#include "sandbox/policy/policy.h"
#include "sandbox/walk/walk_order.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ew::sandbox {

// The workspace roots and the directory of the command, as they are named.
std::vector<std::string> workspace_of(const Context& context);

class SearchOrder {
public:
    explicit SearchOrder(const Policy& policy) : seeks_repositories_(policy.protects_metadata) {}

    // What matches is to be hidden because of that entry.
    void hide(WalkPattern pattern, Entry entry);

    // Repositories are looked for in what is writable.
    void add_rules(const PathRules& rules);
    void add_root(const ResolvedPath& place);

    const WalkOrder& walk() const { return walk_; }

    // The entry of a pattern of the walk.
    const Entry& entry(std::size_t pattern) const { return entries_[pattern]; }

private:
    bool seeks_repositories_;
    WalkOrder walk_;
    std::vector<Entry> entries_;
};

} // namespace ew::sandbox
