#include "cli/run/run_hosts.h"

#include "cli/run/terminal_question.h"
#include "server/approval/asking.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace ew::cli {

namespace {

constexpr Millis as_long_as_it_takes{std::chrono::hours(24 * 365)};

std::string_view silence_of(bool asks, bool has_terminal) {
    if (!asks) return "nobody is asked: --network=ask asks on the terminal";
    return has_terminal ? "" : "there is no terminal to ask on";
}

UniqueFd terminal_if(bool asks) {
    return asks ? own_terminal() : UniqueFd();
}

// The number of the choice, or nothing if nobody answered in time.
std::string result_of(const protocol::ApprovalRequest& request,
                      const std::optional<protocol::ApprovalAnswer>& answer) {
    if (!answer) return "";
    for (std::size_t i = 0; i < request.available_decisions.size(); ++i) {
        const protocol::ApprovalChoice& choice = request.available_decisions[i];
        if (choice.decision == answer->decision && choice.scope == answer->scope)
            return fmt::format("{}", i);
    }
    return "";
}

} // namespace

RunHosts::RunHosts(const Parts& parts, server::HostCommand command, protocol::Confinement sandbox,
                   bool asks)
    : parts_(parts),
      command_(std::move(command)),
      sandbox_(std::move(sandbox)),
      terminal_(terminal_if(asks)),
      gate_(parts.session, parts.gate, parts.records,
            std::string(silence_of(asks, static_cast<bool>(terminal_)))) {}

std::optional<sandbox::HostVerdict> RunHosts::known(const sandbox::HostQuestion& question) {
    return gate_.known(command_, question);
}

void RunHosts::close() {
    is_closed_ = true;
    errand_.reset();
    open_.clear();
}

Result<void> RunHosts::ask(const sandbox::HostQuestion& question) {
    if (is_closed_) return Error{ErrorKind::shutting_down, "the command has ended"};
    parts_.records.audit(server::HostGate::question_row(command_, question));
    parts_.records.flush_all(); // it is on the disk before anybody is asked
    open_.push_back(question);
    if (errand_) return {};
    Result<void> begun = begin();
    if (!begun) open_.pop_back();
    return begun;
}

Result<void> RunHosts::begin() {
    asked_ = server::HostGate::question(command_, open_.front(), sandbox_);
    asked_.id = "the question";
    const int terminal = terminal_.get();
    const Millis patience = parts_.session.settings().config.approval_timeout;
    const auto body = [this, terminal, patience] {
        return result_of(asked_.request, ask_on_terminal(terminal, asked_.request, patience));
    };
    const std::array<int, 1> kept = {terminal};
    errand_ = TRY(os::Errand::begin(body, kept, clock_now() + as_long_as_it_takes));
    return {};
}

// Whatever is no answer of the terminal's refuses.
sandbox::HostVerdict RunHosts::verdict_of(const sandbox::HostQuestion& question,
                                          const std::string& result) {
    std::size_t number = 0;
    const auto read = std::from_chars(result.data(), result.data() + result.size(), number);
    const std::vector<protocol::ApprovalChoice>& choices = asked_.request.available_decisions;
    if (read.ec != std::errc() || number >= choices.size())
        return server::HostGate::refused(
            command_, question,
            {ErrorKind::denied, fmt::format("{}: nobody answered", server::host_refusal)});
    protocol::ApprovalAnswer answer;
    answer.decision = choices[number].decision;
    answer.scope = choices[number].scope;
    (void)parts_.records.keep(asked_, answer); // it warns if that fails
    if (server::approves(answer.decision)) return gate_.allowed(command_, question);
    return server::HostGate::refused(
        command_, question,
        {ErrorKind::denied, fmt::format("{}: it was denied", server::host_refusal)});
}

std::optional<RunHosts::Answer> RunHosts::take_answer() {
    const std::optional<std::string> result = errand_ ? errand_->take_result() : std::nullopt;
    if (!result) return std::nullopt;
    errand_.reset();
    const sandbox::HostQuestion question = std::move(open_.front());
    open_.pop_front();
    const Answer answer = {question.id, verdict_of(question, *result)};
    // If the next one cannot be asked now, it waits until another one is.
    if (!open_.empty()) (void)begin();
    return answer;
}

} // namespace ew::cli
