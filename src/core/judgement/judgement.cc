#include "core/judgement/judgement.h"

#include "base/script_file.h"
#include "core/judgement/finding.h"
#include "core/judgement/further_words.h"
#include "core/judgement/hidden_text.h"
#include "core/judgement/judge.h"
#include "core/judgement/program_options.h"
#include "core/judgement/rule_matching.h"
#include "core/judgement/shell_words.h"
#include "core/judgement/started_commands.h"
#include "core/text/long_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ew::core {

namespace {

Judgement refusal(std::string reason) {
    Judgement judgement;
    judgement.decision = Decision::forbidden;
    judgement.reason = std::move(reason);
    return judgement;
}

CommandVerdict verdict(const Finding& finding, const Part& part) {
    CommandVerdict result;
    result.words = shown_words(part.command.words);
    result.decision = finding.decision;
    result.why = why(finding, part);
    if (!has_rule(finding)) return result;
    result.rule_origin = finding.rule->origin;
    result.grant = finding.rule->grant;
    result.justification = finding.rule->justification;
    return result;
}

// Returns the index of the finding with the strictest decision. If several have it, the one with
// the longest rule wins, then the first.
std::size_t deciding(const std::vector<Finding>& findings) {
    const auto length = [](const Finding& finding) {
        return has_rule(finding) ? finding.rule->prefix.size() : 0;
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < findings.size(); ++i) {
        const bool is_stricter = findings[i].decision > findings[best].decision;
        const bool is_as_strict = findings[i].decision == findings[best].decision;
        if (is_stricter || (is_as_strict && length(findings[i]) > length(findings[best]))) best = i;
    }
    return best;
}

// The policy has the last word about whether a question may be asked.
void apply_policy(Judgement& judgement, const JudgedCommand& judged) {
    if (judgement.decision != Decision::prompt) return;
    const bool is_granular = judged.policy == ApprovalPolicy::granular;
    std::string refused_by;
    if (judged.policy == ApprovalPolicy::never)
        refused_by = "the approval policy is never to ask";
    else if (is_granular && judgement.is_by_rule && !judged.granular.rules)
        refused_by = "the approval policy allows no question that a rule asks for";
    else if (is_granular && !judgement.is_by_rule && !judged.granular.sandbox_approval)
        refused_by = "the approval policy allows no question about the sandbox";
    if (refused_by.empty()) return;
    judgement.decision = Decision::forbidden;
    judgement.reason += "; it would need a question, and " + refused_by;
}

// Why the call may not ask for more than the sandbox gives. Empty: it may.
std::string refused_permissions(const JudgedCommand& judged) {
    if (judged.permissions == SandboxPermissions::use_default) return {};
    const std::string what = judged.permissions == SandboxPermissions::require_escalated
                                 ? "running outside the sandbox"
                                 : "more permissions in the sandbox";
    switch (judged.policy) {
    case ApprovalPolicy::on_request: return {};
    case ApprovalPolicy::granular:
        if (judged.granular.request_permissions) return {};
        return "the approval policy allows no request for " + what;
    case ApprovalPolicy::untrusted:
    case ApprovalPolicy::on_failure:
    case ApprovalPolicy::never: return "the approval policy does not let a call ask for " + what;
    }
    return {};
}

void ask_for_permissions(Judgement& judgement, const JudgedCommand& judged) {
    const bool wants_more =
        judged.permissions != SandboxPermissions::use_default && judged.is_confined;
    if (judgement.decision != Decision::allow || !wants_more) return;
    judgement.decision = Decision::prompt;
    judgement.is_safe_listed = false;
    judgement.hardening = Hardening::none;
    judgement.reason = judged.permissions == SandboxPermissions::require_escalated
                           ? "the call asks to run outside the sandbox"
                           : "the call asks for more permissions in the sandbox";
}

// Returns true if a person can read the words, and they are specific enough for a rule.
bool can_be_prefix(const Words& words) {
    return !words.empty() && std::none_of(words.begin(), words.end(), has_hidden_text) &&
           can_be_approved(words);
}

bool can_be_proposed(const Finding& finding, const Part& part) {
    const auto& [words, has_glob, written, reads_pipe] = part.command;
    return finding.cause != Cause::dangerous && part.obstacle.empty() && !part.has_left_workspace &&
           written.empty() && can_be_prefix(words) &&
           std::find(has_glob.begin(), has_glob.end(), true) == has_glob.end();
}

bool covers_everything(const std::vector<Part>& parts, const JudgedCommand& judged,
                       const std::string& gap, const ProgramTrust& trust) {
    PrefixRule rule;
    for (const std::string& word : judged.requested_prefix)
        rule.prefix.push_back({word});
    rule.decision = Decision::allow;
    rule.further = FurtherWords::harmless;
    rule.layer = RuleLayer::session;
    RuleSet rules;
    rules.gap = gap;
    rules.rules.push_back(std::move(rule));
    Judge judge(judged, parts, rules, trust, judged.has_own_environment);
    return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
        const Finding finding = judge.find(part);
        return finding.decision == Decision::allow && finding.cause != Cause::unknown;
    });
}

