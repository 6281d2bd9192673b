// The messages of patch/*: changes of several files, applied together or not at all.
#pragma once

#include "json/types.h"
#include "protocol/patched_file.h"
#include "protocol/permissions.h"
#include "protocol/policy.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

struct PatchCheckParams {
    static constexpr bool refuses_others = true;
    std::string patch = {};
    std::optional<std::string> workdir = {}; // its paths start there; as in exec/command
    std::optional<std::string> cwd = {};     // another name of workdir; decode() moves it there
};

template <class Visitor>
void fields(Visitor& visit, PatchCheckParams& params) {
    visit.required("patch", params.patch);
    visit.optional("workdir", params.workdir);
    visit.optional("cwd", params.cwd);
}

struct PatchApplyParams {
    static constexpr bool refuses_others = true;
    std::string patch = {};
    std::optional<std::string> workdir = {};
    std::optional<std::string> cwd = {}; // another name of workdir; decode() moves it there
    std::optional<std::string> justification = {};
    std::optional<std::string> call_id = {}; // absent: the id of the request
};

template <class Visitor>
void fields(Visitor& visit, PatchApplyParams& params) {
    visit.required("patch", params.patch);
    visit.optional("workdir", params.workdir);
    visit.optional("cwd", params.cwd);
    visit.optional("justification", params.justification, Bounds{0, longest_justification});
    visit.optional("callId", params.call_id, Bounds{0, longest_name});
}

// The changes that patch/apply would make for a patch that fits.
struct PatchCheckResult {
    std::vector<PatchedFile> files = {};
    core::Decision decision = core::Decision::prompt;
    std::string reason = {};
    Confinement sandbox = {}; // the sandbox of patch/apply
};

template <class Visitor>
void fields(Visitor& visit, PatchCheckResult& result) {
    visit.required("files", result.files);
    visit.required("decision", result.decision);
    visit.required("reason", result.reason);
    visit.required("sandbox", result.sandbox);
}

struct PatchApplyResult {
    std::string call_id = {};
    std::vector<PatchedFile> files = {};
    std::string decided_by = {};
    Confinement sandbox = {};
    std::uint64_t approval_ms = 0;
};

template <class Visitor>
void fields(Visitor& visit, PatchApplyResult& result) {
    visit.required("callId", result.call_id);
    visit.required("files", result.files);
    visit.required("decidedBy", result.decided_by);
    visit.required("sandbox", result.sandbox);
    visit.required("approvalMs", result.approval_ms);
}

struct PatchBeginEvent {
    std::string call_id = {};
    std::string workdir = {};
    std::string decided_by = {};
    std::vector<PatchedFile> files = {};
};

template <class Visitor>
void fields(Visitor& visit, PatchBeginEvent& event) {
    visit.required("callId", event.call_id);
    visit.required("workdir", event.workdir);
    visit.required("decidedBy", event.decided_by);
    visit.required("files", event.files);
}

enum class PatchOutcome : std::uint8_t { applied, failed };

struct PatchEndEvent {
    std::string call_id = {};
    PatchOutcome outcome = PatchOutcome::applied;
    std::optional<std::string> message = {}; // why it failed; all files are unchanged then
};

template <class Visitor>
void fields(Visitor& visit, PatchEndEvent& event) {
    visit.required("callId", event.call_id);
    visit.required("outcome", event.outcome);
    visit.optional("message", event.message);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::PatchOutcome> {
    static constexpr std::array<std::string_view, 2> list = {"applied", "failed"};
};

} // namespace ew::json
