// Questions on the wire: sends them and reads their answers.
#pragma once

#include "protocol/approval.h"
#include "protocol/envelope.h"
#include "server/approval/questions.h"
#include "server/connection/outbox.h"

#include <optional>
#include <string_view>

namespace ew::server {

// `question.request` must be complete.
void send_question(Outbox& outbox, const Question& question);

// Tells the client that the question no longer needs an answer.
void withdraw_question(Outbox& outbox, const Question& question);

// Returns the id of the question that a message answers. Returns nullopt if no question has this
// id.
std::optional<std::string_view> question_answered(const protocol::Message& answer);

// Returns a denial with the reason if the answer is an error, is not understood, or was not
// offered.
protocol::ApprovalAnswer read_answer(const protocol::ApprovalRequest& request,
                                     const protocol::Message& answer);

// The same for the answer to a question with is_policy_request.
protocol::ApprovalAnswer read_policy_answer(const protocol::Message& answer);

bool approves(protocol::ApprovalDecision decision);

} // namespace ew::server
