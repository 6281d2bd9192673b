// What is told about the sandbox of a process that has ended, alike wherever it is told.
#pragma once

#include "server/process/process.h"

namespace ew::server {

// A guess, as clients of the older protocol expect it: a program that succeeded was not denied.
inline bool looks_denied(const Process& process) {
    return process.is_confined() && process.exit && process.exit->code != 0 &&
           (process.denial_count() > 0 || process.exit->sandbox_hint);
}

// `message` has the members sandboxDenied, denials, denialCount, sandboxHint and limitHits.
template <class Message>
void add_sandbox_report(Message& message, const Process& process) {
    if (!process.exit->limit_hits.empty()) message.limit_hits = process.exit->limit_hits;
    if (!process.is_confined()) return;
    message.sandbox_denied = looks_denied(process);
    message.denials = process.denials();
    message.denial_count = process.denial_count();
    message.sandbox_hint = process.exit->sandbox_hint;
}

} // namespace ew::server
