// What a confined program may do, as one value: every form in which a client or a setting says it
// becomes this. Nothing here looks at the file system; see plan.h for that.
#pragma once

#include "base/result.h"
#include "core/judgement/policy_types.h"
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
    minimal,       // what programs need to start: /usr, /bin, /lib*, /etc, /opt, /nix, /proc, /dev
    project_roots, // each root of the workspace; without any it matches nothing
    workspace,     // each root of the workspace; without any the directory of the command
    tmpdir,        // $TMPDIR of the command
    slash_tmp,     // /tmp
    unknown,       // a kind that this version does not know: matches nothing
};

// The more specific path wins; of two for the same path deny before write before read.
struct Entry {
    enum class Kind : std::uint8_t { path, glob, special };

    Kind kind = Kind::path;
    // Absolute path, glob pattern (globs.h; one that does not begin with '/' is looked for below
    // the roots of the workspace and the directory of the command), or what is below the special
    // place.
    std::string path = {};
    Special special = Special::root;
    Access access = Access::read;
    bool skip_if_missing = false;

    bool operator==(const Entry&) const = default;
};

enum class FileSystem : std::uint8_t {
    unrestricted,
    restricted, // to the entries
    external,   // somebody else restricts it
};

enum class Network : std::uint8_t { restricted, enabled };

// What happens if a guarantee that the policy needs cannot be had.
enum class Enforcement : std::uint8_t {
    require,     // the command does not run
    best_effort, // it runs, and what is missing is told
};

struct Policy {
    FileSystem file_system = FileSystem::restricted;
    std::vector<Entry> entries = {};
    std::optional<std::uint64_t> glob_depth = {}; // directories below which globs are looked for
    Network network = Network::restricted;
    bool has_private_tmp = false;  // /tmp is empty, writable, and gone afterwards
    bool keeps_writes = false;     // what would go with the sandbox, as in /dev/shm, is read-only
    bool protects_metadata = true; // .git, .agents, … in writable roots
    bool reports_writes = false;   // refused writes become denials; costs a switch for each open
    Enforcement enforcement = Enforcement::require;
    bool is_wanted = false; // a sandbox is made even if there is nothing to enforce

    bool operator==(const Policy&) const = default;
};

// Where the command runs, for the special places.
struct Context {
    std::string cwd = {};
    std::vector<std::string> workspace_roots = {};
    std::string tmpdir = {}; // $TMPDIR of the command; empty: none
    // execward's own configuration, rules and state, which no sandbox sees.
    std::vector<std::string> hidden = {};
    // execward's own programs and bubblewrap, by the names under which the next start looks for
    // them: no sandbox writes them. What is missing is left out.
    std::vector<std::string> read_only = {};
    std::string home = {}; // of the user; empty: not known
};

// The settings of the modes.
struct ModeOptions {
    std::vector<std::string> writable_roots = {};
    std::vector<std::string> deny_read = {}; // paths, or glob patterns if they hold * ? [
    bool has_network = false;
    bool shares_tmp = false;         // /tmp and $TMPDIR are the machine's, and writable
    bool excludes_slash_tmp = false; // with shares_tmp: /tmp is not writable
    bool excludes_tmpdir = false;
    bool reports_writes = false;
    Enforcement enforcement = Enforcement::require;

    bool operator==(const ModeOptions&) const = default;
};

// danger-full-access and external-sandbox give a policy that needs_sandbox() denies. read-only too
// has a /tmp of its own, which can be written: nothing of it is the machine's, and few programs do
// without. With shares_tmp it is the machine's, and read-only in that mode.
Policy policy_of(core::SandboxMode mode, const ModeOptions& options);

// Is there anything to enforce, or a sandbox wanted anyway? (unified exec 7.3: an unrestricted file
// system with a restricted network still needs a sandbox; an external one never does.)
bool needs_sandbox(const Policy& policy);

// Adds what a call was granted beyond its policy: paths to read and write, the network. An
// unrestricted or external policy stays as it is. The network is only ever widened.
struct Additions {
    std::vector<std::string> read = {};
    std::vector<std::string> write = {};
    bool network = false;

    bool empty() const { return read.empty() && write.empty() && !network; }

    bool operator==(const Additions&) const = default;
};

Policy widened(Policy policy, const Additions& additions);

// The promises that the policy makes. Abstract sockets share the network's namespace, so they are
// promised only where the network is restricted; socket files and named pipes only where not all
// can be written.
GuaranteeSet needed_by(const Policy& policy);

// Errors (invalid_params, with `path` naming the entry): a relative path, ".." in it, a NUL, a glob
// that cannot be expanded, more than most_entries. Of an unknown special place nothing is asked.
constexpr std::size_t most_entries = 4096;
Result<void> check(const Policy& policy);

} // namespace ew::sandbox
