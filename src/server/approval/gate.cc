#include "server/approval/gate.h"

#include "os/programs.h"
#include "protocol/exec_events.h"
#include "server/approval/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ew::server {

using core::Decision;

namespace {

// Elsewhere, all of them are kept.
bool keeps_own_variables(const ExecPlan& plan) {
    return std::ranges::any_of(plan.own_variables, [&](std::string_view variable) {
        return plan.remote || core::is_kept_by_hardening(variable.substr(0, variable.find('=')));
    });
}

core::JudgedCommand judged_command(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                                   const SessionSettings& settings, bool is_confined) {
    core::JudgedCommand judged;
    judged.argv = plan.argv;
    judged.is_script = plan.mode != protocol::ExecMode::direct;
    judged.policy = settings.config.approval_policy;
    judged.granular = settings.config.granular;
    judged.is_confined = is_confined;
    judged.permissions = params.sandbox_permissions;
    if (params.prefix_rule) judged.requested_prefix = *params.prefix_rule;
    judged.has_own_environment = !plan.own_variables.empty();
    judged.keeps_own_environment = keeps_own_variables(plan);
    judged.has_utf8_locale = has_utf8_locale(plan);
    judged.workdir = plan.workdir;
    if (plan.remote) { // programs and links of another machine cannot be examined
        judged.workspace_roots = plan.remote->workspace_roots;
        judged.is_elsewhere = true;
        return judged;
    }
    judged.program = plan.program;
    judged.workspace_roots = settings.workspace_roots;
    judged.stays_inside = stays_inside(settings.workspace_roots);
    return judged;
}

// Fills in the source of a decision that needed no question.
void say_who_allowed(Gate::Ruling& ruling) {
    ruling.decided_by = ruling.judgement.is_safe_listed ? "safe list" : "policy";
    for (const core::CommandVerdict& verdict : ruling.judgement.commands) {
        if (verdict.grant != 0) ruling.grants.push_back(verdict.grant);
        if (verdict.rule_origin.empty() || !ruling.rule.empty()) continue;
        ruling.rule = verdict.rule_origin;
        ruling.decided_by = verdict.rule_origin.starts_with("grant ") ? "grant" : "rule";
    }
}

// Returns where the rule is that wants the question or forbids the command, or an empty text.
std::string origin_of(const core::Judgement& judgement) {
    const auto deciding =
        std::ranges::find_if(judgement.commands, [&](const core::CommandVerdict& verdict) {
            return verdict.decision == judgement.decision && !verdict.rule_origin.empty();
        });
    const bool is_found = judgement.is_by_rule && deciding != judgement.commands.end();
    return is_found ? deciding->rule_origin : "";
}

std::string name_of_grant(std::int64_t grant) {
    return fmt::format("grant {}", grant);
}

} // namespace

const os::ShellProgram& Gate::login_shell() {
    if (login_shell_) return *login_shell_;
    const std::string& configured = session_.settings().config.shell;
    Result<os::ShellProgram> found =
        os::find_shell(configured.empty() ? std::nullopt : std::optional<std::string>(configured));
    if (!found) {
        warn_(found.error());
        found = os::find_shell(std::nullopt);
    }
    return login_shell_.emplace(found ? std::move(*found) : os::ShellProgram{"sh", "/bin/sh"});
}

core::Judgement Gate::judge(const ExecPlan& plan, const core::JudgedCommand& judged,
                            const core::RuleSet* only_rules) {
    os::TrustPlaces places;
    places.path = search_path(plan);
    WritablePlaces writable = writable_;
    writable.add(session_.settings().workspace_roots);
    writable.add(session_.settings().config.confinement.writable_roots);
    writable.add(plan.extra.additions.write);
    places.writable = writable.paths();
    places.temporary_directories.push_back(session_.environment().temp_dir.native);
    const os::TrustedPrograms trusted(places);
    const auto is_trusted = [&](std::string_view word) {
        // In another environment, only the shell of the server there is trusted.
        return plan.remote ? word == plan.remote->shell : trusted.is_trusted(word);
    };
    if (only_rules != nullptr) return core::judge(judged, *only_rules, is_trusted);
    // Approvals of a prefix count for this machine only.
    std::optional<std::string> project;
    if (!plan.remote) project = extent_of(plan, session_).project;
    return rules_.judge(judged, is_trusted, project);
}

