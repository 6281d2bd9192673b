// How a question looks on the wire, and how its answer is read.
#pragma once

#include "protocol/approval.h"
#include "protocol/envelope.h"
#include "server/approval/questions.h"
#include "server/connection/outbox.h"

#include <optional>
#include <string_view>

namespace ew::server {

// `question.request` is complete.
void send_question(Outbox& outbox, const Question& question);

// Tells the client that the question needs no answer any more.
void withdraw_question(Outbox& outbox, const Question& question);

// The id of the question that a message answers. Returns nullopt if no question has such an id.
std::optional<std::string_view> question_answered(const protocol::Message& answer);

// An answer that cannot be understood, that was not offered, or that is an error, becomes a denial
// that says so.
protocol::ApprovalAnswer read_answer(const protocol::ApprovalRequest& request,
                                     const protocol::Message& answer);

bool approves(protocol::ApprovalDecision decision);

} // namespace ew::server
