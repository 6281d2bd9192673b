#include "server/approval/questions.h"

#include "core/text/display.h"
#include "protocol/stored_approvals.h"
#include "server/approval/asking.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

using protocol::ApprovalAnswer;
using protocol::ApprovalDecision;

namespace {

constexpr std::string_view ending = "the server is ending";

Error refusal(const Asker& asker, ErrorKind kind, std::string_view why, std::string hint) {
    return {kind, fmt::format("{}: {}", asker.refusal(), why), std::move(hint)};
}

} // namespace

Questions::Open* Questions::find(const Asker& asker, std::string_view key) {
    if (key.empty() || !shares_) return nullptr;
    const auto at = std::find_if(open_.begin(), open_.end(), [&](const Open& open) {
        return open.asker == &asker && open.question.key == key;
    });
    return at == open_.end() ? nullptr : &*at;
}

Result<void> Questions::ask(Asker& asker, std::uint64_t call, Question question, TimePoint now) {
    if (is_closed_) return refusal(asker, ErrorKind::shutting_down, ending, "");
    if (Open* const open = find(asker, question.key)) {
        open->question.calls.push_back(call);
        return {};
    }
    if (open_.size() >= most_open)
        return refusal(asker, ErrorKind::limit, fmt::format("{} questions are open", most_open),
                       "answer some of them first");
    // Codex refuses a request whose id is no integer.
    ++asked_;
    question.id = question.is_policy_request ? fmt::format("{}", asked_)
                                             : fmt::format("{}-{}", asker.ids(), asked_);
    question.request.approval_id = question.id;
    question.calls = {call};
    Open& open = open_.emplace_back(Open{std::move(question), &asker});
    const Millis timeout =
        open.question.patience.value_or(session_.settings().config.approval_timeout);
    if (timeout.count() > 0) open.deadline = now + timeout;
    send_question(outbox_, open.question);
    return {};
}

std::optional<Questions::Open> Questions::take_at(std::size_t index) {
    if (index >= open_.size()) return std::nullopt;
    Open taken = std::move(open_[index]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
}

std::optional<Questions::Open> Questions::take(std::string_view id) {
    std::size_t at = 0;
    while (at < open_.size() && open_[at].question.id != id)
        ++at;
    return take_at(at);
}

std::optional<Questions::Open> Questions::take_due(TimePoint now) {
    std::size_t at = 0;
    while (at < open_.size() && !is_due(open_[at].deadline, now))
        ++at;
    return take_at(at);
}

void Questions::leave(const Asker& asker, std::uint64_t call) {
    for (std::size_t i = 0; i < open_.size(); ++i) {
        if (open_[i].asker != &asker) continue;
        std::vector<std::uint64_t>& calls = open_[i].question.calls;
        if (std::erase(calls, call) == 0 || !calls.empty()) continue;
        return withdraw_question(outbox_, take_at(i)->question);
    }
}

bool Questions::on_answer(const protocol::Message& message) {
    const std::optional<std::string_view> id = question_answered(message);
    const std::optional<Open> open = id ? take(*id) : std::nullopt;
    if (!open) return false;
    const ApprovalAnswer answer = open->question.is_policy_request
                                      ? read_policy_answer(message)
                                      : read_answer(open->question.request, message);
    const std::int64_t kept = open->asker->keep(open->question, answer);
    if (answer.decision == ApprovalDecision::unasked) {
        refuse_unasked(*open, kept);
        return true;
    }
    if (approves(answer.decision)) {
        open->asker->approve(open->question, answer);
        return true;
    }
    if (answer.decision == ApprovalDecision::edited) {
        open->asker->edit(open->question, answer);
        return true;
    }
    const std::string reason = answer.reason ? fmt::format(": {}", *answer.reason) : "";
    refuse(*open, ErrorKind::denied, fmt::format("it was denied{}", reason),
           "do something else, or ask why");
    if (answer.decision == ApprovalDecision::abort) abort_all();
    return true;
}

void Questions::refuse(const Open& open, ErrorKind kind, std::string_view why, std::string hint) {
    open.asker->refuse(open.question, refusal(*open.asker, kind, why, std::move(hint)));
}

void Questions::refuse_unasked(const Open& open, std::int64_t kept) const {
    const std::string& database = session_.database();
    std::string hint = "a person can allow it by a rule";
    if (kept != 0 && database != ":memory:") {
        hint =
            fmt::format("a person can allow it with: {}{}", protocol::grant_question_command, kept);
        if (database != session_.setup().paths.state_database)
            hint += fmt::format(" --database={}", core::shell_quoted({database}));
    }
    refuse(open, ErrorKind::denied, "the client can ask nobody", std::move(hint));
}

void Questions::abort_all() {
    while (const std::optional<Open> open = take_at(0)) {
        withdraw_question(outbox_, open->question);
        refuse(*open, ErrorKind::denied, "everything that was being asked about was aborted");
    }
}

void Questions::on_time(TimePoint now) {
    while (const std::optional<Open> open = take_due(now)) {
        withdraw_question(outbox_, open->question);
        refuse(*open, ErrorKind::denied, "nobody answered the question in time",
               "a longer approvalTimeoutMs gives more time; 0 waits as long as it takes");
    }
}

std::optional<TimePoint> Questions::next_deadline() const {
    std::optional<TimePoint> next;
    for (const Open& open : open_)
        next = earlier(next, open.deadline);
    return next;
}

void Questions::close() {
    is_closed_ = true;
    while (const std::optional<Open> open = take_at(0))
        refuse(*open, ErrorKind::shutting_down, ending);
}

} // namespace ew::server
