// execward audit: what ran, what was asked, and who or what decided.
#include "cli/audit.h"

#include "base/byte_buffer.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "core/text/display.h"
#include "json/strings.h"
#include "json/writer.h"

#include <fmt/format.h>
#include <getopt.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view help =
    R"(Usage: execward audit tail [-n N] [--json]
       execward audit export [--json]

tail shows the last rows of the audit, export all of them, oldest first: every question, decision,
start, denial and exit, with who or what decided. One row is one line.

  -n N             so many rows (20)
  --json           an object a line, for programs
  --database=FILE  look there (EXECWARD_DATABASE, else what the settings say)
  -h, --help       show this help

Exit status: 0, 1 it could not be read, 2 usage.
)";

constexpr std::array<option, 4> long_options = {{
    {"json", no_argument, nullptr, 'j'},
    {"database", required_argument, nullptr, 'd'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

struct Options {
    std::int64_t count = 20;
    std::string database;
    bool as_json = false;
    bool wants_help = false;
    bool is_usage_error = false;
};

int refuse(std::string_view why) {
    fmt::print(stderr, "execward: {}; see execward audit --help\n", why);
    return status_usage;
}

std::int64_t number_of(std::string_view text) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    return is_whole ? number : 0;
}

Options parse(int argc, char** argv) {
    Options options;
    const bool is_tail = std::string_view(argv[0]) == "tail";
    for (int found = 0; (found = ::getopt_long(argc, argv, is_tail ? "hn:" : "h",
                                               long_options.data(), nullptr)) != -1;) {
        if (found == 'n') options.count = number_of(optarg);
        if (found == 'd') options.database = optarg;
        if (found == 'j') options.as_json = true;
        if (found == 'h') options.wants_help = true;
        if (found == '?') options.is_usage_error = true; // getopt has said why
    }
    options.is_usage_error = options.is_usage_error || optind < argc;
    return options;
}

// A row as JSON.
struct Line {
    std::int64_t id = 0;
    std::string time = {};
    std::int64_t at_ms = 0;
    std::string event = {};
    std::string session = {};
    std::string call = {};
    std::optional<std::vector<std::string>> argv = {};
    std::string argv_cut = {}; // instead of argv, if that was too long to be kept whole
    std::string directory = {};
    std::string decision = {};
    std::string decided_by = {};
    std::string rule = {};
    std::string detail = {};
};

template <class Visitor>
void fields(Visitor& visit, Line& line) {
    visit.required("id", line.id);
    visit.required("time", line.time);
    visit.required("atMs", line.at_ms);
    visit.required("event", line.event);
    visit.optional("session", line.session);
    visit.optional("call", line.call);
    visit.optional("argv", line.argv);
    visit.optional("argvCut", line.argv_cut);
    visit.optional("directory", line.directory);
    visit.optional("decision", line.decision);
    visit.optional("decidedBy", line.decided_by);
    visit.optional("rule", line.rule);
    visit.optional("detail", line.detail);
}

void print_json(const store::AuditRow& row) {
    Line line;
    line.id = row.id;
    line.time = time_text(row.at);
    line.at_ms = row.at;
    line.event = row.event;
    line.session = row.session;
    line.call = row.call;
    line.argv = json::strings_from_json(row.argv);
    if (!line.argv) line.argv_cut = row.argv;
    line.directory = row.directory;
    line.decision = row.decision;
    line.decided_by = row.decided_by;
    line.rule = row.rule;
    line.detail = row.detail;
    ByteBuffer text;
    json::write_value(text, line);
    print_line(text.view());
}

// 2026-01-31T09:30:00Z decision    approved by client (grant 3) in /p: make all; because …
void print_text(const store::AuditRow& row) {
    std::string line = fmt::format("{} {:<10}", time_text(row.at), core::visible(row.event));
    const auto add = [&](std::string_view before, const std::string& text, std::string_view after) {
        if (!text.empty()) line += fmt::format("{}{}{}", before, core::visible(text), after);
    };
    add(" ", row.decision, "");
    add(" by ", row.decided_by, "");
    add(" (", row.rule, ")");
    add(" in ", row.directory, "");
    if (const auto argv = json::strings_from_json(row.argv))
        line += fmt::format(": {}", core::shell_quoted(*argv));
    else
        add(": ", row.argv, "");
    add("; ", row.detail, "");
    add(" [call ", row.call, "]");
    print_line(line);
}

void print_rows(const std::vector<store::AuditRow>& rows, bool as_json) {
    for (const store::AuditRow& row : rows) {
        if (as_json)
            print_json(row);
        else
            print_text(row);
    }
}

// In pieces, so that neither memory nor a lock is held for all of it.
Result<void> export_all(store::Store& store, bool as_json) {
    constexpr std::int64_t piece = 1000;
    for (std::int64_t last = 0;;) {
        const std::vector<store::AuditRow> rows = TRY(store.audit_after(last, piece));
        print_rows(rows, as_json);
        if (rows.empty()) return {};
        last = rows.back().id;
    }
}

Result<void> tail(store::Store& store, const Options& options) {
    print_rows(TRY(store.audit_tail(options.count)), options.as_json);
    return {};
}

} // namespace

int audit(int argc, char** argv) {
    const std::string_view action = argc > 1 ? argv[1] : "";
    const bool asks_for_help = action == "--help" || action == "-h";
    const bool is_known = action == "tail" || action == "export";
    if (!asks_for_help && !is_known)
        return refuse(action.empty() ? "say tail or export"
                                     : fmt::format("there is no action '{}'", action));
    const Options options = asks_for_help ? Options{} : parse(argc - 1, argv + 1);
    if (asks_for_help || options.wants_help) {
        fmt::print("{}", help);
        return status_ok;
    }
    if (options.is_usage_error) return refuse("the options are wrong");
    if (options.count < 1) return refuse("-n takes a number from 1");
    Result<std::unique_ptr<store::Store>> store =
        open_store(options.database, store::Moment::now().wall);
    if (!store) return fail(store.error());
    Result<void> shown =
        action == "tail" ? tail(**store, options) : export_all(**store, options.as_json);
    if (!shown) return fail(shown.error());
    return finish(status_ok);
}

} // namespace ew::cli