Words proposal(const std::vector<Part>& parts, const std::vector<Finding>& findings,
               const JudgedCommand& judged, const std::string& gap, const ProgramTrust& trust) {
    const bool has_any_rule = std::any_of(findings.begin(), findings.end(), has_rule);
    const bool has_strict_rule = std::any_of(findings.begin(), findings.end(), [](const auto& f) {
        return has_rule(f) && f.decision != Decision::allow;
    });
    const bool says_all = std::all_of(parts.begin(), parts.end(), [](const Part& part) {
        return part.obstacle.empty() && part.is_plain && !part.has_input;
    });
    if (!says_all || has_strict_rule) return {};
    const bool destroys = std::any_of(findings.begin(), findings.end(), [](const auto& finding) {
        return finding.cause == Cause::dangerous;
    });
    const Words& requested = judged.requested_prefix;
    if (!has_any_rule && !destroys && can_be_prefix(requested) && !is_dangerous(requested) &&
        covers_everything(parts, judged, gap, trust))
        return requested;
    const bool is_prompt = std::any_of(findings.begin(), findings.end(), [](const auto& finding) {
        return finding.decision == Decision::prompt || finding.cause == Cause::unknown;
    });
    if (!is_prompt && has_any_rule) return {};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool is_open = is_prompt ? findings[i].decision == Decision::prompt ||
                                             findings[i].cause == Cause::unknown
                                       : findings[i].cause != Cause::known_safe;
        if (!is_open) continue;
        return can_be_proposed(findings[i], parts[i]) ? parts[i].command.words : Words();
    }
    return {};
}

// Returns why the kernel cannot run it (execve(2)). Empty if it can.
std::string why_not_runnable(const JudgedCommand& judged) {
    const Words& argv = judged.argv;
    if (argv.empty() || argv.front().empty()) return "this cannot be run: it has no program";
    const bool may_be_long = judged.is_script && !judged.is_elsewhere;
    for (const std::string& word : argv) {
        if (word.find('\0') != std::string::npos)
            return "this cannot be run: a word holds a NUL character";
        const bool is_long = may_be_long && &word == &argv.back();
        if (const std::size_t most = is_long ? longest_script : longest_word; word.size() > most)
            return fmt::format("this cannot be run: a {} has {} bytes, and {} takes {} at most; "
                               "write it to a file, and run or read that file",
                               judged.is_script ? "script" : "word", word.size(),
                               is_long ? "execward" : "the kernel", most);
    }
    return {};
}

bool is_by_safe_list(const Finding& finding) {
    return finding.cause == Cause::known_safe || finding.is_also_safe;
}

// Where what is unknown runs, the list decides nothing about a script that also does other things.
void note_safe_commands(Judgement& judgement, const std::vector<Finding>& findings,
                        const JudgedCommand& judged, const RuleSet& rules) {
    const bool are_all_safe = std::all_of(findings.begin(), findings.end(), is_by_safe_list);
    const bool is_needed = judged.policy == ApprovalPolicy::untrusted || !rules.gap.empty();
    judgement.is_safe_listed =
        are_all_safe ||
        (is_needed && std::any_of(findings.begin(), findings.end(), is_by_safe_list));
    judgement.needs_safe_list = judgement.is_safe_listed && is_needed;
    if (judgement.is_safe_listed)
        judgement.hardening = are_all_safe ? Hardening::all : Hardening::settings;
}

