#include "server/approval/asking.h"

#include "json/writer.h"
#include "protocol/decode.h"
#include "protocol/network_policy.h"
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

// Nothing was sent yet, so the port tells what will probably be spoken.
protocol::NetworkPolicyRequest policy_request(const protocol::ApprovalRequest& question) {
    using protocol::NetworkProtocol;
    constexpr std::uint64_t http_port = 80;
    constexpr std::uint64_t https_port = 443;
    protocol::NetworkPolicyRequest policy;
    if (!question.network) return policy;
    policy.process_id = question.network->process_id.value_or("");
    policy.request.host = question.network->host;
    policy.request.port = question.network->port;
    if (policy.request.port == http_port) policy.request.protocol = NetworkProtocol::http;
    if (policy.request.port == https_port) policy.request.protocol = NetworkProtocol::https_connect;
    return policy;
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
    if (question.is_policy_request) {
        out.append(std::string_view(question.id));
        out.append(std::string_view(R"(,"method":"network/policyRequest","params":)"));
        json::write_value(out, policy_request(question.request));
    } else {
        json::write_string(out, question.id);
        out.append(std::string_view(R"(,"method":"approval/request","params":)"));
        json::write_value(out, question.request);
    }
    out.append('}');
    outbox.end();
}

void withdraw_question(Outbox& outbox, const Question& question) {
    if (question.is_policy_request) return; // Codex has no message for that
    protocol::CancelParams params;
    ByteBuffer id;
    json::write_string(id, question.id);
    params.id.json = id.view();
    notify(outbox, "$/cancelRequest", params);
}

std::optional<std::string_view> question_answered(const protocol::Message& answer) {
    const std::string_view id = answer.id.json;
    if (id.empty()) return std::nullopt;
    return id.size() < 2 || id.front() != '"' ? id : id.substr(1, id.size() - 2);
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

ApprovalAnswer read_policy_answer(const protocol::Message& answer) {
    using protocol::NetworkPolicyDecisionType;
    if (answer.is_error) return denial("the client answered with an error");
    Result<protocol::NetworkPolicyAnswer> decoded =
        protocol::decode<protocol::NetworkPolicyAnswer>(answer.params);
    if (!decoded)
        return denial(
            fmt::format("the client's answer was not understood: {}", decoded.error().message));
    ApprovalAnswer read;
    read.reason = std::move(decoded->decision.reason);
    if (decoded->decision.type == NetworkPolicyDecisionType::allow)
        read.decision = ApprovalDecision::approved;
    if (decoded->decision.type == NetworkPolicyDecisionType::ask)
        read.decision = ApprovalDecision::unasked;
    return read;
}

bool approves(ApprovalDecision decision) {
    return decision != ApprovalDecision::denied && decision != ApprovalDecision::abort &&
           decision != ApprovalDecision::edited && decision != ApprovalDecision::unasked;
}

} // namespace ew::server
