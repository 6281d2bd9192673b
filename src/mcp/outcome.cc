#include "mcp/outcome.h"

#include "core/text/display.h"
#include "mcp/consent.h"
#include "mcp/excerpt.h"
#include "mcp/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::mcp {

template <class Visitor>
void fields(Visitor& visit, RefusedAccess& access) {
    visit.required("what", access.what);
    visit.optional("program", access.program);
    visit.required("count", access.count);
    visit.optional("allow", access.allow);
}

template <class Visitor>
void fields(Visitor& visit, ChangedFile& file) {
    visit.required("path", file.path);
    visit.required("change", file.change);
    visit.optional("moved_to", file.moved_to);
    visit.required("added_lines", file.added_lines);
    visit.required("removed_lines", file.removed_lines);
}

template <class Visitor>
void fields(Visitor& visit, FoundText& found) {
    visit.required("text", found.text);
    visit.required("line", found.line);
}

template <class Visitor>
void fields(Visitor& visit, Outcome& outcome) {
    visit.required("state", outcome.state);
    visit.optional("id", outcome.id);
    visit.optional("exit_code", outcome.exit_code);
    visit.optional("signal", outcome.signal);
    visit.optional("duration_ms", outcome.duration_ms);
    visit.optional("ended_by", outcome.ended_by);
    visit.optional("match", outcome.match);
    visit.optional("port", outcome.port);
    visit.required("output", outcome.output);
    visit.required("omitted_bytes", outcome.omitted_bytes);
    visit.optional("next_after", outcome.next_after);
    visit.optional("cwd", outcome.cwd);
    visit.optional("sandbox", outcome.sandbox);
    if (!outcome.denials.empty()) visit.required("denials", outcome.denials);
    if (!outcome.changed_files.empty()) visit.required("changed_files", outcome.changed_files);
    visit.optional("ran_instead", outcome.ran_instead);
    visit.optional("reason", outcome.reason);
    visit.optional("human_command", outcome.human_command);
    visit.optional("next", outcome.next);
}

