// execward approvals: what was allowed for more than once; shown, withdrawn and given.
#include "cli/approvals.h"

#include "base/byte_buffer.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "config/paths.h"
#include "core/judgement/banned_prefix.h"
#include "core/judgement/judgement.h"
#include "core/text/display.h"
#include "json/writer.h"
#include "server/approval/approval_book.h"

#include <fmt/format.h>
#include <getopt.h>

#include <array>
#include <charconv>
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

constexpr std::string_view help =
    R"(Usage: execward approvals list [--session ID] [--project DIR] [--json]
       execward approvals revoke ID… | --session ID | --project DIR | --all
       execward approvals grant --scope project|always [OPTION…] -- WORD…

list shows what may run without a question because somebody allowed it. revoke withdraws some of it,
at once and for every running server. grant allows every command that begins with these words; it
does not take it out of its sandbox.

  --session=ID     of this session
  --project=DIR    of the project that DIR is in, and of the sessions in it; with grant: where it
                   counts (the project of the working directory)
  --all            everything
  --scope=SCOPE    project: in one project; always: everywhere
  --expires-in=N   how long it counts: a number and s, m, h, d or w, such as 7d (for ever)
  --reason=TEXT    why; shown by list
  --database=FILE  look there (EXECWARD_DATABASE, else what the settings say)
  --json           for programs: what approvals/list, approvals/revoke and approvals/grant answer
  -h, --help       show this help

Exit status: 0, 1 it could not be done or there is no such approval, 2 usage.
)";

