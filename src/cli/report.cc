// execward report: what commands did and what became of them, as one HTML page.
#include "cli/report.h"

#include "cli/shared/audit_history.h"
#include "cli/shared/judging.h"
#include "cli/shared/moments.h"
#include "cli/shared/places.h"
#include "cli/shared/printing.h"
#include "cli/shared/recordings.h"
#include "cli/shared/store_access.h"
#include "cli/shared/whole_file.h"
#include "core/text/display.h"
#include "report/page.h"
#include "report/wording.h"
#include "transcript/recorded_screen.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward report [OPTION…] [SESSION]

Writes one HTML page about the commands in the audit: a line for each command on a time line, with
what became of it; behind it who or what decided, the wait for a person, the sandbox, exit, denials
and hosts. The page also has the rules that would have saved questions, and the rules and approvals
that nothing used. It opens from disk, needs no network, and runs no script of others.
)";

constexpr auto options = std::to_array<Option>({
    {.name = "o", .argument = "FILE", .meaning = "write the page there", .usual = "stdout"},
    {.name = "since",
     .argument = "WHEN",
     .meaning = "commands that began since then: 90m, 2h, 7d, or a time such as 2026-01-31 or "
                "2026-01-31T09:30Z",
     .usual = "1d, and with SESSION all of it"},
    {.name = "recording",
     .argument = "FILE",
     .meaning = "also show the last screens of the terminals in this recorded session",
     .repeats = true,
     .details =
         "It is a file that `execward serve --record` has written. The audit has no output of "
         "commands."},
    database_option,
});

constexpr std::string_view notes = R"(Examples:
  execward report -o report.html                      the commands of the last day
  execward report --since=7d -o report.html           those of a week
  execward report 3f2a91c0 -o report.html             one session: its id, or the beginning of it

The ids of sessions are in execward audit export --json. A page has the newest 20000 commands. Like the
audit, it has the commands with all their arguments, secrets too: only you can read the file.
Exit status: 0, 1 the audit could not be read or the page not be written, 2 usage.
)";

constexpr auto actions = std::to_array<Action>({{{}, {.name = "SESSION", .most = 1}}});

constexpr std::size_t most_commands = 20'000;
constexpr std::size_t most_pictures = 16;

// What the command line selects.
struct Selection {
    std::string session = {}; // empty: every session
    std::optional<store::UnixMs> since = {};
    std::vector<std::string> recordings = {}; // files
};

std::string title_of(const Selection& selection) {
    if (!selection.session.empty()) return fmt::format("Commands of session {}", selection.session);
    return fmt::format("Commands since {} UTC", report::minute_text(selection.since.value_or(0)));
}

Result<std::vector<report::Command>> selected(const report::History& history,
                                              const Selection& selection) {
    std::vector<report::Command> commands = selection.session.empty()
                                                ? history.commands()
                                                : TRY(commands_of(history, selection.session));
    std::erase_if(commands, [&](const report::Command& command) {
        return command.begin < selection.since.value_or(0);
    });
    if (commands.size() > most_commands)
        commands.erase(commands.begin(),
                       commands.end() - static_cast<std::ptrdiff_t>(most_commands));
    return commands;
}

Result<void> add_pictures(report::Report& page, const std::string& file) {
    for (const transcript::RecordedTerminal& terminal : TRY(terminals_in(file))) {
        if (page.pictures.size() >= most_pictures) break;
        const core::Screen screen = TRY(transcript::last_screen(terminal));
        page.pictures.push_back(
            {transcript::picture_of(screen), transcript::text_of(screen),
             fmt::format("The last screen of process {}: {}", terminal.process, terminal.command)});
    }
    return {};
}

// Appends the rules and approvals that nothing used.
Result<void> add_unused(report::Report& page, store::Store& store, const report::History& history,
                        const core::RuleSet& rules, const core::ProgramTrust& trust) {
    // To judge the whole audit takes a while, so it is left out where no rule could be unused.
    if (!rules.rules.empty()) {
        const std::vector<report::JudgedLine> lines =
            report::judged_lines(report::seen_in(history.commands()), rules, trust);
        for (const core::PrefixRule& rule : report::unused_rules(lines, rules, history.rules()))
            page.unused.push_back({core::shown(rule), rule.origin});
    }
    for (const store::Grant& grant : TRY(store.list({}, page.made_at))) {
        if (grant.uses > 0 || grant.kind == store::GrantKind::question) continue;
        page.unused.push_back(
            {grant.command, fmt::format("{}, since {}", store::name_of(grant.kind, grant.id),
                                        report::day_text(grant.created_at))});
    }
    return {};
}

Result<std::string> page_of(store::Store& store, const Selection& selection, store::UnixMs now) {
    TrustMemory memory(TRY(trust_places_here()));
    const auto trust = [&](std::string_view word) { return memory.is_trusted(word); };
    const report::History history = TRY(history_of(store));
    const config::LoadedRules loaded = config::load_rules(rule_places({}));

    report::Report page;
    page.title = title_of(selection);
    page.made_at = now;
    page.commands = TRY(selected(history, selection));
    page.gaps = history.gaps();
    for (const std::string& file : selection.recordings)
        TRY(add_pictures(page, file));
    page.home = variable("HOME");
    page.suggestions = report::suggestions_for(
        report::judged_lines(report::seen_in(page.commands), loaded.rules, trust), loaded.rules,
        trust);
    TRY(add_unused(page, store, history, loaded.rules, trust));
    return report::html_of(page, trust);
}

// The page has what the audit has: it is for this user only.
int write_page(const Arguments& arguments, const std::string& page) {
    const std::optional<std::string> target = arguments.value("o");
    if (!target) {
        print_line(page);
        return finish(status_ok);
    }
    (void)::umask(S_IRWXG | S_IRWXO);
    if (write_file(*target, page)) return status_ok;
    return fail({ErrorKind::internal,
                 fmt::format("cannot write {}: {}", core::visible(*target), strerror(errno))});
}

int make_report(const Arguments& arguments) {
    const store::UnixMs now = store::Moment::now().wall;
    Selection selection;
    if (!arguments.operands().empty()) selection.session = arguments.operands().front();
    selection.recordings = arguments.values("recording");
    const std::string since =
        arguments.value("since").value_or(selection.session.empty() ? "1d" : "");
    if (!since.empty()) {
        selection.since = moment_of(since, now);
        if (!selection.since)
            return arguments.refuse("--since takes a duration such as 2h, or a time such as "
                                    "2026-01-31T09:30Z");
    }
    if (!arguments.has("o") && ::isatty(STDOUT_FILENO) == 1)
        return arguments.refuse("a terminal shows no page: write it with -o FILE");
    Result<std::unique_ptr<store::Store>> store =
        open_store(arguments.value("database").value_or(""), now);
    if (!store) return fail(store.error());
    Result<std::string> page = page_of(**store, selection, now);
    if (!page) return fail(page.error());
    return write_page(arguments, *page);
}

} // namespace

constinit const Command report_command = {
    .name = "report",
    .summary = "write a page about what commands did, and what became of them",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = make_report};

} // namespace ew::cli