namespace {

constexpr std::size_t most_denials = 8;
constexpr std::size_t most_files = 40;
constexpr std::size_t most_processes = 40;
constexpr std::size_t most_commands = 20;
constexpr std::size_t longest_text = 1'000; // of a path, a command or a reason in an answer
constexpr std::size_t longest_place = 200;  // the same for a path of many

State state_of(protocol::ExecState state) {
    switch (state) {
    case protocol::ExecState::completed: return State::completed;
    case protocol::ExecState::running: return State::running;
    case protocol::ExecState::failed: return State::failed;
    case protocol::ExecState::input_needed: return State::input_needed;
    }
    return State::failed;
}

std::string cut(std::string_view text) {
    return shorten(text, longest_text, 0).text;
}

// A program chooses such names: they are spelled out.
std::string place(std::string_view text) {
    return core::visible(shorten(text, longest_place, 0).text);
}

// Returns what a call can ask a person for, without the option of the command line.
std::string allowance_of(std::string_view allow) {
    const std::size_t option = allow.find(" (--writable ");
    if (option == std::string_view::npos) return place(in_tool_words(allow));
    const std::size_t behind = allow.rfind(", once it exists");
    return place(fmt::format(
        "{}{}", in_tool_words(allow.substr(0, option)),
        behind == std::string_view::npos || behind < option ? "" : allow.substr(behind)));
}

RefusedAccess access_of(const protocol::Denial& denial) {
    RefusedAccess access;
    access.what = place(
        fmt::format("{} {}", denial.operation.value_or(denial.kind), denial.target.value_or("")));
    if (denial.moved_to) access.what += fmt::format(", moved to {}", place(*denial.moved_to));
    if (denial.program) access.program = place(*denial.program);
    access.count = denial.count;
    if (denial.allow) access.allow = allowance_of(*denial.allow);
    return access;
}

void add_denials(Outcome& outcome, const std::vector<protocol::Denial>& denials) {
    for (const protocol::Denial& denial : denials) {
        if (outcome.denials.size() == most_denials) break;
        outcome.denials.push_back(access_of(denial));
    }
}

// Returns the advice for the model, or an empty text.
std::string advice_for(const Outcome& outcome) {
    const std::string id = outcome.id.value_or("");
    if (outcome.state == State::input_needed)
        return "It waits for input that it does not show, such as a password. Ask the person; do "
               "not guess.";
    std::string advice;
    if (outcome.state == State::running && outcome.ended_by == protocol::WaitEndReason::input)
        advice = fmt::format("It waits for input: send_input with id {} types. ", id);
    else if (outcome.state == State::running)
        advice = fmt::format("It is still running. wait with id {0} waits for its end, or for a "
                             "text, a port, input or silence; read_output gives new output; "
                             "stop_process ends it. ",
                             id);
    if (outcome.next_after && (!outcome.output.empty() || outcome.omitted_bytes > 0))
        advice +=
            fmt::format("read_output with after {} reads the next page. ", *outcome.next_after);
    else if (outcome.omitted_bytes > 0 && outcome.id)
        advice += fmt::format("read_output with id {} and after 0 reads all of the output, page "
                              "by page. ",
                              id);
    if (!advice.empty()) advice.pop_back();
    return advice;
}

// How the server begins output that it has shortened (core/output/excerpt).
constexpr std::string_view server_heading = "Total output lines: ";

// Returns the length of "…N tokens truncated…". Returns 0 if there is no such mark.
std::size_t size_of_mark(std::string_view text) {
    constexpr std::string_view before = "…";
    constexpr std::string_view behind = " tokens truncated…";
    const std::size_t end = text.find(behind);
    if (end == std::string_view::npos) return 0;
    const std::size_t begin = text.substr(0, end).rfind(before);
    return begin == std::string_view::npos ? 0 : end + behind.size() - begin;
}

void add_line(std::string& text, std::string_view name, std::string_view value) {
    text += fmt::format("{}: {}\n", name, core::visible(value)); // one line, whatever it holds
}

// The same as the structured part, as lines.
std::string text_of(const Outcome& outcome) {
    std::string text;
    add_line(text, "state", json::name_of(outcome.state));
    if (outcome.id) add_line(text, "id", *outcome.id);
    if (outcome.exit_code) add_line(text, "exit_code", fmt::format("{}", *outcome.exit_code));
    if (outcome.signal) add_line(text, "signal", *outcome.signal);
    if (outcome.duration_ms) add_line(text, "duration_ms", fmt::format("{}", *outcome.duration_ms));
    if (outcome.ended_by) add_line(text, "ended_by", json::name_of(*outcome.ended_by));
    if (outcome.match)
        add_line(text, "match",
                 fmt::format("line {}: {}", outcome.match->line, outcome.match->text));
    if (outcome.port) add_line(text, "port", fmt::format("{}", *outcome.port));
    if (outcome.cwd) add_line(text, "cwd", *outcome.cwd);
    if (outcome.sandbox) add_line(text, "sandbox", *outcome.sandbox);
    if (outcome.ran_instead) add_line(text, "ran_instead", *outcome.ran_instead);
    if (outcome.reason) add_line(text, "reason", *outcome.reason);
    if (outcome.human_command) add_line(text, "human_command", *outcome.human_command);
    for (const RefusedAccess& access : outcome.denials)
        add_line(text, "denied",
                 fmt::format("{} by {}, {} times{}{}", access.what, access.program.value_or("?"),
                             access.count, access.allow ? "; to allow it: " : "",
                             access.allow.value_or("")));
    for (const ChangedFile& file : outcome.changed_files)
        add_line(text, "changed",
                 fmt::format("{} {}{}{} (+{} -{})", json::name_of(file.change), file.path,
                             file.moved_to ? " to " : "", file.moved_to.value_or(""),
                             file.added_lines, file.removed_lines));
    if (outcome.omitted_bytes > 0)
        add_line(text, "omitted_bytes", fmt::format("{}", outcome.omitted_bytes));
    if (outcome.next_after) add_line(text, "next_after", fmt::format("{}", *outcome.next_after));
    if (outcome.next) add_line(text, "next", *outcome.next);
    if (!outcome.output.empty()) text += fmt::format("output:\n{}", outcome.output);
    return text;
}

// A connection about which nobody could be asked.
void tell_unasked(Outcome& outcome, const std::vector<protocol::Denial>& denials) {
    for (const protocol::Denial& denial : denials) {
        const std::string command = human_command(denial.rule.value_or(""));
        if (command.empty() || outcome.human_command) continue;
        outcome.human_command = command;
        if (outcome.state != State::running) outcome.next = advice_to_type;
    }
}

} // namespace

// The server shortens long output in its own way. Its mark is where something is missing, so it is
// in what is left out here, and does not count as output.
void set_output(Outcome& outcome, std::string_view output, std::uint64_t missing) {
    if (missing > 0 && output.starts_with(server_heading))
        output.remove_prefix(std::min(output.find("\n\n") + 2, output.size()));
    const std::string text = plain(output);
    const std::uint64_t mark = missing > 0 ? size_of_mark(text) : 0;
    Excerpt excerpt = shorten(text, most_output, missing - mark);
    const bool is_cut = excerpt.text.size() != text.size();
    outcome.output = std::move(excerpt.text);
    outcome.omitted_bytes = is_cut ? excerpt.omitted_bytes : missing;
}

Outcome outcome_of(const protocol::ExecResult& result, std::string_view mode) {
    Outcome outcome;
    outcome.state = state_of(result.state);
    outcome.id = result.process_id;
    outcome.exit_code = result.exit_code;
    outcome.signal = result.signal;
    outcome.duration_ms = result.timings.run_ms;
    const bool is_confined = result.sandbox.type != protocol::SandboxType::none;
    outcome.sandbox = is_confined ? mode : "none";
    for (const std::string& missing : result.sandbox.missing)
        *outcome.sandbox += fmt::format(", without {}", missing);
    add_denials(outcome, result.denials);
    tell_unasked(outcome, result.denials);
    if (result.wait_end) {
        outcome.ended_by = result.wait_end->reason;
        outcome.port = result.wait_end->port;
        if (const auto& match = result.wait_end->match)
            outcome.match = FoundText{cut(plain(match->text)), match->line};
    }
    if (result.edited) outcome.ran_instead = cut(core::shell_quoted(result.edited->to));
    if (result.notice) outcome.reason = cut(in_tool_words(*result.notice));
    if (result.failure) {
        outcome.exit_code.reset();
        const std::string& why = result.failure->message;
        outcome.reason = cut(in_tool_words(
            result.failure->hint ? fmt::format("{}; {}", why, *result.failure->hint) : why));
    } else {
        set_output(outcome, result.output, result.omitted_bytes);
    }
    return outcome;
}