constexpr std::array<option, 10> long_options = {{
    {"session", required_argument, nullptr, 's'},
    {"project", required_argument, nullptr, 'p'},
    {"all", no_argument, nullptr, 'a'},
    {"scope", required_argument, nullptr, 'c'},
    {"expires-in", required_argument, nullptr, 'e'},
    {"reason", required_argument, nullptr, 'r'},
    {"database", required_argument, nullptr, 'd'},
    {"json", no_argument, nullptr, 'j'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

struct Options {
    std::string action;
    std::string seen; // letters of the options that were given
    std::string session;
    std::string project;
    std::string scope;
    std::string expires_in;
    std::string reason;
    std::string database;
    std::vector<std::string> words; // that are no options

    bool has(char letter) const { return seen.find(letter) != std::string::npos; }
};

int refuse(std::string_view why) {
    fmt::print(stderr, "execward: {}; see execward approvals --help\n", why);
    return status_usage;
}

// Of the options after the action. '?' among the letters: getopt has said what is wrong.
Options parse(int argc, char** argv) {
    Options options;
    options.action = argv[0];
    // "+": the words of a command keep what looks like options of ours.
    const char* const letters = options.action == "grant" ? "+h" : "h";
    for (int found = 0;
         (found = ::getopt_long(argc, argv, letters, long_options.data(), nullptr)) != -1;) {
        options.seen += static_cast<char>(found);
        if (found == 's') options.session = optarg;
        if (found == 'p') options.project = optarg;
        if (found == 'c') options.scope = optarg;
        if (found == 'e') options.expires_in = optarg;
        if (found == 'r') options.reason = optarg;
        if (found == 'd') options.database = optarg;
    }
    options.words.assign(argv + optind, argv + argc);
    return options;
}

// The open store and the book over it.
struct Opened {
    std::unique_ptr<store::Store> store;
    server::ApprovalBook book;
    store::UnixMs now;
};

Result<Opened> open(const Options& options) {
    const store::UnixMs now = store::Moment::now().wall;
    std::unique_ptr<store::Store> store = TRY(open_store(options.database, now));
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
    if (info.reason) text += fmt::format(" ({})", core::visible(*info.reason));
    return text;
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
                        core::visible(where(info)), core::visible(info.origin),
                        time_or_nothing(info.created_at_ms), time_or_nothing(info.last_used_at_ms),
                        fmt::format("{}", info.uses), time_or_nothing(info.expires_at_ms),
                        what(info)});
    print_table(rows);
}

int list(const Options& options) {
    if (!options.words.empty()) return refuse("list takes no words");
    Result<Opened> opened = open(options);
    if (!opened) return fail(opened.error());
    Result<std::vector<ApprovalInfo>> approvals = opened->book.list(opened->now);
    if (!approvals) return fail(approvals.error());
    if (options.has('s'))
        std::erase_if(*approvals, [&](const auto& one) { return one.session != options.session; });
    const std::string project = options.has('p') ? project_of(options.project) : "";
    if (options.has('p'))
        std::erase_if(*approvals, [&](const auto& one) { return one.project != project; });
    if (options.has('j'))
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

int revoke(const Options& options) {
    const int named = int{!options.words.empty()} + int{options.has('s')} + int{options.has('p')} +
                      int{options.has('a')};
    if (named != 1) return refuse("revoke takes either IDs or --session or --project or --all");
    std::vector<protocol::ApprovalsRevokeParams> orders;
    for (const std::string& id : options.words)
        orders.push_back({id, {}, {}, false});
    if (options.has('s')) orders.push_back({{}, options.session, {}, false});
    if (options.has('p'))
        orders.push_back({{}, {}, json::Path{project_of(options.project)}, false});
    if (options.has('a')) orders.push_back({{}, {}, {}, true});

    Result<Opened> opened = open(options);
    if (!opened) return fail(opened.error());
    protocol::ApprovalsRevokeResult answer;
    int status = status_ok;
    for (const protocol::ApprovalsRevokeParams& order : orders) {
        Result<std::uint64_t> revoked =
            opened->book.revoke(order, author(opened->now, "revocation"));
        if (revoked)
            answer.revoked += *revoked;
        else
            status = fail(revoked.error());
    }
    if (options.has('j'))
        print_json(answer);
    else
        print_line(fmt::format("{} revoked", answer.revoked));
    return finish(status);
}

// "90m" in milliseconds. Absent: it cannot be meant.
std::optional<store::UnixMs> duration_of(std::string_view text) {
    constexpr std::string_view units = "smhdw";
    constexpr std::array<store::UnixMs, 5> millis = {1000, 60'000, 3'600'000, 86'400'000,
                                                     604'800'000};
    constexpr std::int64_t most = 100'000; // of any unit
    const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
    if (unit == std::string_view::npos) return std::nullopt;
    text.remove_suffix(1);
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    if (!is_whole || number < 1 || number > most) return std::nullopt;
    return number * millis[unit];
}

int grant(const Options& options) {
    const std::vector<std::string>& words = options.words;
    if (words.empty()) return refuse("grant needs the words that a command begins with");
    const std::optional<store::GrantScope> scope = store::scope_of(options.scope);
    if (scope != store::GrantScope::project && scope != store::GrantScope::always)
        return refuse("grant needs --scope=project or --scope=always");
    if (options.has('p') && scope == store::GrantScope::always)
        return refuse("--project goes with --scope=project");
    const std::optional<store::UnixMs> duration = duration_of(options.expires_in);
    if (options.has('e') && !duration)
        return refuse("--expires-in takes a number and s, m, h, d or w, such as 7d");
    if (core::is_banned_prefix(words))
        return fail(Error{ErrorKind::denied,
                          fmt::format("commands that begin with {} can do anything, so they are "
                                      "asked about each time",
                                      core::shell_quoted(words)),
                          "name more words of the command"});

    Result<Opened> opened = open(options);
    if (!opened) return fail(opened.error());
    store::Grant grant;
    grant.kind = store::GrantKind::prefix;
    grant.scope = *scope;
    grant.key = server::key_of_prefix(words);
    if (scope == store::GrantScope::project) grant.project = project_of(options.project);
    grant.command = core::shell_quoted(words);
    grant.origin = "command line";
    grant.reason = options.reason;
    grant.created_at = opened->now;
    if (duration) grant.expires_at = opened->now + *duration;
    store::AuditRow row = author(opened->now, "grant");
    row.argv = grant.key;
    row.directory = grant.project;
    row.decision = store::name_of(grant.scope);
    row.detail = grant.reason;
    Result<std::int64_t> id = opened->book.record(row, grant);
    if (!id) return fail(id.error());
    if (options.has('j'))
        print_json(protocol::ApprovalsGrantResult{fmt::format("{}", *id)});
    else
        print_line(fmt::format("{} granted: {} …", *id, grant.command));
    return finish(status_ok);
}

} // namespace

int approvals(int argc, char** argv) {
    const std::string_view action = argc > 1 ? argv[1] : "";
    if (action == "--help" || action == "-h") {
        fmt::print("{}", help);
        return status_ok;
    }
    if (action != "list" && action != "revoke" && action != "grant")
        return refuse(action.empty() ? "say list, revoke or grant"
                                     : fmt::format("there is no action '{}'", action));
    const Options options = parse(argc - 1, argv + 1);
    if (options.has('h')) {
        fmt::print("{}", help);
        return status_ok;
    }
    // Which options an action takes.
    const std::string_view known = action == "list"     ? "spdj"
                                   : action == "revoke" ? "spadj"
                                                        : "pcerdj";
    if (options.has('?')) return status_usage;
    if (const std::size_t wrong = options.seen.find_first_not_of(known); wrong != std::string::npos)
        return refuse(fmt::format("{} does not take one of these options", action));
    if (action == "list") return list(options);
    return action == "revoke" ? revoke(options) : grant(options);
}

} // namespace ew::cli
