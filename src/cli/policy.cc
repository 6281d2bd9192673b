// execward policy: explains what the rules say about a command, and checks the rules.
#include "cli/policy.h"

#include "base/byte_buffer.h"
#include "cli/policy_suggest.h"
#include "cli/shared/judging.h"
#include "cli/shared/places.h"
#include "cli/shared/store_access.h"
#include "config/config.h"
#include "config/paths.h"
#include "config/project.h"
#include "config/rule_files.h"
#include "config/settings.h"
#include "core/judgement/further_words.h"
#include "core/judgement/judgement.h"
#include "core/text/display.h"
#include "json/writer.h"
#include "os/programs.h"
#include "protocol/approval.h"
#include "server/approval/explanation.h"
#include "server/approval/writable_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward policy explain [OPTION…] -- COMMAND [ARGUMENT…]
       execward policy check [FILE…]
       execward policy suggest [--since WHEN] [--write]

explain tells whether a command would run, be asked about or be refused, and what decided that for
each command in it. Nothing is run. Of approvals it knows those that are rules in rules.d.
check reads the rules of the user, the system and the project of the working directory, or the
files, and prints each mistake with its place.
suggest looks in the audit for commands that people allowed again and again, and prints rules that
would have saved these questions, each with all commands that it would newly allow. A rule that would
allow something that destroys data, or that was denied, is not suggested.
)";

constexpr auto options = std::to_array<Option>({
    {.name = "rules",
     .argument = "FILE",
     .meaning = "rules of this file and no others",
     .actions = "explain",
     .repeats = true},
    {.name = "approval-policy",
     .argument = "P",
     .meaning = "when a person is asked",
     .usual = "as configured",
     .choices = "untrusted|on-failure|on-request|never|granular",
     .actions = "explain"},
    {.name = "sandbox",
     .argument = "S",
     .meaning = "how the command would be confined",
     .usual = "as configured",
     .choices = "danger-full-access|read-only|workspace-write|external-sandbox",
     .actions = "explain"},
    {.name = "directory",
     .argument = "DIR",
     .meaning = "where the command would run",
     .usual = "the working directory",
     .actions = "explain"},
    {.name = "json", .meaning = "for programs: what policy/explain answers", .actions = "explain"},
    {.name = "since",
     .argument = "WHEN",
     .meaning = "questions since then: 12h, 7d, or a time such as 2026-01-31",
     .usual = "the whole audit",
     .actions = "suggest"},
    {.name = "write",
     .meaning = "ask at the terminal whether to add the rules, and do so",
     .actions = "suggest"},
    {.name = database_option.name,
     .argument = database_option.argument,
     .meaning = database_option.meaning,
     .usual = database_option.usual,
     .actions = "suggest"},
});

constexpr std::string_view notes =
    R"(Examples:
  execward policy explain -- git push
  execward policy explain --approval-policy=untrusted -- bash -c 'make && make install'
  execward policy suggest --since=30d

Exit status of explain: 0 whatever the decision, 1 it cannot be told, 2 usage. Of check: 0, 1 there
are mistakes, 2 usage. Of suggest: 0, 1 the audit could not be read or nothing was written, 2 usage.
)";

constexpr auto actions = std::to_array<Action>(
    {{"explain", {.name = "COMMAND", .least = 1, .most = Operands::any, .is_command = true}},
     {"check", {.name = "FILE", .most = Operands::any, .is_command = true}},
     {"suggest"}});

void print_problem(std::FILE* to, const config::RuleProblem& problem) {
    fmt::print(to, "{}\n", core::visible(toml::describe(problem)));
}

Result<core::RuleSet> rules_in_force(const Arguments& arguments, const std::string& directory) {
    config::LoadedRules loaded;
    if (arguments.has("rules")) {
        loaded = config::load_rule_files(arguments.values("rules"));
        for (const config::RuleProblem& problem : loaded.problems)
            if (problem.position.line == 0) return toml::as_error(problem);
    } else {
        const std::string project = config::project_root(directory);
        loaded = config::load_rules(rule_places(trusted_rules_dir(project)));
    }
    for (const config::RuleProblem& problem : loaded.problems)
        print_problem(stderr, problem);
    return std::move(loaded.rules);
}

core::JudgedCommand judged_command(const Arguments& arguments, const config::Config& config,
                                   const std::string& directory) {
    const auto policy =
        config::value_named<core::ApprovalPolicy>(arguments.value("approval-policy").value_or(""));
    const auto mode =
        config::value_named<core::SandboxMode>(arguments.value("sandbox").value_or(""));
    const core::SandboxMode sandbox = mode.value_or(config.sandbox);
    core::JudgedCommand judged;
    judged.argv = arguments.operands();
    judged.policy = policy.value_or(config.approval_policy);
    judged.granular = config.granular;
    judged.is_confined =
        sandbox == core::SandboxMode::read_only || sandbox == core::SandboxMode::workspace_write;
    judged.workspace_roots = {directory};
    judged.workdir = directory;
    judged.stays_inside = server::stays_inside({directory});
    // What cannot be found has no other name than its own.
    if (Result<std::string> program =
            os::resolve_program(judged.argv.front(), variable("PATH"), directory))
        judged.program = *program;
    return judged;
}