std::vector<Finding> find_all(const std::vector<Part>& parts, const JudgedCommand& judged,
                              const RuleSet& rules, const ProgramTrust& trust,
                              bool has_own_environment) {
    Judge judge(judged, parts, rules, trust, has_own_environment);
    std::vector<Finding> findings;
    findings.reserve(parts.size());
    for (const Part& part : parts)
        findings.push_back(judge.find(part));
    return findings;
}

Judgement judge_parts(const std::vector<Part>& parts, const std::vector<Finding>& findings,
                      const JudgedCommand& judged, const RuleSet& rules) {
    Judgement judgement;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        judgement.commands.push_back(verdict(findings[i], parts[i]));
        if (judgement.obstacle.empty()) judgement.obstacle = parts[i].obstacle;
    }
    const std::size_t chosen = deciding(findings);
    const Finding& finding = findings[chosen];
    judgement.decision = finding.decision;
    judgement.is_by_rule = has_rule(finding) && finding.decision != Decision::allow;
    if (finding.decision != Decision::allow)
        judgement.reason = reason_of(finding, parts[chosen], rules);
    else
        note_safe_commands(judgement, findings, judged, rules);
    if (finding.decision == Decision::forbidden && finding.cause == Cause::dangerous)
        judgement.reason +=
            ", and the approval policy is never to ask; a rule that allows it, with "
            "at least one word behind the program, lets it run";
    return judgement;
}

} // namespace

Judgement judge(const JudgedCommand& judged, const RuleSet& rules, const ProgramTrust& trust) {
    if (std::string why = why_not_runnable(judged); !why.empty()) return refusal(std::move(why));
    const std::vector<Part> parts = take_apart(judged, trust);
    std::vector<Finding> findings =
        find_all(parts, judged, rules, trust, judged.keeps_own_environment);
    if (judged.has_own_environment &&
        !std::all_of(findings.begin(), findings.end(), is_by_safe_list))
        findings = find_all(parts, judged, rules, trust, true);

    Judgement judgement = judge_parts(parts, findings, judged, rules);
    const std::string refused = refused_permissions(judged);
    if (!refused.empty() && judgement.decision != Decision::forbidden) {
        judgement.decision = Decision::forbidden;
        judgement.is_by_rule = judgement.is_safe_listed = false;
        judgement.hardening = Hardening::none;
        judgement.reason = refused;
        return judgement;
    }
    ask_for_permissions(judgement, judged);
    apply_policy(judgement, judged);
    if (judgement.decision != Decision::forbidden)
        judgement.proposed_prefix = proposal(parts, findings, judged, rules.gap, trust);
    return judgement;
}

Words canonical_argv(const Words& argv) {
    if (!is_plain_shell_call(argv)) return argv;
    const std::string_view path = argv.front();
    const std::string_view directory = path.substr(0, path.size() - base_name(path).size());
    if (!directory.empty() && !is_listed("/bin/ /usr/bin/ /usr/local/bin/", directory)) return argv;
    const ShellCall call = shell_call(argv);
    Script script = decompose(call.script, call.dialect);
    // Shells read non-ASCII letters differently in different locales.
    const bool is_ascii = std::all_of(call.script.begin(), call.script.end(),
                                      [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    const bool says_all =
        is_ascii && script.obstacle.empty() && script.is_plain && !script.has_input;
    if (says_all && script.commands.size() == 1) {
        ShellCommand& only = script.commands.front();
        if (std::find(only.has_glob.begin(), only.has_glob.end(), true) == only.has_glob.end())
            return std::move(only.words);
    }
    // No program has an empty name, so no other command has the same words.
    return {"", std::string(base_name(path)), argv[1], argv[2]};
}

bool starts_relative_program(const Words& argv) {
    const auto is_relative = [](std::string_view word) {
        return !word.starts_with('/') && word.find('/') != std::string_view::npos;
    };
    if (!is_plain_shell_call(argv)) return !argv.empty() && is_relative(argv.front());
    const ShellCall call = shell_call(argv);
    const Script script = decompose(call.script, call.dialect);
    return std::ranges::any_of(script.commands, [&](const ShellCommand& command) {
        return is_relative(command.words.front());
    });
}

} // namespace ew::core
