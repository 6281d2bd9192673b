// The report about the sandbox of an ended process, the same in every message.
#pragma once

#include "server/process/backend.h"

#include <cstdint>
#include <utility>

namespace ew::server {

// A guess that clients of the older protocol expect: a program that succeeded was not denied, and
// what was set aside after its end has not stopped it.
inline bool looks_denied(const Exit& exit, const SandboxState& sandbox) {
    std::uint64_t moved = 0;
    for (const protocol::Denial& denial : sandbox.denials)
        if (denial.kind == "setAside") moved += denial.count;
    return exit.code != 0 && (sandbox.denial_count > moved || exit.sandbox_hint);
}

// `message` has the members sandboxDenied, denials, denialCount, sandboxHint and limitHits.
template <class Message>
void add_sandbox_report(Message& message, const Process& process) {
    if (!process.exit->limit_hits.empty()) message.limit_hits = process.exit->limit_hits;
    SandboxState sandbox = process.backend->sandbox_state(process);
    if (!sandbox.is_confined) return;
    message.sandbox_denied = looks_denied(*process.exit, sandbox);
    message.denials = std::move(sandbox.denials);
    message.denial_count = sandbox.denial_count;
    message.sandbox_hint = process.exit->sandbox_hint;
}

} // namespace ew::server
