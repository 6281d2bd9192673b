// The rights of a confined program as one value: every form that a client or a setting uses becomes
// a policy. Nothing here looks at the file system; see plan.h for that.
#pragma once

#include "base/result.h"
#include "core/judgement/policy_types.h"
#include "core/network/hosts.h"
#include "os/known_directory.h"
#include "sandbox/policy/guarantees.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

enum class Access : std::uint8_t {
    read,
    write,
    deny
}; // the order of strength is deny, write, read

enum class Special : std::uint8_t {
    root,          // everything
    minimal,       // programs need these to start: /usr, /bin, /lib*, /etc, /opt, /nix, /proc, /dev
    project_roots, // each root of the workspace; without roots it matches nothing
    workspace,     // each root of the workspace; without roots the directory of the command
    tmpdir,        // $TMPDIR of the command
    slash_tmp,     // /tmp
    unknown,       // a kind that this version does not know: matches nothing
};

// The more specific path wins; of two for the same path deny wins over write, and write over read.
struct Entry {
    enum class Kind : std::uint8_t { path, glob, special };

    Kind kind = Kind::path;
    // An absolute path; a glob pattern (glob.h), which starts below the roots of the workspace and
    // the directory of the command unless it begins with '/'; or a path below the special place.
    std::string path = {};
    Special special = Special::root;
    Access access = Access::read;
    bool skip_if_missing = false;
    bool is_granted = false; // to one call: see Additions

    bool operator==(const Entry&) const = default;
};

enum class FileSystem : std::uint8_t {
    unrestricted,
    restricted, // to the entries
    external,   // another program restricts it
};

enum class Network : std::uint8_t {
    restricted,
    enabled,
    hosts, // those that rules allow (Context::hosts), by way of the server (gateway/gateway.h)
};

// The effect of a missing guarantee that the policy needs.
enum class Enforcement : std::uint8_t {
    require,     // the command does not run
    best_effort, // the command runs, and the missing guarantees are reported
};

// Where known tools keep their caches (plan/tool_caches.h).
enum class Caches : std::uint8_t {
    usual,
    of_session, // in the session's private /tmp, if there is one
    of_command, // where no other command can change them: for one that was granted more
};

struct Policy {
    FileSystem file_system = FileSystem::restricted;
    std::vector<Entry> entries = {};
    std::optional<std::uint64_t> glob_depth = {}; // levels of directories that a glob searches
    Network network = Network::restricted;
    bool has_private_tmp = false;  // /tmp is empty, writable, and gone afterwards
    bool keeps_writes = false;     // the sandbox's own directories, as /dev/shm, are read-only
    bool protects_metadata = true; // .git, .agents, … in writable roots
    // Further places that stay read-only where they exist in writable ones, if metadata is
    // protected: names below each writable root, absolute paths, and "~/…" in the home directory.
    std::vector<std::string> read_only = {};
    bool reports_writes = false; // refused writes become denials; costs a switch for each open
    Caches caches = Caches::usual;
    Enforcement enforcement = Enforcement::require;
    bool is_wanted = false; // a sandbox is made even if it enforces nothing

    bool operator==(const Policy&) const = default;
};

// The place of the command, for the special places.
struct Context {
    std::string cwd = {};
    std::vector<std::string> workspace_roots = {};
    std::string tmpdir = {}; // $TMPDIR of the command; empty: none
    // execward's own configuration, rules and state, which no sandbox shows.
    std::vector<std::string> hidden = {};
    // execward's own programs and bubblewrap, by the paths that the next start uses: no sandbox may
    // write them. Missing paths are left out.
    std::vector<std::string> read_only = {};
    std::string home = {}; // of the user; empty: unknown
    // Protected names that do not exist stay absent while the command runs, and what has appeared
    // there is looked at afterwards (sandbox/aftermath). If false, placeholders hold them.
    bool looks_afterwards = false;
    // Roots as they were when the session first named them: a plan refuses one that has become
    // something else since.
    std::vector<os::KnownDirectory> known = {};
    std::vector<core::HostRule> hosts = {}; // with Network::hosts
};

// The settings of the modes.
struct ModeOptions {
    std::vector<std::string> writable_roots = {};
    std::vector<std::string> deny_read = {}; // paths, or glob patterns: see core::is_pattern
    bool has_network = false;
    bool has_hosts = false;          // the network by host, which counts before has_network
    bool shares_tmp = false;         // /tmp and $TMPDIR are the machine's, and writable
    bool excludes_slash_tmp = false; // with shares_tmp: /tmp is not writable
    bool excludes_tmpdir = false;
    bool reports_writes = false;
    bool has_private_caches = false;
    Enforcement enforcement = Enforcement::require;
    std::vector<std::string> read_only = {}; // see Policy

    bool operator==(const ModeOptions&) const = default;
};

// For danger-full-access and external-sandbox, needs_sandbox() returns false for the policy. The
// mode read-only has a private /tmp too, which is writable: no file in it is the machine's, and
// most programs need one. With shares_tmp it is the machine's, and read-only in that mode.
Policy policy_of(core::SandboxMode mode, const ModeOptions& options);

// Does the policy enforce anything, or ask for a sandbox anyway? (unified exec 7.3: an unrestricted
// file system with a restricted network still needs a sandbox; an external one never does.)
bool needs_sandbox(const Policy& policy);

// Adds rights that a call was granted beyond its policy: paths to read and write, the network. An
// unrestricted or external policy stays as it is. The network is never restricted by this.
struct Additions {
    std::vector<std::string> read = {};
    std::vector<std::string> write = {};
    bool network = false;
    std::vector<std::string> hosts = {}; // as core::allowed_host() reads them

    bool empty() const { return read.empty() && write.empty() && !network && hosts.empty(); }

    bool operator==(const Additions&) const = default;
};

Policy widened(Policy policy, const Additions& additions);

// The network of the widened policy.
Network widened_network(const Policy& policy, const Additions& additions);

// Returns the guarantees that the policy needs. Abstract sockets share the network's namespace, so
// a policy needs that guarantee only if it restricts the network; it needs those of socket files
// and named pipes only if some paths are not writable.
GuaranteeSet needed_by(const Policy& policy);

// Errors (invalid_params; `path` names the entry): a relative path, ".." in it, a NUL, a glob that
// cannot be expanded, more than most_entries. An entry with an unknown special place is not
// checked.
constexpr std::size_t most_entries = 4096;
Result<void> check(const Policy& policy);

} // namespace ew::sandbox
