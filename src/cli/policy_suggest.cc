#include "cli/policy_suggest.h"

#include "cli/shared/audit_history.h"
#include "cli/shared/confirmation.h"
#include "cli/shared/judging.h"
#include "cli/shared/moments.h"
#include "cli/shared/places.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "config/paths.h"
#include "config/rule_amendment.h"
#include "core/judgement/further_words.h"
#include "core/text/display.h"
#include "core/text/text.h"
#include "report/suggestions.h"
#include "report/wording.h"
#include "server/approval/approval_book.h"
#include "server/approval/approval_grant.h"
#include "toml/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

using report::Suggestion;
using report::Suggestions;

constexpr std::size_t most_examples = 20; // commands that are listed for one rule
constexpr std::size_t most_others = 10; // commands without a rule, and rules that are not suggested
constexpr std::size_t longest_line = 160;

// Returns the command on one line, which cannot end a comment.
std::string shown(const core::Words& argv) {
    std::string line = report::typed_text(argv);
    if (core::has_invisible(line) || line.find_first_of("\n\t") != std::string::npos)
        line = core::visible(line);
    if (line.size() <= longest_line) return line;
    const std::size_t end = core::valid_prefix(std::string_view(line).substr(0, longest_line));
    return line.substr(0, end) + "…";
}

void print_rule(const Suggestion& rule) {
    print_line(fmt::format("# {} would not have been asked with this rule. It would newly allow, "
                           "of the commands in the audit:",
                           report::counted(rule.saved, "question")));
    for (std::size_t i = 0; i < std::min(rule.commands.size(), most_examples); ++i)
        print_line("#   " + shown(rule.commands[i]));
    if (rule.commands.size() > most_examples)
        print_line(fmt::format("#   and {} more", rule.commands.size() - most_examples));
    print_line(
        fmt::format("# and with `{}` {}", shown(rule.prefix), core::further_words_of(rule.prefix)));
    std::string words;
    for (const std::string& word : rule.prefix)
        words += (words.empty() ? "" : ", ") + toml::quoted(word);
    print_line(fmt::format(
        "[[rule]]\nprefix = [{}]\ndecision = \"allow\"\nfurther = \"harmless\"\n", words));
}

void print_others(const Suggestions& found) {
    for (std::size_t i = 0; i < std::min(found.refused.size(), most_others); ++i)
        print_line(fmt::format("# Not suggested: `{}` ({}): {}.", shown(found.refused[i].prefix),
                               report::counted(found.refused[i].saved, "question"),
                               core::visible(found.refused[i].obstacle)));
    if (found.unsolved.empty()) return;
    print_line("# Allowed again and again, without a rule that is known to be harmless:");
    for (std::size_t i = 0; i < std::min(found.unsolved.size(), most_others); ++i)
        print_line(fmt::format("#   {} ({})", shown(found.unsolved[i].argv),
                               report::counted(found.unsolved[i].asked, "question")));
    if (found.unsolved.size() > most_others)
        print_line(fmt::format("#   and {} more", found.unsolved.size() - most_others));
}

void print_suggestions(const Suggestions& found) {
    if (found.rules.empty()) print_line("# No rule would have saved two questions or more.");
    for (const Suggestion& rule : found.rules)
        print_rule(rule);
    print_others(found);
}

Result<Suggestions> suggestions_of(store::Store& store, store::UnixMs since) {
    TrustMemory memory(TRY(trust_places_here()));
    const auto trust = [&](std::string_view word) { return memory.is_trusted(word); };
    const report::History history = TRY(history_of(store));
    const config::LoadedRules loaded = config::load_rules(rule_places({}));
    const std::vector<report::JudgedLine> lines =
        report::judged_lines(report::seen_in(commands_since(history, since)), loaded.rules, trust);
    return report::suggestions_for(lines, loaded.rules, trust);
}

// Keeps the rule as if the person had granted it on the command line.
Result<void> keep(server::ApprovalBook& book, const Suggestion& rule, store::UnixMs now) {
    store::Grant grant;
    grant.kind = store::GrantKind::prefix;
    grant.scope = store::GrantScope::always;
    grant.key = server::key_of_prefix(rule.prefix);
    grant.command = core::shell_quoted(rule.prefix);
    grant.origin = "command line";
    grant.reason = fmt::format("suggested, {} before", report::counted(rule.saved, "question"));
    grant.created_at = now;
    store::AuditRow row;
    row.at = now;
    row.event = "grant";
    row.decided_by = "command line";
    row.argv = grant.key;
    row.decision = store::name_of(grant.scope);
    row.detail = grant.reason;
    (void)TRY(book.record(row, grant));
    return {};
}

int write_rules(store::Store& store, const Suggestions& found, store::UnixMs now) {
    if (found.rules.empty()) return finish(status_ok);
    const std::string rules_dir = config::Paths::from_environment().rules_directory;
    const int status = finish(status_ok); // the rules are on the screen before the question
    if (status != status_ok) return status;
    const std::optional<bool> is_wanted =
        confirm(fmt::format("Add {} to {}/{}? [y/N] ", report::counted(found.rules.size(), "rule"),
                            core::visible(rules_dir), config::approved_file));
    if (!is_wanted)
        return fail({ErrorKind::denied, "there is no terminal to ask on, and nothing was written",
                     "say --write in a terminal, or put the rules into rules.d by hand"});
    if (!*is_wanted) return status_failure;
    server::ApprovalBook book(store, rules_dir);
    for (const Suggestion& rule : found.rules)
        if (Result<void> kept = keep(book, rule, now); !kept) return fail(kept.error());
    fmt::print(stderr, "{} added; execward approvals list shows them, revoke withdraws them\n",
               report::counted(found.rules.size(), "rule"));
    return status_ok;
}

} // namespace

int suggest_rules(const Arguments& arguments) {
    const store::UnixMs now = store::Moment::now().wall;
    std::optional<store::UnixMs> since = 0;
    if (const std::optional<std::string> text = arguments.value("since"))
        since = moment_of(*text, now);
    if (!since)
        return arguments.refuse("--since takes a duration such as 7d, or a time such as "
                                "2026-01-31T09:30Z");
    Result<std::unique_ptr<store::Store>> store =
        open_store(arguments.value("database").value_or(""), now);
    if (!store) return fail(store.error());
    Result<Suggestions> found = suggestions_of(**store, *since);
    if (!found) return fail(found.error());
    print_suggestions(*found);
    return arguments.has("write") ? write_rules(**store, *found, now) : finish(status_ok);
}

} // namespace ew::cli
