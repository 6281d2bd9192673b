#include "sandbox/init/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ew::sandbox::init::landlock {

namespace {

constexpr int rule_path_beneath = 1; // LANDLOCK_RULE_PATH_BENEATH

struct [[gnu::packed]] PathBeneath {
    std::uint64_t allowed = 0;
    std::int32_t parent = -1;
};

static_assert(sizeof(PathBeneath) == 12);

bool is_known(const Known& known, const char* path, const struct stat& status) {
    for (std::uint32_t i = 0; i < known.count; ++i) {
        const order_format::Expected& expected = known.expected[i];
        if (!order_format::has_identity(expected.kind)) continue;
        if (std::strcmp(known.paths[i], path) != 0) continue;
        return status.st_dev == expected.device && status.st_ino == expected.inode;
    }
    return true;
}

struct Rules {
    int ruleset = -1;
    Known known = {};
};

int allow(const Rules& rules, const char* path, std::uint64_t rights) {
    const int place = ::open(path, O_PATH | O_CLOEXEC);
    if (place < 0) return errno == ENOENT ? 0 : errno;
    struct stat status = {};
    int error = ::fstat(place, &status) == 0 ? 0 : errno;
    if (error == 0 && !is_known(rules.known, path, status)) error = ESTALE;
    if (error == 0) {
        PathBeneath rule;
        rule.allowed = S_ISDIR(status.st_mode) ? rights : rights & file_rights;
        rule.parent = place;
        if (::syscall(SYS_landlock_add_rule, rules.ruleset, rule_path_beneath, &rule, 0) != 0)
            error = errno;
    }
    ::close(place);
    return error;
}

Failure allow_all(const Rules& rules, const char* const* paths, std::uint64_t rights) {
    for (; *paths != nullptr; ++paths) {
        if (const int error = allow(rules, *paths, rights); error != 0) return {error, *paths};
    }
    return {};
}

// The terminal is on a file system that the sandbox does not show.
int allow_terminal(int ruleset, unsigned abi) {
    PathBeneath rule;
    rule.allowed = content_rights(abi) & file_rights;
    rule.parent = STDIN_FILENO;
    const long result = ::syscall(SYS_landlock_add_rule, ruleset, rule_path_beneath, &rule, 0);
    return result == 0 ? 0 : errno;
}

Failure fill_and_apply(int ruleset, const Wish& wish) {
    const Rules rules = {ruleset, wish.known};
    if (const Failure failure = allow_all(rules, wish.writable, write_rights(wish.abi));
        failure.error != 0)
        return failure;
    if (const Failure failure = allow_all(rules, wish.device_writable, content_rights(wish.abi));
        failure.error != 0)
        return failure;
    if (wish.has_terminal)
        if (const int error = allow_terminal(ruleset, wish.abi); error != 0) return {error, ""};
    if (::syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) return {errno, ""};
    return {};
}

} // namespace

Failure restrict_self(const Wish& wish) {
    RulesetAttributes attributes;
    attributes.handled_files = write_rights(wish.abi);
    if (wish.scopes_sockets_and_signals && wish.abi >= 6)
        attributes.scoped = abstract_sockets | signals;
    const long ruleset =
        ::syscall(SYS_landlock_create_ruleset, &attributes, attributes_size(wish.abi), 0);
    if (ruleset < 0) return {errno, ""};
    const Failure failure = fill_and_apply(static_cast<int>(ruleset), wish);
    ::close(static_cast<int>(ruleset));
    return failure;
}

} // namespace ew::sandbox::init::landlock
