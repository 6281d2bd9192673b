// The settings by which a person, a rule or a client says which commands run without a question,
// and how they are confined.
#pragma once

#include <cstdint>

namespace ew::core {

// When a person is asked. "Never ask" does not mean "do not confine": see SandboxMode.
enum class ApprovalPolicy : std::uint8_t {
    untrusted,  // only commands known to be harmless run without a question
    on_failure, // run confined; ask if the sandbox stopped the command
    on_request, // run confined; ask if a call wants to leave or widen the sandbox
    never,      // never ask; refuse a call that would need a question
    granular,   // like on_request, but refuse the kinds of question that are switched off
};

// The kinds of question that `granular` allows.
struct GranularFlags {
    bool sandbox_approval = true;
    bool rules = true;
    bool skill_approval = true;
    bool request_permissions = true;
    bool mcp_elicitations = true;

    bool operator==(const GranularFlags&) const = default;
};

// The confinement of programs.
enum class SandboxMode : std::uint8_t {
    danger_full_access, // no confinement
    read_only,
    workspace_write,
    external_sandbox, // another program confines them
};

// The permissions that a call asks for beyond its session's confinement.
enum class SandboxPermissions : std::uint8_t {
    use_default,
    require_escalated,           // run unconfined
    with_additional_permissions, // stay confined with more permissions
};

// Ordered by strictness: a larger value is stricter, and the strictest of several counts.
enum class Decision : std::uint8_t { allow, prompt, forbidden };

// What is done to the environment of a script that runs without a question because commands of it
// are known to be harmless (core::hardened()).
enum class Hardening : std::uint8_t {
    none,
    settings, // some commands are: pagers and git settings prevent a repository's own settings from
              // starting programs where git allows that; the locale is C.UTF-8
    all,      // all commands are: also, only inert variables are left, PATH, HOME, and those that
              // name the user and the session
};

} // namespace ew::core
