// What a person is shown of a patch, and may answer.
#pragma once

#include "files/patch/patch_report.h"
#include "protocol/approval.h"
#include "server/approval/questions.h"
#include "server/approval/records.h"
#include "server/patch/pending_patch.h"

#include <cstddef>
#include <string>

namespace ew::server {

constexpr std::size_t most_remembered_files = 50; // of a patch that is approved for the session

protocol::ApprovalRequest question_about(const PendingPatch& patch);

// Keeps an answer to it. An approval for the session is one for each file.
void keep_answer(const PendingPatch& patch, const Question& question,
                 protocol::ApprovalAnswer answer, Records& records);

// A line for each file: A, M, D or R, and its path; safe to show.
std::string summary_of(const files::PatchReport& report);

} // namespace ew::server
