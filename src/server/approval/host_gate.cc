#include "server/approval/host_gate.h"

#include "core/text/display.h"
#include "core/text/long_words.h"
#include "core/text/punycode.h"
#include "json/strings.h"
#include "server/approval/approval_book.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ew::server {

using protocol::ApprovalChoice;
using protocol::ApprovalDecision;
using protocol::ApprovalScope;
using sandbox::HostQuestion;
using sandbox::HostVerdict;

namespace {

std::string key_of(const HostQuestion& question) {
    return key_of_host(question.there.host, question.there.port);
}

// Returns why this policy asks nobody, or an empty text.
std::string_view silence_of(const config::Config& config, bool is_by_rule) {
    using core::ApprovalPolicy;
    if (config.approval_policy == ApprovalPolicy::never) return "the approval policy asks nobody";
    if (config.approval_policy != ApprovalPolicy::granular) return "";
    if (is_by_rule && !config.granular.rules) return "the approval policy asks nothing for rules";
    if (!is_by_rule && !config.granular.sandbox_approval)
        return "the approval policy asks nothing about the sandbox";
    return "";
}

HostVerdict refusal(const HostQuestion& question, std::string reason) {
    HostVerdict verdict;
    verdict.reason = std::move(reason);
    if (!question.rule.empty())
        verdict.reason += fmt::format("; the rule {} wants a question", question.rule);
    verdict.can_be_allowed = question.rule.empty();
    return verdict;
}

std::vector<ApprovalChoice> choices_for(const std::string& place, const ApprovalExtent& extent) {
    using enum ApprovalDecision;
    std::vector<ApprovalChoice> choices;
    const auto offer = [&](ApprovalDecision decision, std::optional<ApprovalScope> scope,
                           std::string description) {
        choices.push_back({decision, scope, std::move(description)});
    };
    const auto allow = [&](ApprovalScope scope, std::string_view where) {
        offer(approved_for_session, scope, fmt::format("allow {} to {}", place, where));
    };
    offer(approved, {}, fmt::format("allow {} to this command until it ends", place));
    if (!extent.workspace_root.empty())
        allow(ApprovalScope::workspace, "commands anywhere in the workspace, for this session");
    allow(ApprovalScope::session, "every command, for this session");
    if (!extent.project.empty())
        allow(ApprovalScope::project, "every command in this project, also later");
    allow(ApprovalScope::always, "every command, also later");
    offer(denied, {}, "refuse it to this command until it ends");
    offer(denied, ApprovalScope::session,
          fmt::format("refuse {} and do not ask about it again in this session", place));
    offer(denied, ApprovalScope::always,
          fmt::format("refuse {} and do not ask about it again, also later", place));
    offer(abort, {}, "refuse it, and everything else that is being asked about");
    return choices;
}

// Adds the sentences about the host, in which letters that look like others are told.
void describe(protocol::ApprovalDisplay& display, const HostQuestion& question) {
    const core::Destination& there = question.there;
    const std::optional<std::string> name = core::decoded_host(there.host);
    display.notes.push_back(fmt::format("It wants to connect to {}.", core::visible(there.text())));
    if (name) {
        display.notes.push_back(fmt::format("That name is shown to people as {}: letters of other "
                                            "scripts can look like those of a name you know.",
                                            core::visible(*name)));
        display.has_invisible_characters |= core::has_invisible(*name);
        display.has_mixed_scripts |= core::has_mixed_scripts(*name);
    }
    display.notes.emplace_back(
        there.address ? "A program named that address, and no name."
                      : "The name is looked up only if you allow it. It is not followed to this "
                        "machine or to a private network.");
    display.notes.push_back(
        fmt::format("The program that connects: {}{}", core::visible(question.asker.program),
                    question.asker.argv.empty()
                        ? "."
                        : fmt::format(", which calls itself: {}",
                                      core::shell_quoted(core::shown_words(question.asker.argv)))));
}

} // namespace