Outcome outcome_of(const protocol::PatchApplyResult& result) {
    Outcome outcome;
    for (const protocol::PatchedFile& file : result.files) {
        if (outcome.changed_files.size() == most_files) {
            outcome.reason =
                fmt::format("{} more files were changed", result.files.size() - most_files);
            break;
        }
        outcome.changed_files.push_back(
            {place(file.path), file.change,
             file.destination ? std::optional(place(*file.destination)) : std::nullopt,
             file.added_lines, file.removed_lines});
    }
    outcome.output = fmt::format("{} files changed", result.files.size());
    return outcome;
}

ToolResult result_of(Outcome outcome) {
    if (!outcome.next) {
        std::string advice = advice_for(outcome);
        if (!advice.empty()) outcome.next = std::move(advice);
    }
    return {text_of(outcome), json_of(outcome), false};
}

namespace {

struct Row {
    std::string id = {};
    std::string command = {};
    std::string cwd = {};
    protocol::ExecProcessState state = protocol::ExecProcessState::running;
    std::optional<std::int64_t> exit_code = {};
    std::uint64_t unread_bytes = 0;
};

template <class Visitor>
void fields(Visitor& visit, Row& row) {
    visit.required("id", row.id);
    visit.required("command", row.command);
    visit.required("cwd", row.cwd);
    visit.required("state", row.state);
    visit.optional("exit_code", row.exit_code);
    visit.required("unread_bytes", row.unread_bytes);
}

struct Rows {
    std::vector<Row> processes = {};
    std::uint64_t omitted = 0;
};

template <class Visitor>
void fields(Visitor& visit, Rows& rows) {
    visit.required("processes", rows.processes);
    visit.required("omitted", rows.omitted);
}

struct Verdict {
    std::string command = {};
    protocol::DecisionName decision = protocol::DecisionName::prompt;
    std::string why = {};
};

template <class Visitor>
void fields(Visitor& visit, Verdict& verdict) {
    visit.required("command", verdict.command);
    visit.required("decision", verdict.decision);
    visit.required("why", verdict.why);
}

struct Explanation {
    protocol::DecisionName decision = protocol::DecisionName::prompt;
    std::string reason = {};
    std::optional<std::string> program = {};
    std::vector<Verdict> commands = {};
};

template <class Visitor>
void fields(Visitor& visit, Explanation& explanation) {
    visit.required("decision", explanation.decision);
    visit.required("reason", explanation.reason);
    visit.optional("program", explanation.program);
    visit.required("commands", explanation.commands);
}

} // namespace

std::string shown_command(const protocol::ExecProcessInfo& info) {
    const bool is_script = info.argv.size() == 3 && info.argv[1].ends_with("c");
    return shorten(is_script ? info.argv[2] : core::shell_quoted(info.argv), longest_place, 0).text;
}

ToolResult result_of(const protocol::ExecListResult& list) {
    Rows rows;
    std::string text;
    for (const protocol::ExecProcessInfo& info : list.processes) {
        if (rows.processes.size() == most_processes) break;
        Row row{info.process_id, shown_command(info), shorten(info.workdir, longest_place, 0).text,
                info.state,      info.exit_code,      info.unread_bytes};
        text += fmt::format("id: {}  {}  {}\n", row.id, json::name_of(row.state),
                            core::visible(row.command));
        rows.processes.push_back(std::move(row));
    }
    rows.omitted = list.processes.size() - rows.processes.size();
    if (rows.omitted > 0) text += fmt::format("and {} more\n", rows.omitted);
    return {text.empty() ? "no processes" : text, json_of(rows), false};
}

ToolResult result_of(const protocol::PolicyExplainResult& explanation) {
    Explanation told{explanation.decision, cut(explanation.reason), explanation.program, {}};
    std::string text;
    add_line(text, "decision", json::name_of(told.decision));
    add_line(text, "reason", told.reason);
    for (const protocol::CommandVerdict& verdict : explanation.commands) {
        if (told.commands.size() == most_commands) break;
        Verdict one{shorten(core::shell_quoted(verdict.words), longest_text / 4, 0).text,
                    verdict.decision, shorten(verdict.why, longest_text / 4, 0).text};
        text += fmt::format("{}: {} ({})\n", one.command, json::name_of(one.decision), one.why);
        told.commands.push_back(std::move(one));
    }
    return {text, json_of(told), false};
}

} // namespace ew::mcp
