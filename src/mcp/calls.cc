#include "mcp/calls.h"

#include "mcp/excerpt.h"
#include "mcp/messages.h"
#include "mcp/outcome.h"
#include "mcp/screen_result.h"
#include "mcp/server_error.h"
#include "mcp/wording.h"
#include "protocol/exec_list.h"
#include "protocol/policy.h"
#include "protocol/process_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::mcp {

namespace {

constexpr Millis progress_time{1000};
constexpr Millis heartbeat_time{10'000}; // progress without new output
constexpr std::uint64_t last_output_ms = 3'000;
constexpr const char* advice_after_denial =
    "Do not try the same in another way. Ask the person what to do instead.";

std::string reason_of(FormAnswer::Kind how) {
    switch (how) {
    case FormAnswer::Kind::declined: return "the person has declined this already";
    case FormAnswer::Kind::dismissed:
        return "the person has dismissed this question already, without an answer";
    case FormAnswer::Kind::failed: return "the answer came too late: the question is over";
    case FormAnswer::Kind::chosen: break;
    }
    return {};
}

// What the server sends always fits; a member that does not keeps its default.
template <class Struct>
Struct decoded(const json::Value* value) {
    Struct result;
    (void)read(value, result);
    return result;
}

ToolResult error_result(const ServerError& error) {
    std::optional<std::string> hint = error.data ? error.data->hint : std::nullopt;
    if (error.data && error.data->kind == "unknownProcess")
        hint = "list_processes shows the processes there are";
    std::string text = hint ? fmt::format("{}\n{}", error.message, *hint) : error.message;
    const std::string member = error.data ? error.data->path.value_or("") : "";
    const bool is_argument = error.data && error.data->kind == "invalidParams" && !member.empty();
    if (is_argument && !error.message.starts_with(member)) text = member + ": " + text;
    return {shorten(in_tool_words(text), most_output, 0).text, "", true};
}

} // namespace

Calls::Call* Calls::call_of_request(std::uint64_t request) {
    const auto at = std::ranges::find(calls_, request, &Call::request);
    return at == calls_.end() ? nullptr : &*at;
}

Calls::Call* Calls::call_named(std::string_view call_id) {
    const auto at = std::ranges::find(calls_, call_id, &Call::call_id);
    return at == calls_.end() ? nullptr : &*at;
}

// A program may ask after its call is over: another call that waits for it can carry the question.
Calls::Call* Calls::call_to_ask(const std::string& call_id) {
    if (Call* const own = call_named(call_id)) return own;
    const auto started = std::ranges::find(started_, call_id, &Started::call_id);
    if (started == started_.end()) return nullptr;
    const auto at = std::ranges::find_if(calls_, [&](const Call& call) {
        return call.order.process == started->process && (call.asked || is_held(call));
    });
    return at == calls_.end() ? nullptr : &*at;
}

// A modern client was told the question as the result, and has not come back.
bool Calls::is_held(const Call& call) const {
    return std::ranges::any_of(questions_, [&](const Question& question) {
        return question.call == call.call_id && !question.token.empty();
    });
}

void Calls::begin(ToolCall call, TimePoint now) {
    if (calls_.size() >= most_open)
        return answers_.tool_result(
            call.asked,
            {fmt::format("{} calls are open already: wait for some of them", most_open), "", true});
    Call& begun = calls_.emplace_back();
    begun.asked = std::move(call.asked);
    begun.order = std::move(call.order);
    begun.digest = std::move(call.digest);
    begun.progress.told_at = now;
    step(begun, begun.order.tool != Tool::stop_process, begun.order.method, begun.order.params);
    begun.call_id = fmt::format("{}", begun.request);
}

void Calls::step(Call& call, bool is_last, std::string_view method, std::string_view params) {
    call.is_last_step = is_last;
    call.request = wires_.request_text(method, params);
}

bool Calls::cancel(const json::Id& request) {
    const auto at = std::ranges::find_if(
        calls_, [&](const Call& call) { return call.asked && call.asked->id == request; });
    if (at == calls_.end()) return false;
    at->asked.reset();
    protocol::CancelParams params;
    params.id.json = fmt::format("{}", at->request);
    wires_.notify("$/cancelRequest", params);
    return true;
}

void Calls::on_begin(std::string_view call_id, const std::string& process, const std::string& cwd) {
    Call* const call = call_named(call_id);
    if (call == nullptr) return;
    call->order.process = process;
    call->cwd = cwd;
    if (started_.size() == most_started) started_.pop_front();
    started_.push_back({call->call_id, process});
}

bool Calls::wants_output() const {
    return std::ranges::any_of(
        calls_, [](const Call& call) { return call.asked && call.asked->progress_token; });
}

void Calls::on_output(std::string_view call_id, std::string_view process, std::string_view text) {
    for (Call& call : calls_)
        if (call.call_id == call_id || call.order.process == process)
            if (std::string line = last_line(text); !line.empty())
                call.progress.line = std::move(line);
}

void Calls::on_time(TimePoint now, Reader reader) {
    for (Call& call : calls_) {
        if (!call.asked || !call.asked->progress_token) continue;
        Progress& progress = call.progress;
        const Millis pause = progress.line.empty() ? heartbeat_time : progress_time;
        if (now < progress.told_at + pause) continue;
        progress.told_at = now;
        if (reader == Reader::is_behind) continue;
        answers_.progress(*call.asked->progress_token, ++progress.count,
                          std::exchange(progress.line, {}));
    }
    for (std::size_t i = questions_.size(); i-- > 0;)
        if (!questions_[i].token.empty() && questions_[i].until <= now) {
            settle(questions_[i], FormAnswer::Kind::failed);
            const std::optional<Question> late = take_question(i);
            answer(*late, answer_of_nobody());
            drop_done(late->call);
            i = std::min(i, questions_.size());
        }
}

std::optional<TimePoint> Calls::next_deadline() const {
    std::optional<TimePoint> next;
    for (const Call& call : calls_)
        if (call.asked && call.asked->progress_token)
            next = earlier(next, call.progress.told_at +
                                     (call.progress.line.empty() ? heartbeat_time : progress_time));
    for (const Question& question : questions_)
        if (!question.token.empty()) next = earlier(next, question.until);
    return next;
}

// ---------------------------------------------------------------- questions

void Calls::on_question(const json::Id& id, protocol::ApprovalRequest request, TimePoint now) {
    Question question{id, std::move(request)};
    Call* const call = call_to_ask(question.request.call_id);
    if (call != nullptr && call->asked && call->asked->can_ask)
        return ask(*call, std::move(question), now);
    if (call != nullptr && !call->asked && is_held(*call)) {
        question.call = call->call_id;
        questions_.push_back(std::move(question));
        return;
    }
    if (call != nullptr) call->was_not_asked = true;
    answer(question, answer_of_nobody());
}

void Calls::ask(Call& call, Question question, TimePoint now) {
    const Asked& asked = *call.asked;
    const std::string form = form_of(question.request, asked.takes_titles);
    const std::string token = fmt::format("execward-{}", ++asked_);
    question.call = call.call_id;
    if (asked.era == Era::legacy) {
        question.form.json = json_string(token);
        answers_.request(token, "elicitation/create", form);
    } else {
        question.token = token;
        question.until = now + held_time;
        answers_.input_required(asked, form, seal_.seal(token, call.digest, question.until));
        call.asked.reset();
    }
    questions_.push_back(std::move(question));
}

void Calls::answer(const Question& question, std::string_view result) {
    wires_.answer(question.id, result);
}

std::optional<Calls::Question> Calls::take_question(std::size_t index) {
    if (index >= questions_.size()) return std::nullopt;
    Question taken = std::move(questions_[index]);
    questions_.erase(questions_.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
}

void Calls::resume(ToolCall call, std::string_view state, const FormAnswer& form, TimePoint now) {
    const std::optional<std::string> token = seal_.open(state, call.digest, now);
    const auto at = std::ranges::find_if(
        questions_, [&](const Question& question) { return token && question.token == *token; });
    Call* const held = at == questions_.end() ? nullptr : call_named(at->call);
    if (held == nullptr)
        return tell_settled(
            call, seal_.open(state, call.digest, TimePoint::min()).value_or(std::string()));
    held->asked = std::move(call.asked);
    held->progress = {0, {}, now};
    const auto index = static_cast<std::size_t>(at - questions_.begin());
    const std::optional<Question> question = take_question(index);
    settle(*question, form.kind);
    answer(*question, answer_of(question->request, form));
    if (ask_next(*held, now) || !held->result) return;
    const ToolResult result = std::move(*held->result);
    finish(static_cast<std::size_t>(held - calls_.data()), result);
}

// Asks what has waited for its turn. Returns false if there is nothing.
bool Calls::ask_next(Call& call, TimePoint now) {
    const auto at = std::ranges::find_if(questions_, [&](const Question& question) {
        return question.call == call.call_id && question.waits_for_its_turn();
    });
    std::optional<Question> next = take_question(static_cast<std::size_t>(at - questions_.begin()));
    if (!next) return false;
    ask(call, std::move(*next), now);
    return true;
}

// The client will not come back for a result that is there, nor for the questions that wait.
void Calls::drop_done(const std::string& call_id) {
    const auto is_waiting = [&](const Question& question) {
        return question.call == call_id && question.waits_for_its_turn();
    };
    const Call* const call = call_named(call_id);
    if (call == nullptr || call->asked || is_held(*call)) return;
    for (auto at = questions_.begin(); at != questions_.end();) {
        if (is_waiting(*at)) answer(*at, answer_of_nobody());
        at = is_waiting(*at) ? questions_.erase(at) : std::next(at);
    }
    if (call->result) calls_.erase(calls_.begin() + (call - calls_.data()));
}

void Calls::settle(const Question& question, FormAnswer::Kind how) {
    if (question.token.empty()) return;
    if (settled_.size() == most_settled) settled_.pop_front();
    settled_.push_back({question.token, how});
}

// A state that comes again asks nobody and runs nothing. What became of its question is told.
void Calls::tell_settled(const ToolCall& call, std::string_view token) {
    const auto at = std::ranges::find(settled_, token, &Settled::token);
    if (at == settled_.end() || at->how == FormAnswer::Kind::chosen)
        return answers_.fail(call.asked.id, invalid_params_code,
                             at == settled_.end()
                                 ? "requestState: it is not of this call, or is too old; call the "
                                   "tool again without it"
                                 : "requestState: it was used already, and the answer of the "
                                   "person counted then; call the tool again without it");
    Outcome outcome;
    outcome.state = State::not_run;
    outcome.reason = reason_of(at->how);
    outcome.next = at->how == FormAnswer::Kind::failed
                       ? "Call the tool again without requestState: the person is asked anew."
                       : advice_after_denial;
    answers_.tool_result(call.asked, result_of(std::move(outcome)));
}

bool Calls::on_form_answer(const json::Id& form, const FormAnswer& form_answer) {
    if (form.json.empty()) return false;
    const auto at = std::ranges::find(questions_, form, &Question::form);
    const std::optional<Question> question =
        take_question(static_cast<std::size_t>(at - questions_.begin()));
    if (!question) return false;
    answer(*question, answer_of(question->request, form_answer));
    return true;
}

void Calls::on_withdrawn(const json::Id& id) {
    const auto at = std::ranges::find(questions_, id, &Question::id);
    const std::optional<Question> question =
        take_question(static_cast<std::size_t>(at - questions_.begin()));
    if (question) settle(*question, FormAnswer::Kind::failed);
    if (question && !question->form.json.empty())
        answers_.notify("notifications/cancelled",
                        fmt::format(R"({{"requestId":{},"reason":"the question was withdrawn"}})",
                                    question->form.json));
    if (question && !question->token.empty()) drop_done(question->call);
}

// ---------------------------------------------------------------- results

bool Calls::on_answer(std::uint64_t request, const protocol::Message& answer) {
    Call* const call = call_of_request(request);
    if (call == nullptr) return false;
    const auto index = static_cast<std::size_t>(call - calls_.data());
    if (answer.is_error) {
        fail(index, answer);
    } else if (const std::optional<ToolResult> result = result_for(*call, answer)) {
        finish(index, *result);
    }
    return true;
}

void Calls::finish(std::size_t index, const ToolResult& result) {
    Call& call = calls_[index];
    if (!call.asked && is_held(call)) { // the program goes on while the person is asked
        call.result = result;
        return;
    }
    if (call.asked) answers_.tool_result(*call.asked, result);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(index));
}

std::optional<ToolResult> Calls::result_for(Call& call, const protocol::Message& answer) {
    switch (call.order.tool) {
    case Tool::run_command:
    case Tool::wait:
    case Tool::send_input:
        return result_of_wait(call, decoded<protocol::ExecResult>(answer.params));
    case Tool::read_output: {
        if (!call.order.page)
            return result_of_wait(call, decoded<protocol::ExecResult>(answer.params));
        Outcome outcome = page_of(decoded<protocol::ReadResult>(answer.params), *call.order.page);
        outcome.id = call.order.process;
        return result_of(std::move(outcome));
    }
    case Tool::screen:
        return result_of(decoded<protocol::ScreenResult>(answer.params), call.order.process);
    case Tool::stop_process:
        if (call.is_last_step)
            return result_of_wait(call, decoded<protocol::ExecResult>(answer.params));
        step(call, true, "exec/wait", wait_params(call.order.process, last_output_ms));
        return std::nullopt;
    case Tool::list_processes: return result_of(decoded<protocol::ExecListResult>(answer.params));
    case Tool::apply_patch:
        return result_of(outcome_of(decoded<protocol::PatchApplyResult>(answer.params)));
    case Tool::check_command:
        return result_of(decoded<protocol::PolicyExplainResult>(answer.params));
    }
    return std::nullopt;
}

ToolResult Calls::result_of_wait(const Call& call, const protocol::ExecResult& result) const {
    Outcome outcome = outcome_of(result, mode_);
    if (!outcome.id && !call.order.process.empty()) outcome.id = call.order.process;
    if (!call.cwd.empty()) outcome.cwd = call.cwd;
    if (call.order.tool == Tool::read_output) outcome.ended_by.reset(); // it chose what to wait for
    return result_of(std::move(outcome));
}

void Calls::fail(std::size_t index, const protocol::Message& answer) {
    const Call& call = calls_[index];
    const ServerError error = decoded<ServerError>(answer.params);
    const std::string kind = error.data ? error.data->kind : "";
    if (kind != "denied") return finish(index, error_result(error));
    Outcome outcome;
    outcome.state = State::not_run;
    outcome.reason = shorten(in_tool_words(error.message), most_output / 4, 0).text;
    const std::string command =
        call.was_not_asked ? human_command(error.data->hint.value_or("")) : "";
    if (!command.empty()) {
        outcome.human_command = command;
        outcome.next = advice_to_type;
    } else if (call.was_not_asked) {
        outcome.next = "Tell the person that it needs their approval, which this client cannot "
                       "ask for: they can allow it by a rule (execward policy), or run it.";
    } else {
        outcome.next = advice_after_denial;
    }
    finish(index, result_of(std::move(outcome)));
}

} // namespace ew::mcp
