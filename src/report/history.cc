#include "report/history.h"

#include "json/strings.h"
#include "store/host_detail.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <utility>

namespace ew::report {

namespace {

constexpr std::string_view sandbox_mark = "sandbox: ";
constexpr std::string_view environment_mark = "environment ";
constexpr std::string_view network_mark = "network, ";

// Returns the number at the beginning of a text.
std::optional<std::int64_t> number_at(std::string_view text) {
    std::int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) return std::nullopt;
    return number;
}

// Returns what follows `mark`, or an empty text.
std::string_view behind(std::string_view text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

// The id in "process ID, …", "process ID: …" and "process ID after …".
std::string process_in(std::string_view detail) {
    const std::string_view rest = behind(detail, "process ");
    return std::string(rest.substr(0, rest.find_first_of(",: ")));
}

bool is_first_attempt(const AuditRow& row) {
    return row.detail.find(", attempt 1,") != std::string::npos;
}

// Behind "environment NAME: ", where the command was for another environment.
std::string kind_in(std::string_view detail) {
    if (detail.starts_with(network_mark)) return "network";
    const std::size_t space = detail.rfind(' ');
    return std::string(space == std::string_view::npos ? detail : detail.substr(space + 1));
}

std::string key_of(const AuditRow& row) {
    return row.session + '\n' + row.call;
}

Stop stop_of(const AuditRow& row) {
    return {row.at, row.decided_by, row.rule, row.detail};
}

Attempt attempt_of(const AuditRow& row) {
    Attempt attempt;
    attempt.at = row.at;
    attempt.argv = row.argv;
    attempt.decided_by = row.decided_by;
    attempt.rule = row.rule;
    attempt.bounds = behind(row.detail, sandbox_mark);
    if (attempt.bounds.empty()) {
        attempt.detail = row.detail;
        return attempt;
    }
    attempt.process = process_in(row.detail);
    if (row.detail.starts_with(environment_mark))
        attempt.environment = row.detail.substr(
            environment_mark.size(), row.detail.find(", process ") - environment_mark.size());
    return attempt;
}

// Of several questions about hosts, the answer names the one that it is for.
void answer(Command& command, const AuditRow& row) {
    const auto is_open = [](const Question& one) { return !one.answer; };
    const auto is_meant = [&](const Question& one) {
        return is_open(one) && !one.host.empty() && row.detail.starts_with(one.host);
    };
    auto open = std::ranges::find_if(command.questions, is_meant);
    if (open == command.questions.end()) open = std::ranges::find_if(command.questions, is_open);
    if (open != command.questions.end()) open->answer = Answer{row.at, row.decision, row.detail};
}

void end(Command& command, const AuditRow& row) {
    const std::string process = process_in(row.detail);
    const auto attempt =
        std::find_if(command.attempts.rbegin(), command.attempts.rend(), [&](const Attempt& one) {
            return !one.end && (one.process == process || row.event == "end");
        });
    if (attempt == command.attempts.rend()) return;
    End& end = attempt->end.emplace();
    end.at = row.at;
    end.code = number_at(row.decision);
    end.wall_ms = number_at(behind(row.detail, " after "));
    end.peak_memory = number_at(behind(row.detail, "peak memory "));
    end.bounds = behind(row.detail, sandbox_mark);
    if (row.event == "end") end.detail = row.detail;
}

} // namespace

std::vector<std::string> words_of(const std::string& argv) {
    if (std::optional<std::vector<std::string>> words = json::strings_from_json(argv))
        return std::move(*words);
    return argv.empty() ? std::vector<std::string>() : std::vector<std::string>{argv};
}

bool is_approval(const Answer& answer) {
    return answer.decision.starts_with("approved");
}

bool was_allowed_by_person(const Command& command) {
    return std::any_of(command.questions.begin(), command.questions.end(), [](const Question& one) {
        return one.kind != "network" && one.answer && is_approval(*one.answer);
    });
}

UnixMs waited_ms(const Command& command) {
    UnixMs sum = 0;
    for (const Question& question : command.questions)
        if (question.answer) sum += std::max<UnixMs>(0, question.answer->at - question.at);
    return sum;
}

bool is_status_of_kill(std::int64_t code) {
    constexpr std::int64_t base = 128; // shells report signal n as 128 + n
    constexpr std::int64_t timed_out = 124;
    constexpr std::array signals = {SIGINT, SIGQUIT, SIGILL,  SIGABRT, SIGBUS,
                                    SIGFPE, SIGKILL, SIGSEGV, SIGSYS,  SIGTERM};
    return code == timed_out ||
           std::find(signals.begin(), signals.end(), code - base) != signals.end();
}

Outcome outcome_of(const Command& command) {
    if (command.attempts.empty()) {
        if (command.refusal) return Outcome::denied;
        if (command.failure) return Outcome::failed;
        if (command.questions.empty()) return Outcome::running;
        const std::optional<Answer>& answer = command.questions.back().answer;
        if (!answer) return Outcome::waiting;
        return is_approval(*answer) ? Outcome::running : Outcome::denied;
    }
    const std::optional<End>& end = command.attempts.back().end;
    if (!end) return command.failure ? Outcome::failed : Outcome::running;
    const std::int64_t code = end->code.value_or(0);
    if (is_status_of_kill(code)) return Outcome::killed;
    if (code != 0) return command.denials.empty() ? Outcome::failed : Outcome::refused;
    return was_allowed_by_person(command) ? Outcome::by_person : Outcome::by_rule;
}

namespace {

// The host in "network, example.org:443".
std::string host_in(std::string_view detail) {
    return std::string(behind(detail, network_mark));
}

// A call may be named like an earlier one.
bool begins_anew(const AuditRow& row, const Command& last) {
    if (row.event == "start")
        return is_first_attempt(row) &&
               (!last.attempts.empty() || last.failure || outcome_of(last) == Outcome::denied);
    const std::string kind = kind_in(row.detail);
    if (row.event == "question" && kind != "retry" && kind != "network")
        return !last.attempts.empty() || last.refusal || last.failure;
    if (row.event == "refusal") return last.refusal || last.failure;
    return false;
}

} // namespace

Command& History::command_of(const AuditRow& row) {
    const auto [at, is_new] = open_.try_emplace(key_of(row), commands_.size());
    if (is_new || begins_anew(row, commands_[at->second])) {
        at->second = commands_.size();
        Command& command = commands_.emplace_back();
        command.session = row.session;
        command.call = row.call;
        command.argv = row.argv;
        command.directory = row.directory;
        command.begin = row.at;
    }
    Command& command = commands_[at->second];
    command.last = std::max(command.last, row.at);
    return command;
}

void History::take(const AuditRow& row) {
    if (!row.rule.empty()) rules_.insert(row.rule);
    if (row.event == "dropped") gaps_.push_back(row.detail);
    // Rows about approvals belong to no command.
    if (row.event == "dropped" || row.event == "grant" || row.event == "revocation") return;
    // The beginning of a command may be older than the first row that was taken.
    const bool may_be_first = row.event == "question" || row.event == "start" ||
                              row.event == "refusal" || row.event == "failure";
    if (!may_be_first && !open_.contains(key_of(row))) return;
    Command& command = command_of(row);
    if (row.event == "question")
        command.questions.push_back(
            {row.at, kind_in(row.detail), host_in(row.detail), row.decided_by, row.rule, {}});
    else if (row.event == "decision")
        answer(command, row);
    else if (row.event == "start")
        command.attempts.push_back(attempt_of(row));
    else if (row.event == "denial")
        command.denials.push_back({row.at, row.decision, row.decided_by, row.rule, row.detail});
    else if (row.event == "network")
        command.hosts.push_back({row.at, row.decision, row.decided_by, row.rule,
                                 store::text_of_host_detail(row.detail)});
    else if (row.event == "exit" || row.event == "end")
        end(command, row);
    else if (row.event == "refusal")
        command.refusal = stop_of(row);
    else if (row.event == "failure")
        command.failure = stop_of(row);
}

} // namespace ew::report
