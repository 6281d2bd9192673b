#include "report/command_row.h"

#include "core/judgement/dissection.h"
#include "core/judgement/judgement.h"
#include "core/text/display.h"
#include "report/wording.h"
#include "sandbox/policy/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::report {

namespace {

constexpr std::size_t longest_line = 300;     // bytes of a command in its line
constexpr std::size_t longest_command = 4000; // bytes, where it is shown whole
constexpr std::size_t longest_part = 400;
constexpr std::size_t longest_detail = 2000;
constexpr std::size_t most_parts = 24;
constexpr std::size_t most_hosts = 64;
constexpr double least_width = 0.3; // percent of a lane

// ---------------------------------------------------------------- the lane

void append_bar(Markup& page, double from, double to, bool is_wait) {
    from = std::min(from, TimeScale::length - least_width);
    page << "<rect ";
    if (is_wait) page << "class=\"w\" ";
    page << "x=\"";
    page.decimal(from) << "%\" width=\"";
    page.decimal(std::max(to - from, least_width)) << "%\" height=\"100%\"/>";
}

void append_lane(Markup& page, const Command& command, const RowSetting& setting) {
    const TimeScale& scale = setting.scale;
    page << "<svg aria-hidden=\"true\">";
    for (const Question& question : command.questions)
        append_bar(page, scale.place_of(question.at),
                   scale.place_of(question.answer ? question.answer->at : command.last), true);
    for (const Attempt& attempt : command.attempts)
        append_bar(
            page, scale.place_of(attempt.at),
            scale.place_of(attempt.end ? attempt.end->at : end_of_lane(command, setting.now)),
            false);
    for (const std::optional<Stop>* const stop : {&command.refusal, &command.failure})
        if (*stop)
            append_bar(page, scale.place_of((*stop)->at), scale.place_of((*stop)->at), false);
    page << "</svg>";
}

// ---------------------------------------------------------------- details

// Appends a term, and opens its description.
Markup& term(Markup& page, Literal name) {
    return page << "<dt>" << name << "</dt><dd>";
}

void append_command(Markup& page, const std::vector<std::string>& words) {
    term(page, "As typed") << "<pre>";
    page.lines(typed_text(words), longest_command) << "</pre></dd>";
}

void append_part(Markup& page, const core::Part& part) {
    page << "<li><code>";
    page.text(core::shell_quoted(part.command.words), longest_part) << "</code>";
    for (const std::string& file : part.command.written) {
        page << ", writes <code>";
        page.text(file, longest_part) << "</code>";
    }
    if (!part.obstacle.empty()) {
        page << ", may run more: ";
        page.text(part.obstacle, longest_part);
    }
    page << "</li>";
}

// Lists the commands of a script, as this version of execward reads it.
void append_parts(Markup& page, const std::vector<std::string>& words, const Command& command,
                  const core::ProgramTrust& trust) {
    if (!core::is_plain_shell_call(words)) return;
    core::JudgedCommand judged;
    judged.argv = words;
    judged.workspace_roots = {command.directory};
    judged.workdir = command.directory;
    const std::vector<core::Part> parts = core::take_apart(judged, trust);
    const core::Part& first = parts.front();
    if (parts.size() == 1 && first.obstacle.empty() && first.command.written.empty()) return;
    term(page, "As parsed") << "<ul>";
    for (std::size_t i = 0; i < std::min(parts.size(), most_parts); ++i)
        append_part(page, parts[i]);
    page << "</ul>";
    if (parts.size() > most_parts) {
        page << "and ";
        page.number(static_cast<long long>(parts.size() - most_parts)) << " more";
    }
    page << "</dd>";
}

void append_author(Markup& page, std::string_view decided_by, std::string_view rule) {
    page.text(author_text(decided_by), longest_part);
    if (rule.empty()) return;
    page << " (<code>";
    page.text(rule, longest_part) << "</code>)";
}

void append_answer(Markup& page, const Question& question) {
    if (!question.answer) {
        page << "; no answer is recorded";
        return;
    }
    page << "; a person answered <b>";
    page.text(question.answer->decision, longest_part) << "</b> after ";
    page.text(duration_text(std::max<UnixMs>(0, question.answer->at - question.at)));
    if (question.answer->detail.empty()) return;
    page << ": ";
    page.text(question.answer->detail, longest_detail);
}

void append_questions(Markup& page, const Command& command) {
    for (const Question& question : command.questions) {
        term(page, "Question");
        page.text(clock_text(question.at)) << ", about ";
        page.text(subject_text(question.kind), longest_part);
        if (!question.host.empty()) {
            page << " to ";
            page.text(question.host, longest_part);
        }
        if (!question.asked_by.empty()) {
            page << ", asked by ";
            append_author(page, question.asked_by, question.rule);
        }
        append_answer(page, question);
        page << "</dd>";
    }
}

void append_end(Markup& page, const Attempt& attempt) {
    if (!attempt.end) {
        page << "no end is recorded";
        return;
    }
    const End& end = *attempt.end;
    page.text(end.detail, longest_detail);
    if (end.code) {
        page << "exit <b>";
        page.number(*end.code) << "</b>";
        if (const std::string signal = signal_text(*end.code); !signal.empty()) {
            page << " (";
            page.text(signal) << ")";
        }
    }
    if (end.wall_ms) {
        page << " after ";
        page.text(duration_text(*end.wall_ms));
    }
    if (end.peak_memory) {
        page << ", peak memory ";
        page.text(memory_text(*end.peak_memory));
    }
}

// What was in force is known at the end only.
void append_bounds(Markup& page, const Attempt& attempt) {
    if (attempt.bounds.empty()) return;
    const bool is_known = attempt.end && !attempt.end->bounds.empty();
    page << "; sandbox: ";
    page.text(is_known ? attempt.end->bounds : attempt.bounds, longest_detail);
    if (!is_known || attempt.end->bounds == attempt.bounds) return;
    page << ", planned: ";
    page.text(attempt.bounds, longest_detail);
}

void append_attempts(Markup& page, const Command& command) {
    for (const Attempt& attempt : command.attempts) {
        term(page, "Started");
        page.text(clock_text(attempt.at)) << ", allowed by ";
        append_author(page, attempt.decided_by, attempt.rule);
        if (attempt.argv != command.argv) {
            page << ", as <code>";
            page.text(core::shell_quoted(words_of(attempt.argv)), longest_detail) << "</code>";
        }
        if (!attempt.environment.empty()) {
            page << ", in the environment ";
            page.text(attempt.environment, longest_part);
        }
        if (!attempt.detail.empty()) {
            page << ", ";
            page.text(attempt.detail, longest_detail);
        }
        page << "; ";
        append_end(page, attempt);
        append_bounds(page, attempt);
        page << "; call ";
        page.text(command.call, longest_part);
        if (!attempt.process.empty()) {
            page << ", process ";
            page.text(attempt.process, longest_part);
        }
        page << "</dd>";
    }
}

// Returns what would have allowed "open /path" or "connect 192.0.2.1:9". Empty if nothing does. A
// program chooses which paths it is refused, so the person must look at each of them.
std::string advice_for(std::string_view denial, const std::string& home) {
    const std::size_t space = denial.find(' ');
    if (space == std::string_view::npos) return {};
    const std::string_view operation = denial.substr(0, space);
    const std::string_view target = denial.substr(space + 1);
    if (operation == "connect" || operation == "resolve" || operation == "lookup")
        return "a rule about this host in the network by host, or a sandbox with a network";
    if (!target.starts_with('/')) return {};
    const std::string directory = sandbox::directory_to_open(operation, target, home);
    if (directory.empty()) return {};
    return fmt::format("{} as a writable directory", core::shell_quoted({directory}));
}

void append_denial(Markup& page, std::string_view denial, const std::string& home) {
    page << "<li><code>";
    page.text(denial, longest_part) << "</code>";
    if (const std::string advice = advice_for(denial, home); !advice.empty()) {
        page << "<span class=\"advice\">would have been allowed by ";
        page.text(advice, longest_part) << "</span>";
    }
    page << "</li>";
}

// The detail is "process 1000: 2 refused: open /a; open /b".
void append_denials(Markup& page, const Command& command, const std::string& home) {
    constexpr std::string_view mark = " refused: ";
    constexpr std::string_view between = "; ";
    for (const Event& event : command.denials) {
        term(page, "Refused");
        page.text(event.what, longest_part) << " by the sandbox<ul>";
        const std::size_t at = event.detail.find(mark);
        std::string_view rest = event.detail;
        if (at != std::string_view::npos) rest.remove_prefix(at + mark.size());
        while (!rest.empty()) {
            const std::string_view denial = rest.substr(0, rest.find(between));
            append_denial(page, denial, home);
            rest.remove_prefix(std::min(denial.size() + between.size(), rest.size()));
        }
        page << "</ul></dd>";
    }
}

void append_hosts(Markup& page, const Command& command) {
    if (command.hosts.empty()) return;
    term(page, "Network") << "<ul>";
    for (std::size_t i = 0; i < std::min(command.hosts.size(), most_hosts); ++i) {
        const Event& host = command.hosts[i];
        page << "<li><code>";
        page.text(host.what, longest_part) << "</code>: ";
        page.text(host.detail, longest_part) << "; allowed by ";
        append_author(page, host.decided_by, host.decided_by == "client" ? "" : host.rule);
        page << "</li>";
    }
    page << "</ul></dd>";
}

void append_stop(Markup& page, Literal name, const std::optional<Stop>& stop) {
    if (!stop) return;
    term(page, name);
    page.text(clock_text(stop->at)) << ", by ";
    append_author(page, stop->decided_by, stop->rule);
    page << ": ";
    page.text(stop->detail, longest_detail) << "</dd>";
}

void append_details(Markup& page, const Command& command, const RowSetting& setting) {
    const std::vector<std::string> words = words_of(command.argv);
    page << "<dl>";
    append_command(page, words);
    append_parts(page, words, command, setting.trust);
    if (command.directory != setting.directory) {
        term(page, "Directory") << "<code>";
        page.text(command.directory, longest_part) << "</code></dd>";
    }
    append_questions(page, command);
    append_stop(page, "Refused", command.refusal);
    append_attempts(page, command);
    append_denials(page, command, setting.home);
    append_hosts(page, command);
    append_stop(page, "Failed", command.failure);
    page << "</dl>";
}

// Returns the time that its programs took; nothing of it if none has ended.
std::optional<UnixMs> ran_ms(const Command& command) {
    std::optional<UnixMs> sum;
    for (const Attempt& attempt : command.attempts)
        if (attempt.end)
            sum = sum.value_or(0) + attempt.end->wall_ms.value_or(attempt.end->at - attempt.at);
    return sum;
}

} // namespace

UnixMs end_of_lane(const Command& command, UnixMs now) {
    const bool is_running =
        !command.attempts.empty() && !command.attempts.back().end && !command.failure;
    return is_running ? std::max(command.last, now) : command.last;
}

void append_row(Markup& page, const Command& command, const RowSetting& setting) {
    const Outcome outcome = outcome_of(command);
    page << "<details class=\"c ";
    page.text(name_of(outcome)) << "\"><summary><span class=\"o\">";
    page.text(label_of(outcome)) << "</span> <code class=\"cmd\">";
    page.text(typed_text(words_of(command.argv)), longest_line) << "</code> ";
    append_lane(page, command, setting);
    page << " <span class=\"took\">";
    if (const std::optional<UnixMs> ran = ran_ms(command)) page.text(duration_text(*ran));
    page << "</span></summary>";
    append_details(page, command, setting);
    page << "</details>\n";
}

} // namespace ew::report
