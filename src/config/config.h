// All settings with their defaults, and config.toml, which changes them. settings.h describes the
// meaning of each setting.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "core/environment.h"
#include "core/judgement/policy_types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::config {

// What happens to a command if its confinement is not completely available.
enum class Enforcement : std::uint8_t {
    require,     // the command does not run
    best_effort, // the command runs, and the answer names the missing parts
};

// Places of other agents, of editors and of tools that run what is written there, and the settings
// of the user's own git and shells.
std::vector<std::string> usual_read_only();

// The permissions and denials of read-only and workspace-write beyond the mode.
struct ConfinementOptions {
    std::vector<std::string> writable_roots = {}; // absolute
    std::vector<std::string> deny_read = {};      // absolute; or patterns (core::is_pattern)
    bool network_access = false;
    bool network_by_host = false; // the hosts that rules allow; counts before network_access
    bool network_observe = false; // every public host; counts before network_by_host
    // The proxy of a network by host: empty, as the environment says; "off"; see
    // core::read_proxy().
    std::string network_proxy = {};
    bool shared_tmp = false; // the sandbox uses the machine's /tmp and $TMPDIR
    bool exclude_slash_tmp = false;
    bool exclude_tmpdir_env_var = false;
    Enforcement enforcement = Enforcement::require;
    bool report_writes = false;
    bool private_caches = true; // known tools keep their caches in the session's own /tmp
    // What stays read-only where it exists: names below each writable root, absolute paths, and
    // "~/…" in the home directory.
    std::vector<std::string> read_only = usual_read_only();
};

// A place other than this machine where commands can run. Its server is started as a program, and
// is reached through the program's stdin and stdout.
struct Environment {
    std::string id = {};
    std::string program = {}; // an absolute path, or a name that is looked up in the server's PATH
    std::vector<std::string> args = {};
    core::Variables env = {}; // added to the server's own variables
    std::string cwd = {};     // directory of the program on this machine; empty: the server's
    std::vector<std::string> workspace_roots = {}; // there; empty: the directory that it reports
    std::optional<core::SandboxMode> sandbox = {}; // absent: the sandbox of the session
    Millis initialize_timeout{20'000};             // from the start until the end of the handshake
};

constexpr std::size_t most_environments = 64;
constexpr std::size_t longest_environment_id = 64;      // bytes
constexpr std::string_view local_environment = "local"; // reserved: this machine

struct Config {
    core::ApprovalPolicy approval_policy = core::ApprovalPolicy::on_request;
    core::GranularFlags granular = {};
    Millis approval_timeout{0}; // 0: no timeout
    core::SandboxMode sandbox = core::SandboxMode::workspace_write;
    ConfinementOptions confinement = {};

    std::string shell = {}; // empty: the user's shell
    bool login_shell = false;
    std::uint64_t max_output_tokens = 10'000;
    Millis default_yield{10'000};
    Millis write_yield{250};
    Millis min_yield{250};
    Millis max_yield{30'000};
    Millis min_poll{5'000};
    Millis max_poll{300'000};
    core::EnvironmentPolicy environment = {};
    std::string default_environment = {}; // empty or "local": this machine
    std::vector<Environment> environments = {};

    std::string database = {}; // empty: Paths::state_database
    Millis audit_flush{1'000};
    int audit_keep_days = 90;   // 0: forever
    int session_keep_days = 30; // since its last use
};

constexpr std::uint64_t most_output_tokens = 262'144; // a little over the 1 MiB that is kept

struct ConfigFile {
    Config config;
    bool exists = false;
    std::vector<std::string> given; // names of the settings in the file: "environment.set"
};

enum class WhenMissing : std::uint8_t { use_defaults, fail };

// Reads a settings file. An empty path counts as a missing file. Errors: config_invalid with a line
// "FILE:LINE:COL: …" for each mistake, or if another user could have written the file.
Result<ConfigFile> load_config(const std::string& path, WhenMissing when_missing);

// The same for a text; `name` is its name in messages.
Result<ConfigFile> parse_config(const std::string& text, const std::string& name);

} // namespace ew::config