std::string Gate::find_approval(const std::string& key, const std::string& directory,
                                bool uses_it) {
    const std::optional<std::int64_t> grant = records_.find_grant(key, directory, "");
    if (!grant) return {};
    if (uses_it) records_.note_use(*grant);
    return name_of_grant(*grant);
}

std::string Gate::take_approval(const std::string& key, const ExecPlan& plan) {
    const std::string project = extent_of(plan, session_).project;
    if (records_.find_denial(key, plan.workdir, project)) return {};
    const std::optional<std::int64_t> grant = records_.find_grant(key, plan.workdir, project);
    if (!grant) return {};
    records_.note_use(*grant);
    return name_of_grant(*grant);
}

std::string Gate::take_denial(const std::string& key, const ExecPlan& plan) {
    const std::optional<store::Grant> denial =
        records_.find_denial(key, plan.workdir, extent_of(plan, session_).project);
    if (!denial) return {};
    records_.note_use(denial->id);
    return fmt::format("{}; `execward approvals revoke {}` withdraws it",
                       store::name_of(denial->kind, denial->id), denial->id);
}

// A remembered denial is stronger than every rule and approval that allows the command.
bool Gate::was_denied(Ruling& ruling, const ExecPlan& plan) {
    if (ruling.decision == Decision::forbidden) return false;
    const std::optional<store::Grant> denial =
        records_.find_denial(ruling.key, plan.workdir, extent_of(plan, session_).project);
    if (!denial) return false;
    ruling.decision = Decision::forbidden;
    ruling.decided_by = "denial";
    ruling.rule = store::name_of(denial->kind, denial->id);
    ruling.judgement.reason =
        fmt::format("a person denied it before, and wants no question ({}{})", ruling.rule,
                    denial->reason.empty() ? "" : ": " + denial->reason);
    ruling.way_out =
        fmt::format("a person can withdraw that with `execward approvals revoke {}`", denial->id);
    ruling.grants = {denial->id};
    return true;
}

Gate::Ruling Gate::find_ruling(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                               const core::JudgedCommand& judged, const core::RuleSet* only_rules) {
    Ruling ruling;
    ruling.judgement = judge(plan, judged, only_rules);
    if (plan.remote) ruling.judgement.proposed_prefix.clear();
    ruling.decision = ruling.judgement.decision;
    ruling.key = approval_key(plan, params, plan.extra);
    ruling.decided_by = ruling.judgement.is_by_rule ? "rule" : "policy";
    ruling.rule = origin_of(ruling.judgement);
    if (only_rules == nullptr && was_denied(ruling, plan)) return ruling;
    if (ruling.decision == Decision::allow) {
        ruling.hardening = ruling.judgement.hardening;
        say_who_allowed(ruling);
    }
    if (ruling.decision != Decision::prompt || only_rules != nullptr) return ruling;
    const std::optional<std::int64_t> grant =
        records_.find_grant(ruling.key, plan.workdir, extent_of(plan, session_).project);
    if (!grant) return ruling;
    ruling.decision = Decision::allow;
    ruling.decided_by = "grant";
    ruling.rule = name_of_grant(*grant);
    ruling.grants.push_back(*grant);
    return ruling;
}

Gate::Ruling Gate::rule_on(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                           bool is_confined) {
    records_.begin_session();
    note_writable(session_.settings().workspace_roots);
    note_writable(session_.settings().config.confinement.writable_roots);
    Ruling ruling = find_ruling(
        plan, params, judged_command(plan, params, session_.settings(), is_confined), nullptr);
    for (const std::int64_t grant : ruling.grants)
        records_.note_use(grant);
    return ruling;
}

Gate::Ruling Gate::preview(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                           const SessionSettings& settings, const core::RuleSet* only_rules) {
    const bool is_confined = plan.policy.has_value();
    return find_ruling(plan, params, judged_command(plan, params, settings, is_confined),
                       only_rules);
}

} // namespace ew::server