std::string_view meaning_of(core::Decision decision) {
    switch (decision) {
    case core::Decision::allow: return "it runs";
    case core::Decision::prompt: return "somebody is asked";
    case core::Decision::forbidden: return "it does not run";
    }
    return {};
}

void print_for_person(const core::Judgement& judgement, const std::string& gap) {
    const std::string_view decision = json::name_of(judgement.decision);
    const std::string reason = core::visible(judgement.reason);
    print_line(fmt::format("{}: {}{}{}", decision, meaning_of(judgement.decision),
                           reason.empty() ? "" : "; ", reason));
    std::vector<std::vector<std::string>> rows;
    for (const core::CommandVerdict& verdict : judgement.commands) {
        std::string why = core::visible(verdict.why);
        if (!verdict.justification.empty())
            why += fmt::format(" ({})", core::visible(verdict.justification));
        rows.push_back({fmt::format("  {}", json::name_of(verdict.decision)),
                        core::shell_quoted(verdict.words), std::move(why)});
    }
    print_table(rows);
    if (!judgement.obstacle.empty())
        print_line(fmt::format("The script could not be taken apart: {}",
                               core::visible(judgement.obstacle)));
    if (judgement.reason.find(gap) == std::string::npos)
        print_line(fmt::format("Rules may be missing: {}", core::visible(gap)));
    if (judgement.decision == core::Decision::prompt && !judgement.proposed_prefix.empty())
        print_line(fmt::format("The answer can also be for: {}; with it, {}",
                               core::shell_quoted(judgement.proposed_prefix),
                               core::further_words_of(judgement.proposed_prefix)));
}

int explain(const Arguments& arguments) {
    std::error_code error;
    std::string named = arguments.value("directory").value_or("");
    if (named.empty()) named = ".";
    const std::string directory = std::filesystem::canonical(named, error).string();
    if (error)
        return fail(Error{ErrorKind::invalid_params,
                          fmt::format("{}: {}", core::visible(named), error.message())});
    Result<config::Config> config = settings_in_force(config::Paths::from_environment());
    if (!config) return fail(config.error());
    const core::JudgedCommand judged = judged_command(arguments, *config, directory);
    Result<core::RuleSet> rules = rules_in_force(arguments, directory);
    if (!rules) return fail(rules.error());

    const os::TrustedPrograms programs(trust_places(*config, directory));
    const core::Judgement judgement = core::judge(
        judged, *rules, [&](std::string_view word) { return programs.is_trusted(word); });
    if (!arguments.has("json")) {
        print_for_person(judgement, rules->gap);
        return finish(status_ok);
    }
    ByteBuffer text;
    json::write_value(text, server::explanation_of(judgement));
    print_line(text.view());
    return finish(status_ok);
}

// Returns true if the rule allows words whose effect execward does not know.
bool is_open(const core::PrefixRule& rule) {
    const bool can_only_tighten =
        rule.layer == core::RuleLayer::system || rule.layer == core::RuleLayer::project;
    return rule.decision == core::Decision::allow && !can_only_tighten &&
           rule.further == core::FurtherWords::any;
}

int check(const Arguments& arguments) {
    const std::string project_dir = config::project_rules_dir(project_of("."));
    const config::LoadedRules loaded = arguments.operands().empty()
                                           ? config::load_rules(rule_places(project_dir))
                                           : config::load_rule_files(arguments.operands());
    for (const config::RuleProblem& problem : loaded.problems)
        print_problem(stdout, problem);
    for (const core::PrefixRule& rule : loaded.rules.rules)
        if (is_open(rule))
            fmt::print(stderr,
                       "{}: allows any words behind `{}`; further = \"harmless\" allows "
                       "only those that are known to do no harm\n",
                       core::visible(rule.origin), core::visible(core::shown(rule)));
    const std::size_t rules = loaded.rules.rules.size();
    const std::size_t problems = loaded.problems.size();
    fmt::print(stderr, "{} rule{} {}, {} problem{}\n", rules, rules == 1 ? "" : "s",
               rules == 1 ? "counts" : "count", problems, problems == 1 ? "" : "s");
    return finish(problems == 0 ? status_ok : status_failure);
}

int policy(const Arguments& arguments) {
    if (arguments.action() == "suggest") return suggest_rules(arguments);
    return arguments.action() == "explain" ? explain(arguments) : check(arguments);
}

} // namespace

constinit const Command policy_command = {
    .name = "policy",
    .summary = "say what would happen to a command, and why; check and suggest rules",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = policy};

} // namespace ew::cli
