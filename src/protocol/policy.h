// What decides about a command, and why: the messages of policy/explain.
#pragma once

#include "core/judgement/policy_types.h"
#include "json/types.h"
#include "protocol/permissions.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"
#include "protocol/settings.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

using DecisionName = core::Decision;

struct RuleInput {
    static constexpr bool refuses_others = true;
    std::vector<std::string> prefix = {};
    DecisionName decision = DecisionName::prompt;
    std::optional<std::string> justification = {};
};

template <class Visitor>
void fields(Visitor& visit, RuleInput& rule) {
    visit.required("prefix", rule.prefix, Bounds{1});
    visit.required("decision", rule.decision);
    visit.optional("justification", rule.justification);
}

struct PolicyExplainParams {
    static constexpr bool refuses_others = true;
    std::optional<std::string> command = {}; // either this or argv
    std::optional<std::vector<std::string>> argv = {};
    std::optional<std::string> workdir = {};
    std::optional<std::string> cwd = {}; // another name of workdir; decode() moves it there
    std::optional<std::string> shell = {};
    std::optional<bool> login = {};
    StringMap env = {};
    std::optional<ApprovalPolicy> approval_policy = {};
    std::optional<SandboxMode> sandbox = {};
    SandboxPermissions sandbox_permissions = SandboxPermissions::use_default;
    std::optional<std::vector<std::string>> prefix_rule = {};
    std::optional<std::vector<RuleInput>> rules = {}; // these instead of the rules in force
};

template <class Visitor>
void fields(Visitor& visit, PolicyExplainParams& params) {
    visit.optional("command", params.command);
    visit.optional("argv", params.argv, Bounds{1});
    visit.optional("workdir", params.workdir);
    visit.optional("cwd", params.cwd);
    visit.optional("shell", params.shell);
    visit.optional("login", params.login);
    visit.optional("env", params.env);
    visit.optional("approvalPolicy", params.approval_policy);
    visit.optional("sandbox", params.sandbox);
    visit.optional("sandboxPermissions", params.sandbox_permissions);
    visit.optional("prefixRule", params.prefix_rule);
    visit.optional("rules", params.rules);
}

struct CommandVerdict {
    std::vector<std::string> words = {};
    DecisionName decision = DecisionName::prompt;
    std::string why = {};
    std::optional<std::string> rule = {};
    std::optional<std::string> justification = {};
};

template <class Visitor>
void fields(Visitor& visit, CommandVerdict& verdict) {
    visit.required("words", verdict.words);
    visit.required("decision", verdict.decision);
    visit.required("why", verdict.why);
    visit.optional("rule", verdict.rule);
    visit.optional("justification", verdict.justification);
}

struct PolicyExplainResult {
    DecisionName decision = DecisionName::prompt;
    std::string reason = {};
    std::optional<std::string> obstacle = {}; // why the script could not be decomposed
    std::vector<CommandVerdict> commands = {};
    std::optional<std::vector<std::string>> proposed_prefix_rule = {};
    std::optional<std::string> program = {}; // the absolute path that would run
};

template <class Visitor>
void fields(Visitor& visit, PolicyExplainResult& result) {
    visit.required("decision", result.decision);
    visit.required("reason", result.reason);
    visit.optional("obstacle", result.obstacle);
    visit.required("commands", result.commands);
    visit.optional("proposedPrefixRule", result.proposed_prefix_rule);
    visit.optional("program", result.program);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<core::Decision> {
    static constexpr std::array<std::string_view, 3> list = {"allow", "prompt", "forbidden"};
};

} // namespace ew::json
