// execward approvals: lists and withdraws what was answered for more than one command, and adds
// approvals.
#include "cli/approvals.h"

#include "base/byte_buffer.h"
#include "cli/shared/confirmation.h"
#include "cli/shared/moments.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "config/paths.h"
#include "core/judgement/further_words.h"
#include "core/judgement/judgement.h"
#include "core/text/display.h"
#include "json/writer.h"
#include "protocol/stored_approvals.h"
#include "server/approval/approval_book.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

using protocol::ApprovalInfo;
using protocol::ApprovalScope;

constexpr std::string_view about =
    R"(Usage: execward approvals list [--session ID] [--project DIR] [--json]
       execward approvals revoke ID… | --session ID | --project DIR | --all
       execward approvals grant --scope project|always [OPTION…] -- WORD…
       execward approvals grant --question ID [OPTION…]

list shows what may run without a question because somebody allowed it, and what is refused without
one because somebody denied it. revoke withdraws some of it, at once and for every running server.
grant allows these words, also with further words that are known to do no harm; it does not take the
command out of its sandbox. With --question it allows exactly the command that a client could ask
nobody about, after showing it. What is granted counts each time, until it is revoked or its time is
over.
)";

constexpr auto options = std::to_array<Option>({
    {.name = "session", .argument = "ID", .meaning = "of this session", .actions = "list revoke"},
    {"project", "DIR",
     "of the project that DIR is in, and of the sessions in it; with grant: where it counts (the "
     "project of the working directory)"},
    {.name = "all", .meaning = "everything", .actions = "revoke"},
    {.name = "scope",
     .argument = "SCOPE",
     .meaning = "in one project, or everywhere",
     .choices = "project|always",
     .actions = "grant"},
    {.name = "expires-in",
     .argument = "N",
     .meaning = "how long it counts: a number and s, m, h, d or w, such as 7d",
     .usual = "for ever",
     .actions = "grant"},
    {.name = "reason", .argument = "TEXT", .meaning = "why; shown by list", .actions = "grant"},
    {.name = "question",
     .argument = "ID",
     .meaning = "the question that could not be asked; list shows it",
     .actions = "grant"},
    {.name = "yes", .meaning = "with --question: do not ask", .actions = "grant"},
    database_option,
    {"json", "", "for programs: what approvals/list, approvals/revoke and approvals/grant answer"},
});

constexpr std::string_view notes =
    R"(Exit status: 0, 1 it could not be done or there is no such approval, 2 usage.
)";

constexpr auto actions =
    std::to_array<Action>({{"list"},
                           {"revoke", {.name = "ID", .most = Operands::any}},
                           {"grant", {.name = "WORD", .most = Operands::any, .is_command = true}}});

// The open store and the approval book over it.
struct Opened {
    std::unique_ptr<store::Store> store;
    server::ApprovalBook book;
    store::UnixMs now;
};

Result<Opened> open(const Arguments& arguments) {
    const store::UnixMs now = store::Moment::now().wall;
    std::unique_ptr<store::Store> store =
        TRY(open_store(arguments.value("database").value_or(""), now));
    server::ApprovalBook book(*store, config::Paths::from_environment().rules_directory);
    return Opened{std::move(store), std::move(book), now};
}

template <class Struct>
void print_json(const Struct& answer) {
    ByteBuffer text;
    json::write_value(text, answer);
    print_line(text.view());
}

std::string time_or_nothing(std::optional<std::uint64_t> time) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<store::UnixMs>::max());
    return time && *time <= most ? time_text(static_cast<store::UnixMs>(*time)) : "";
}

std::string where(const ApprovalInfo& info) {
    switch (info.scope) {
    case ApprovalScope::directory: return info.directory.value_or("");
    case ApprovalScope::workspace: return info.directory.value_or("") + " and below";
    case ApprovalScope::session: return "session " + info.session.value_or("");
    case ApprovalScope::project: return info.project.value_or("");
    case ApprovalScope::always: return "everywhere";
    }
    return {};
}

std::string what(const ApprovalInfo& info) {
    std::string text =
        info.prefix ? core::shell_quoted(*info.prefix) + " …" : core::visible(info.command);
    if (info.kind == protocol::GrantKindName::denial) text.insert(0, "refused: ");
    if (info.kind == protocol::GrantKindName::question) text.insert(0, "could not be asked: ");
    if (info.reason) text += fmt::format(" ({})", core::visible(*info.reason));
    return text;
}

// A question that could not be asked allows nothing yet, whatever asked it.
std::string origin_of(const ApprovalInfo& info) {
    const bool is_question = info.kind == protocol::GrantKindName::question;
    return is_question ? "question" : core::visible(info.origin);
}

