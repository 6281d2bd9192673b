// execward audit: shows which commands ran, which questions were asked, and how each was decided.
#include "cli/audit.h"

#include "base/byte_buffer.h"
#include "cli/shared/audit_history.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "core/text/display.h"
#include "json/strings.h"
#include "json/writer.h"
#include "store/host_detail.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward audit tail [-n N] [-f] [--json]
       execward audit export [--json]
       execward audit network [--by-host]

tail shows the last rows of the audit, export all of them, oldest first: every question, decision,
start, denial, host and exit, with who or what decided. One row is one line. network shows the hosts
that commands with a network by host have reached: for each command, or added up for each host.
)";

constexpr auto options = std::to_array<Option>({
    {.name = "n", .argument = "N", .meaning = "how many rows", .usual = "20", .actions = "tail"},
    {.name = "f",
     .meaning = "wait for further rows, and show them as they come",
     .actions = "tail"},
    {.name = "json", .meaning = "an object a line, for programs", .actions = "tail export"},
    {.name = "by-host",
     .meaning = "one line for each host and port, with all that commands did there",
     .actions = "network"},
    database_option,
});

constexpr std::string_view notes = R"(Exit status: 0, 1 it could not be read, 2 usage.
)";

constexpr auto actions = std::to_array<Action>({{"tail"}, {"export"}, {"network"}});

// An audit row as JSON.
struct Line {
    std::int64_t id = 0;
    std::string time = {};
    std::int64_t at_ms = 0;
    std::string event = {};
    std::string session = {};
    std::string call = {};
    std::optional<std::vector<std::string>> argv = {};
    std::string argv_cut = {}; // replaces argv if argv was too long to be kept whole
    std::string directory = {};
    std::string decision = {};
    std::string decided_by = {};
    std::string rule = {};
    std::string detail = {};
    std::optional<store::HostDetail> network = {}; // replaces detail in rows "network"
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
    visit.optional("network", line.network);
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
    if (row.event == "network") line.network = store::host_detail_of(row.detail);
    if (!line.network) line.detail = row.detail;
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
    // The decision in this row is that of the first attempt, which the sandbox has denied
    // something.
    const bool is_retry = row.event == "question" && row.detail == "retry";
    if (!is_retry) {
        add(" ", row.decision, "");
        add(" by ", row.decided_by, "");
        add(" (", row.rule, ")");
    }
    add(" in ", row.directory, "");
    if (const auto argv = json::strings_from_json(row.argv))
        line += fmt::format(": {}", core::shell_quoted(*argv));
    else
        add(": ", row.argv, "");
    add("; ",
        is_retry                 ? "run it again, after a denial by the sandbox"
        : row.event == "network" ? store::text_of_host_detail(row.detail)
                                 : row.detail,
        "");
    add(" [call ", row.call, "]");
    print_line(line);
}

void print_row(const store::AuditRow& row, bool as_json) {
    if (as_json)
        print_json(row);
    else
        print_text(row);
}

// Returns false if nobody reads the output any more.
bool wait_for_rows() {
    constexpr int between_looks = 300; // ms
    pollfd output = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    return ::poll(&output, 1, between_looks) <= 0;
}

Result<void> print_tail(store::Store& store, std::int64_t count, bool as_json, bool goes_on) {
    std::int64_t last = 0;
    const auto print = [&](const store::AuditRow& row) {
        print_row(row, as_json);
        last = row.id;
    };
    const std::vector<store::AuditRow> tail = TRY(store.audit_tail(count));
    std::ranges::for_each(tail, print);
    while (goes_on && std::fflush(stdout) == 0 && wait_for_rows())
        TRY(each_row(store, last, print));
    return {};
}

struct HostTotal {
    std::uint64_t commands = 0;
    store::HostDetail sum = {};

    void add(std::string_view detail) {
        ++commands;
        const std::optional<store::HostDetail> one = store::host_detail_of(detail);
        if (!one) return;
        sum.connections += one->connections;
        sum.sent += one->sent;
        sum.received += one->received;
    }
};

Result<void> show_network(store::Store& store, bool by_host) {
    std::map<std::string, HostTotal> totals;
    TRY(each_row(store, 0, [&](const store::AuditRow& row) {
        if (row.event != "network") return;
        if (by_host)
            totals[row.decision].add(row.detail);
        else
            print_text(row);
    }));
    for (const auto& [host, total] : totals)
        print_line(fmt::format("{}: {} connections of {} commands, {} bytes sent, {} received",
                               core::visible(host), total.sum.connections, total.commands,
                               total.sum.sent, total.sum.received));
    return {};
}

Result<void> show(store::Store& store, const Arguments& arguments, std::int64_t count) {
    if (arguments.action() == "network") return show_network(store, arguments.has("by-host"));
    const bool as_json = arguments.has("json");
    if (arguments.action() == "tail") return print_tail(store, count, as_json, arguments.has("f"));
    return each_row(store, 0, [&](const store::AuditRow& row) { print_row(row, as_json); });
}

int audit(const Arguments& arguments) {
    const std::optional<std::int64_t> count = whole_number(
        arguments.value("n").value_or("20"), 1, std::numeric_limits<std::int64_t>::max());
    if (!count) return arguments.refuse("-n takes a number from 1");
    Result<std::unique_ptr<store::Store>> store =
        open_store(arguments.value("database").value_or(""), store::Moment::now().wall);
    if (!store) return fail(store.error());
    Result<void> shown = show(**store, arguments, *count);
    if (!shown) return fail(shown.error());
    return finish(status_ok);
}

} // namespace

constinit const Command audit_command = {.name = "audit",
                                         .summary = "show what was asked, decided and run",
                                         .about = about,
                                         .options = options,
                                         .notes = notes,
                                         .actions = actions,
                                         .run = audit};

} // namespace ew::cli
