// The values that the database stores.
#pragma once

#include "base/clock.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ew::store {

using UnixMs = std::int64_t; // milliseconds since 1970, UTC, for stored times

// Both clocks at one moment: stored times are wall time, deadlines are monotonic.
struct Moment {
    UnixMs wall = 0;
    TimePoint steady = {};

    static Moment now();
};

// The scope of a grant, narrowest first. The first three end with their session.
enum class GrantScope : std::uint8_t {
    directory, // this session, in exactly this directory
    workspace, // this session, anywhere at or below the directory
    session,   // this session, everywhere
    project,
    always,
};

enum class GrantKind : std::uint8_t {
    command,  // one command: its key must be equal
    prefix,   // every command that begins with these words
    denial,   // one command is refused: its key must be equal
    question, // allows nothing: nobody could be asked about this command so far
    host,     // connections to one host and port: its key must be equal
};

std::string_view name_of(GrantScope scope);
std::string_view name_of(GrantKind kind);
std::optional<GrantScope> scope_of(std::string_view name);
std::optional<GrantKind> kind_of(std::string_view name);

inline bool ends_with_session(GrantScope scope) {
    return scope == GrantScope::directory || scope == GrantScope::workspace ||
           scope == GrantScope::session;
}

// A permission that a person granted, or a refusal.
struct Grant {
    std::int64_t id = 0; // never reused
    GrantKind kind = GrantKind::command;
    GrantScope scope = GrantScope::directory;
    // kinds command and denial: canonical argv, confinement and extra permissions as JSON; all of
    // it must be equal. kind prefix: the words as a JSON array. kind host, and a denial of one:
    // "network", host and port as a JSON array.
    std::string key = {};
    std::string directory = {}; // scope directory: this one; scope workspace: its root
    std::string session = {};   // empty for project and always
    std::string project = {};   // scope project: its root; other scopes: for information, if known
    std::string command = {};   // as text for a person
    std::string origin = {};    // approval, client or command line
    std::string reason = {};
    UnixMs created_at = 0;
    std::optional<UnixMs> expires_at = {}; // not valid from this time on
    std::optional<UnixMs> last_used_at = {};
    std::int64_t uses = 0;
};

// The name of a grant in the audit and in messages: "grant 12", "denial 12" or "question 12".
std::string name_of(GrantKind kind, std::int64_t id);

// Selects the grants to list. With both members: the grants of the session and of the project.
struct GrantFilter {
    std::optional<std::string> session = {};
    std::optional<std::string> project = {}; // its grants, and those of its sessions
    bool include_expired = false;
};

struct OneGrant {
    std::int64_t id = 0;
};

struct GrantsOfSession {
    std::string session;
};

// The grants of the project and of every session in it.
struct GrantsOfProject {
    std::string project;
};

struct EveryGrant {};

using RevokeWhat = std::variant<OneGrant, GrantsOfSession, GrantsOfProject, EveryGrant>;

// One row of the audit. An empty member does not apply.
struct AuditRow {
    std::int64_t id = 0; // assigned when the row is written
    UnixMs at = 0;
    std::string session = {};
    std::string call = {};
    std::string event = {}; // question, decision, start, denial, network, exit, refusal, grant,
                            // revocation
    std::string argv = {};  // a JSON array
    std::string directory = {};
    std::string decision = {};
    std::string decided_by = {}; // client, rule, grant, policy, safe list, command line, …
    std::string rule = {};       // "FILE:LINE", "grant 12" or "denial 12"
    std::string detail = {};
};

struct StoreSettings {
    Millis audit_delay{1000};   // how long queued rows may wait for flush()
    int audit_keep_days = 90;   // older rows are deleted; 0: never
    int session_keep_days = 30; // sessions unused for longer are deleted with their grants
};

} // namespace ew::store
