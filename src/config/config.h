// Every setting with its default, and config.toml, which changes them. What each one means is said
// once, in settings.h.
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

// What happens to a command if its confinement cannot be had in full.
enum class Enforcement : std::uint8_t {
    require,     // it does not run
    best_effort, // it runs, and what is missing is told
};

// What the confinement of read-only and workspace-write allows and denies beyond the mode.
struct ConfinementOptions {
    std::vector<std::string> writable_roots = {}; // absolute
    std::vector<std::string> deny_read = {};      // absolute; patterns if they hold * ? [
    bool network_access = false;
    bool shared_tmp = false; // /tmp and $TMPDIR are the machine's
    bool exclude_slash_tmp = false;
    bool exclude_tmpdir_env_var = false;
    Enforcement enforcement = Enforcement::require;
    bool report_writes = false;
};

// Where commands can run beside this machine: behind a server that is started as a program and
// spoken to over its standard input and output.
struct Environment {
    std::string id = {};
    std::string program = {}; // a name, looked up in the server's PATH, or an absolute path
    std::vector<std::string> args = {};
    core::Variables env = {};                      // over the server's own
    std::string cwd = {};                          // of the program, here; empty: the server's
    std::vector<std::string> workspace_roots = {}; // there; none: the directory that it reports
    std::optional<core::SandboxMode> sandbox = {}; // absent: as the session says
    Millis initialize_timeout{20'000};             // from its start to the end of the handshake
};

constexpr std::size_t most_environments = 64;
constexpr std::size_t longest_environment_id = 64;      // bytes
constexpr std::string_view local_environment = "local"; // names this machine, and none of these

struct Config {
    core::ApprovalPolicy approval_policy = core::ApprovalPolicy::on_request;
    core::GranularFlags granular = {};
    Millis approval_timeout{0}; // 0: none
    core::SandboxMode sandbox = core::SandboxMode::workspace_write;
    ConfinementOptions confinement = {};

    std::string shell = {}; // empty: the user's
    bool login_shell = false;
    std::uint64_t max_output_tokens = 10'000;
    Millis default_yield{10'000};
    Millis write_yield{250};
    Millis min_yield{250};
    Millis max_yield{30'000};
    Millis min_poll{5'000};
    Millis max_poll{300'000};
    core::EnvironmentPolicy environment = {};
    std::string default_environment = {}; // empty, or "local": this machine
    std::vector<Environment> environments = {};

    std::string database = {}; // empty: Paths::state_database
    Millis audit_flush{1'000};
    int audit_keep_days = 90;   // 0: for ever
    int session_keep_days = 30; // since the last use
};

constexpr std::uint64_t most_output_tokens = 262'144; // the 1 MiB of output that is kept, and over

struct ConfigFile {
    Config config;
    bool exists = false;
    std::vector<std::string> given; // names of the settings that the file has: "environment.set"
};

enum class WhenMissing : std::uint8_t { use_defaults, fail };

// Reads a file of settings. An empty path is a file that is missing. Errors: config_invalid, with a
// line "FILE:LINE:COL: …" for each mistake; also if somebody else could have written the file.
Result<ConfigFile> load_config(const std::string& path, WhenMissing when_missing);

// The same of text that is at hand; `name` is what messages call it.
Result<ConfigFile> parse_config(const std::string& text, const std::string& name);

} // namespace ew::config
