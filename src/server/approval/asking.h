// A question on its way to the client, and the answer back.
#pragma once

#include "protocol/approval.h"
#include "protocol/envelope.h"
#include "server/approval/questions.h"
#include "server/connection/outbox.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace ew::server {

// `question.request` is complete.
void send_question(Outbox& outbox, const Question& question);

// Nobody has to answer it any more.
void withdraw_question(Outbox& outbox, const Question& question);

// The question that a message answers, by its id. Absent: the id is none of ours.
std::optional<std::string_view> question_answered(const protocol::Message& answer);

// What cannot be understood, was not offered, or is an error, is a denial that says so.
protocol::ApprovalAnswer read_answer(const protocol::ApprovalRequest& request,
                                     const protocol::Message& answer);

// What a message of the client answered.
enum class Answered : std::uint8_t {
    nothing, // that is being asked
    question,
    everything, // that is being asked about, whoever asks, is called off
};

bool approves(protocol::ApprovalDecision decision);

} // namespace ew::server
