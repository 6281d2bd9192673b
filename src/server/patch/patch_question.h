// The question about a patch: the text that a person is shown, and the possible answers.
#pragma once

#include "files/patch/patch_report.h"
#include "protocol/approval.h"
#include "server/approval/questions.h"
#include "server/approval/records.h"
#include "server/patch/pending_patch.h"

#include <cstddef>
#include <string>

namespace ew::server {

constexpr std::size_t most_remembered_files = 50; // in a patch approved for the session

protocol::ApprovalRequest question_about(const PendingPatch& patch);

// Stores an answer about the patch. An approval for the session is stored once for each file.
void keep_answer(const PendingPatch& patch, const Question& question,
                 protocol::ApprovalAnswer answer, Records& records);

// Returns a line for each file: A, M, D or R, and its path, with safe characters only.
std::string summary_of(const files::PatchReport& report);

} // namespace ew::server