std::optional<HostVerdict> HostGate::remembered(const HostCommand& command,
                                                const HostQuestion& question) {
    const std::string key = key_of(question);
    if (const std::optional<store::Grant> denial =
            records_.find_denial(key, command.workdir, command.extent.project)) {
        records_.note_use(denial->id);
        return HostVerdict{.reason = fmt::format(
                               "{}: a person denied it before, and wants no question ({}; "
                               "`execward approvals revoke {}` withdraws that)",
                               host_refusal, store::name_of(denial->kind, denial->id), denial->id)};
    }
    const std::optional<std::int64_t> grant =
        records_.find_host(key, command.workdir, command.extent.project);
    if (!grant) return std::nullopt;
    records_.note_use(*grant);
    return HostVerdict{.is_allowed = true,
                       .source = store::name_of(store::GrantKind::host, *grant)};
}

// The rules are those of now: one that was added since the command began can forbid, too.
std::optional<HostVerdict> HostGate::known(const HostCommand& command,
                                           const HostQuestion& question) {
    const std::vector<core::HostRule> rules = gate_.host_rules();
    const core::HostRuling ruling = core::rule_on(rules, question.there);
    if (ruling.decision == core::Decision::forbidden)
        return HostVerdict{.reason = "a rule forbids it: " + ruling.rule->origin};
    if (std::optional<HostVerdict> verdict = remembered(command, question)) return verdict;
    if (const auto once = command.once.find(key_of(question)); once != command.once.end())
        return once->second;
    const std::string_view silence = silence_of(session_.settings().config, !question.rule.empty());
    if (!silence.empty())
        return refusal(question, fmt::format("no rule allows it, and {}", silence));
    if (!cannot_ask_.empty() && !command.asks_by_policy_request)
        return refusal(question, fmt::format("no rule allows it, and {}", cannot_ask_));
    return std::nullopt;
}

Question HostGate::question(const HostCommand& command, const HostQuestion& question,
                            const protocol::Confinement& sandbox) {
    Question asked;
    asked.grant_key = key_of(question);
    asked.project = command.extent.project;
    asked.workspace_root = command.extent.workspace_root;
    asked.is_policy_request = command.asks_by_policy_request;
    asked.patience = command.patience;
    protocol::ApprovalRequest& request = asked.request;
    request.call_id = command.call_id;
    request.kind = protocol::ApprovalKind::network;
    request.argv = command.argv;
    request.program = command.program;
    request.workdir = command.workdir;
    request.reason = question.rule.empty()
                         ? "no rule decides about this host"
                         : fmt::format("a rule wants a question: {}", question.rule);
    request.sandbox = sandbox;
    protocol::NetworkTarget& target = request.network.emplace();
    target.host = question.there.host;
    target.port = question.there.port;
    target.is_address = question.there.address.has_value();
    target.program = core::visible(question.asker.program);
    for (const std::string& word : core::shown_words(question.asker.argv))
        target.argv.push_back(core::visible(word));
    if (!question.rule.empty()) target.rule = question.rule;
    if (!command.process_id.empty()) target.process_id = command.process_id;
    protocol::ApprovalDisplay& display = request.display;
    display.command = command.is_script && !command.argv.empty()
                          ? core::visible(command.argv.back())
                          : core::shell_quoted(command.argv);
    display.program = core::visible(command.program);
    display.workdir = core::visible(command.workdir);
    display.reason = core::visible(request.reason);
    describe(display, question);
    request.available_decisions = choices_for(question.there.text(), command.extent);
    return asked;
}

store::AuditRow HostGate::question_row(const HostCommand& command, const HostQuestion& question) {
    store::AuditRow row;
    row.call = command.call_id;
    row.event = "question";
    row.argv = json::strings_to_json(command.argv);
    row.directory = command.workdir;
    row.decided_by = question.rule.empty() ? "policy" : "rule";
    row.rule = question.rule;
    row.detail = fmt::format("network, {}", question.there.text());
    return row;
}

// If the answer could not be kept, it counts for this command.
HostVerdict HostGate::allowed(HostCommand& command, const HostQuestion& question) {
    std::optional<HostVerdict> verdict = remembered(command, question);
    if (verdict && verdict->is_allowed) return std::move(*verdict);
    HostVerdict once = {.is_allowed = true, .source = "answer"};
    command.once[key_of(question)] = once;
    return once;
}

HostVerdict HostGate::refused(HostCommand& command, const HostQuestion& question,
                              const Error& error) {
    HostVerdict verdict;
    verdict.reason = error.message;
    if (!error.hint.empty()) verdict.reason += fmt::format("; {}", error.hint);
    command.once[key_of(question)] = verdict;
    return verdict;
}

} // namespace ew::server