void print_approvals(const std::vector<ApprovalInfo>& approvals) {
    if (approvals.empty()) {
        print_line("no approvals");
        return;
    }
    std::vector<std::vector<std::string>> rows = {
        {"ID", "SCOPE", "WHERE", "ORIGIN", "CREATED", "LAST USED", "USES", "EXPIRES", "WHAT"}};
    for (const ApprovalInfo& info : approvals)
        rows.push_back({core::visible(info.id), std::string(json::name_of(info.scope)),
                        core::visible(where(info)), origin_of(info),
                        time_or_nothing(info.created_at_ms), time_or_nothing(info.last_used_at_ms),
                        fmt::format("{}", info.uses), time_or_nothing(info.expires_at_ms),
                        what(info)});
    print_table(rows);
}

int list(const Arguments& arguments) {
    Result<Opened> opened = open(arguments);
    if (!opened) return fail(opened.error());
    Result<std::vector<ApprovalInfo>> approvals = opened->book.list(opened->now);
    if (!approvals) return fail(approvals.error());
    if (const auto session = arguments.value("session"))
        std::erase_if(*approvals, [&](const auto& one) { return one.session != session; });
    if (const auto directory = arguments.value("project")) {
        const std::string project = project_of(*directory);
        std::erase_if(*approvals, [&](const auto& one) { return one.project != project; });
    }
    if (arguments.has("json"))
        print_json(protocol::ApprovalsListResult{std::move(*approvals)});
    else
        print_approvals(*approvals);
    if (const std::int64_t skipped = opened->store->skipped_rows(); skipped > 0)
        fmt::print(stderr, "execward: {} approvals are not understood and do not count\n", skipped);
    return finish(status_ok);
}

store::AuditRow author(store::UnixMs now, std::string_view event) {
    store::AuditRow row;
    row.at = now;
    row.event = event;
    row.decided_by = "command line";
    return row;
}

int revoke(const Arguments& arguments) {
    const std::optional<std::string> session = arguments.value("session");
    const std::optional<std::string> project = arguments.value("project");
    const bool is_all = arguments.has("all");
    const int named = int{!arguments.operands().empty()} + int{session.has_value()} +
                      int{project.has_value()} + int{is_all};
    if (named != 1)
        return arguments.refuse("revoke takes either IDs or --session or --project or --all");
    std::vector<protocol::ApprovalsRevokeParams> orders;
    for (const std::string& id : arguments.operands())
        orders.push_back({id, {}, {}, false});
    if (session) orders.push_back({{}, *session, {}, false});
    if (project) orders.push_back({{}, {}, json::Path{project_of(*project)}, false});
    if (is_all) orders.push_back({{}, {}, {}, true});

    Result<Opened> opened = open(arguments);
    if (!opened) return fail(opened.error());
    protocol::ApprovalsRevokeResult answer;
    int status = status_ok;
    for (const protocol::ApprovalsRevokeParams& order : orders) {
        Result<std::uint64_t> revoked =
            opened->book.revoke(order, author(opened->now, "revocation"));
        if (revoked)
            answer.revoked += *revoked;
        else
            status = fail(revoked.error().kind == ErrorKind::unknown_approval
                              ? Error{ErrorKind::unknown_approval, revoked.error().message,
                                      "execward approvals list shows them with their ids"}
                              : revoked.error());
    }
    if (arguments.has("json"))
        print_json(answer);
    else
        print_line(fmt::format("{} revoked", answer.revoked));
    return finish(status);
}

void set_expiry(const Arguments& arguments, store::Grant& grant) {
    const std::optional<store::UnixMs> duration =
        duration_of(arguments.value("expires-in").value_or(""));
    if (duration) grant.expires_at = grant.created_at + *duration;
}

Result<std::int64_t> record(Opened& opened, const store::Grant& grant) {
    store::AuditRow row = author(opened.now, "grant");
    row.argv = grant.key;
    row.directory = grant.project;
    row.decision = store::name_of(grant.scope);
    row.detail = grant.reason;
    return opened.book.record(row, grant);
}

// Returns the question that nobody could be asked.
Result<store::Grant> question_of(Opened& opened, std::int64_t id) {
    for (store::Grant& one : TRY(opened.store->list({}, opened.now)))
        if (one.id == id && one.kind == store::GrantKind::question) return std::move(one);
    return Error{ErrorKind::unknown_approval, fmt::format("no question {} waits for an answer", id),
                 "execward approvals list shows them; they are kept for a day"};
}

