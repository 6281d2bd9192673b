// Patches applied in a directory of the test's own.
#pragma once

#include "files/patch/patch_journal.h"
#include "files/patch/patching.h"
#include "support/patch_tree.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace ew::test {

inline std::string whole(std::string_view changes) {
    return "*** Begin Patch\n" + std::string(changes) + "*** End Patch\n";
}

inline files::PatchOrder order_in(const TempDirectory& directory, std::string_view changes) {
    return {directory.path(), whole(changes), {directory.path()}, {}};
}

// "" if it has worked.
inline std::string checked(const TempDirectory& directory, std::string_view changes,
                           files::PatchReport& report) {
    const files::Failure failure = check_patch(order_in(directory, changes), report);
    return failure ? failure->message : "";
}

inline std::string applied(const TempDirectory& directory, std::string_view changes) {
    files::PatchReport report;
    std::string message = checked(directory, changes, report);
    if (!message.empty()) return message;
    const files::Failure failure =
        apply_patch(order_in(directory, changes), {files::new_token(), report.digest}, report);
    return failure ? failure->message : "";
}

// All regular files below, whatever their names.
inline Tree tree_of(const TempDirectory& directory) {
    Tree tree;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
        if (!entry.is_regular_file()) continue;
        const std::string name = entry.path().string().substr(directory.path().size() + 1);
        tree[name] = directory.read(name);
    }
    return tree;
}

inline struct stat status_of(const std::string& path) {
    struct stat status = {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status;
}

// Permissions do not count for root. As long as this lives, we are nobody, who owns the directory.
class NotRoot {
public:
    explicit NotRoot(const TempDirectory& directory) : was_root_(::geteuid() == 0) {
        if (!was_root_) return;
        constexpr uid_t nobody = 65534;
        REQUIRE(::chown(directory.path().c_str(), nobody, nobody) == 0);
        for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path()))
            REQUIRE(::lchown(entry.path().c_str(), nobody, nobody) == 0);
        REQUIRE(::setegid(nobody) == 0);
        REQUIRE(::seteuid(nobody) == 0);
        REQUIRE(::prctl(PR_SET_DUMPABLE, 1) == 0); // else our own /proc is not ours (proc(5))
    }

    ~NotRoot() {
        if (!was_root_) return;
        (void)::seteuid(0); // was possible before
        (void)::setegid(0);
    }

    NotRoot(const NotRoot&) = delete;
    NotRoot& operator=(const NotRoot&) = delete;

private:
    bool was_root_;
};

} // namespace ew::test
