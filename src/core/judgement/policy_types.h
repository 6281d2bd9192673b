// The words in which a person, a rule or a client says what may run unasked and how confined.
#pragma once

#include <cstdint>

namespace ew::core {

// When a person is asked. "Do not ask" never means "do not confine": see SandboxMode.
enum class ApprovalPolicy : std::uint8_t {
    untrusted,  // only what is known to be harmless runs unasked
    on_failure, // run confined, ask when the sandbox stopped it
    on_request, // the sandbox protects; ask when a call asks to leave or widen it
    never,      // never ask: what would need a question is refused
    granular,   // like on_request, and a kind of question that is switched off is a refusal
};

// Which kinds of question `granular` allows.
struct GranularFlags {
    bool sandbox_approval = true;
    bool rules = true;
    bool skill_approval = true;
    bool request_permissions = true;
    bool mcp_elicitations = true;

    bool operator==(const GranularFlags&) const = default;
};

// How programs are confined.
enum class SandboxMode : std::uint8_t {
    danger_full_access, // not at all
    read_only,
    workspace_write,
    external_sandbox, // somebody else confines them
};

// What one call asks for beyond its session's confinement.
enum class SandboxPermissions : std::uint8_t {
    use_default,
    require_escalated,           // run unconfined
    with_additional_permissions, // stay confined, with more allowed
};

// Ordered: the larger is the stricter, and the strictest of several counts.
enum class Decision : std::uint8_t { allow, prompt, forbidden };

} // namespace ew::core