// Approves exactly the command of a question, after showing it.
int grant_question(const Arguments& arguments) {
    const std::optional<std::int64_t> id = whole_number(*arguments.value("question"), 1);
    if (!id) return arguments.refuse("--question takes the number of a question");
    if (!arguments.operands().empty()) return arguments.refuse("--question takes no words");
    Result<Opened> opened = open(arguments);
    if (!opened) return fail(opened.error());
    Result<store::Grant> question = question_of(*opened, *id);
    if (!question) return fail(question.error());
    store::Grant grant = *question;
    grant.kind =
        server::is_key_of_host(grant.key) ? store::GrantKind::host : store::GrantKind::command;
    grant.origin = "command line";
    grant.created_at = opened->now;
    grant.expires_at.reset();
    if (const auto scope = store::scope_of(arguments.value("scope").value_or("")))
        grant.scope = *scope;
    if (grant.scope == store::GrantScope::project && grant.project.empty())
        return arguments.refuse("the command is of no project: --scope=always");
    set_expiry(arguments, grant);
    fmt::print(stderr, "Allow exactly this command?\n  {}\n", core::visible(grant.command));
    if (core::has_mixed_scripts(grant.command))
        fmt::print(stderr, "  WARNING: it has letters that look like others.\n");
    if (!grant.reason.empty()) fmt::print(stderr, "  {}\n", core::visible(grant.reason));
    const std::string place = grant.scope == store::GrantScope::project
                                  ? "in the project " + core::visible(grant.project)
                                  : std::string("everywhere");
    fmt::print(stderr, "  {}, from now on until {}\n", place,
               grant.expires_at ? time_text(*grant.expires_at)
                                : "you withdraw it: execward approvals revoke ID");
    const std::optional<bool> is_wanted = arguments.has("yes") ? true : confirm("Allow it? [y/N] ");
    if (!is_wanted)
        return fail(Error{ErrorKind::denied, "there is no terminal to ask on",
                          "say --yes after looking at the command"});
    if (!*is_wanted) return status_failure;
    Result<std::int64_t> granted = record(*opened, grant);
    if (!granted) return fail(granted.error());
    (void)opened->store->revoke(store::OneGrant{*id}, author(opened->now, "")); // else it expires
    if (arguments.has("json"))
        print_json(protocol::ApprovalsGrantResult{fmt::format("{}", *granted)});
    else
        print_line(fmt::format("{} granted: {}", *granted, core::visible(grant.command)));
    return finish(status_ok);
}

int grant(const Arguments& arguments) {
    const std::vector<std::string>& words = arguments.operands();
    const std::optional<std::string> expiry = arguments.value("expires-in");
    if (expiry && !duration_of(*expiry))
        return arguments.refuse("--expires-in takes a number and s, m, h, d or w, such as 7d");
    if (arguments.has("question")) return grant_question(arguments);
    if (words.empty()) return arguments.refuse("grant needs WORDs, or --question");
    const std::optional<store::GrantScope> scope =
        store::scope_of(arguments.value("scope").value_or(""));
    if (!scope) return arguments.refuse("grant needs --scope=project or --scope=always");
    if (arguments.has("project") && scope == store::GrantScope::always)
        return arguments.refuse("--project goes with --scope=project");
    if (!core::can_be_approved(words))
        return fail(Error{ErrorKind::denied,
                          fmt::format("it is not known what {} does with further words or with "
                                      "its input, so it cannot be approved here",
                                      core::shell_quoted(words)),
                          "approve exactly this command when it is asked about, or write a rule "
                          "in rules.d by hand"});

    Result<Opened> opened = open(arguments);
    if (!opened) return fail(opened.error());
    store::Grant grant;
    grant.kind = store::GrantKind::prefix;
    grant.scope = *scope;
    grant.key = server::key_of_prefix(words);
    if (scope == store::GrantScope::project)
        grant.project = project_of(arguments.value("project").value_or(""));
    grant.command = core::shell_quoted(words);
    grant.origin = "command line";
    grant.reason = arguments.value("reason").value_or("");
    grant.created_at = opened->now;
    set_expiry(arguments, grant);
    Result<std::int64_t> id = record(*opened, grant);
    if (!id) return fail(id.error());
    if (arguments.has("json"))
        print_json(protocol::ApprovalsGrantResult{fmt::format("{}", *id)});
    else
        print_line(fmt::format("{} granted: {}; also {}", *id, grant.command,
                               core::further_words_of(words)));
    return finish(status_ok);
}

int approvals(const Arguments& arguments) {
    if (arguments.action() == "list") return list(arguments);
    return arguments.action() == "revoke" ? revoke(arguments) : grant(arguments);
}

} // namespace

constinit const Command approvals_command = {
    .name = "approvals",
    .summary = "list, withdraw or add what was allowed or denied for more than once",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = approvals};

} // namespace ew::cli
