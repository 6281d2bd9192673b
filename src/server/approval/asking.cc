#include "server/approval/asking.h"

#include "json/writer.h"
#include "protocol/decode.h"
#include "protocol/session.h"
#include "server/connection/notify.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ew::server {

using protocol::ApprovalAnswer;
using protocol::ApprovalDecision;

namespace {

bool was_offered(const protocol::ApprovalRequest& request, const ApprovalAnswer& answer) {
    for (const protocol::ApprovalChoice& choice : request.available_decisions) {
        if (choice.decision != answer.decision) continue;
        if (!answer.scope || choice.scope == answer.scope) return true;
    }
    return false;
}

ApprovalAnswer denial(std::string reason) {
    ApprovalAnswer answer;
    answer.decision = ApprovalDecision::denied;
    answer.reason = std::move(reason);
    return answer;
}

} // namespace

void send_question(Outbox& outbox, const Question& question) {
    ByteBuffer& out = outbox.begin(Lane::priority);
    out.append(std::string_view(R"({"jsonrpc":"2.0","id":)"));
    json::write_string(out, question.id);
    out.append(std::string_view(R"(,"method":"approval/request","params":)"));
    json::write_value(out, question.request);
    out.append('}');
    outbox.end();
}

void withdraw_question(Outbox& outbox, const Question& question) {
    protocol::CancelParams params;
    ByteBuffer id;
    json::write_string(id, question.id);
    params.id.json = id.view();
    notify(outbox, "$/cancelRequest", params);
}

std::optional<std::string_view> question_answered(const protocol::Message& answer) {
    const std::string_view id = answer.id.json;
    if (id.size() < 2 || id.front() != '"') return std::nullopt;
    return id.substr(1, id.size() - 2);
}

ApprovalAnswer read_answer(const protocol::ApprovalRequest& request,
                           const protocol::Message& answer) {
    if (answer.is_error) return denial("the client answered with an error");
    Result<ApprovalAnswer> decoded = protocol::decode<ApprovalAnswer>(answer.params);
    if (!decoded)
        return denial(
            fmt::format("the client's answer was not understood: {}", decoded.error().message));
    const bool is_edited = decoded->decision == ApprovalDecision::edited;
    if (int{decoded->command.has_value()} + int{decoded->argv.has_value()} != int{is_edited})
        return denial(is_edited ? "the client's answer has no command to run instead"
                                : "the client's answer has a command, and is not \"edited\"");
    if (decoded->decision == ApprovalDecision::unasked) {
        decoded->scope.reset();
        return std::move(*decoded);
    }
    if (!was_offered(request, *decoded))
        return denial("the client's answer was not among those that were offered");
    return std::move(*decoded);
}

bool approves(ApprovalDecision decision) {
    return decision != ApprovalDecision::denied && decision != ApprovalDecision::abort &&
           decision != ApprovalDecision::edited && decision != ApprovalDecision::unasked;
}

} // namespace ew::server
