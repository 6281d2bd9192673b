#include "server/patch/patch_ruling.h"

#include "core/sha256.h"
#include "core/text/display.h"
#include "server/request/extra_permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

using core::ApprovalPolicy;
using core::Decision;
using core::patch_call::Verdict;

namespace {

// Returns an empty string if a file of the patch was not approved.
std::string approved_before(const PatchInQuestion& patch, Gate& gate) {
    std::string last;
    for (const std::string& path : places_of(patch.report)) {
        last = gate.find_approval(approval_key_of(path), patch.workdir, !patch.is_check);
        if (last.empty()) return {};
    }
    return last;
}

// Returns why the patch is not applied without a question. Returns an empty string if it may be.
std::string objection_to(const PatchInQuestion& patch, const config::Config& config) {
    if (config.approval_policy == ApprovalPolicy::untrusted)
        return "the approval policy asks about every patch";
    const std::vector<std::string> places = places_of(patch.report);
    const auto guarded = std::ranges::find_if(places, holds_what_runs_later);
    if (guarded != places.end())
        return fmt::format("'{}' belongs to what git or agents obey", core::visible(*guarded));
    const files::PatchedFile* const closed = find_unwritable(patch.report);
    if (patch.is_confined && closed != nullptr)
        return fmt::format("'{}' is not in what the sandbox lets be written",
                           core::visible(closed->path));
    return {};
}

bool lets_ask(const config::Config& config) {
    if (config.approval_policy == ApprovalPolicy::granular) return config.granular.sandbox_approval;
    return config.approval_policy != ApprovalPolicy::never;
}

} // namespace

PatchRuling rule_on(const PatchInQuestion& patch, const Session& session, Gate& gate) {
    const config::Config& config = session.settings().config;
    std::string reason = objection_to(patch, config);
    if (reason.empty())
        return {Decision::allow,
                patch.is_confined ? "all files lie where the sandbox lets commands write"
                                  : "no sandbox is asked for, and the policy does not ask",
                "policy", ""};
    if (find_unwritable(patch.report) != nullptr && !patch.may_be_unconfined)
        return {Decision::forbidden, reason + ", and this server does nothing without a sandbox",
                "policy", ""};
    if (std::string grant = approved_before(patch, gate); !grant.empty())
        return {Decision::allow, "these files may be changed: " + grant, "grant", grant};
    if (lets_ask(config)) return {Decision::prompt, std::move(reason), "policy", ""};
    return {Decision::forbidden, reason + ", and the policy lets nobody be asked", "policy", ""};
}

core::patch_call::Verdict verdict_of(const PatchRuling& ruling, const Session& session) {
    const auto refuse = [](std::string message, std::string hint) {
        return Verdict{Verdict::Kind::refuse,
                       {ErrorKind::denied, std::move(message), std::move(hint)}};
    };
    switch (ruling.decision) {
    case core::Decision::allow: return {Verdict::Kind::apply, {}};
    case core::Decision::forbidden:
        return refuse(fmt::format("the patch was not applied: {}", ruling.reason),
                      "leave these files alone, or let the person configure it");
    case core::Decision::prompt: break;
    }
    if (session.answers_questions()) return {Verdict::Kind::ask, {}};
    return refuse(fmt::format("the patch was not applied: it needs a person's approval ({}), and "
                              "the client cannot ask: it did not declare capabilities.approvals",
                              ruling.reason),
                  "use a client that answers questions");
}

std::string approval_key_of(const std::string& path) {
    return core::sha256(fmt::format("patch\n{}", path));
}

std::vector<std::string> places_of(const files::PatchReport& report) {
    std::vector<std::string> places;
    for (const files::PatchedFile& file : report.files) {
        places.push_back(file.path);
        if (!file.destination.empty()) places.push_back(file.destination);
    }
    return places;
}

const files::PatchedFile* find_unwritable(const files::PatchReport& report) {
    const auto found = std::ranges::find(report.files, false, &files::PatchedFile::is_writable);
    return found == report.files.end() ? nullptr : &*found;
}

} // namespace ew::server
