// What an answer to a question allows from now on.
#pragma once

#include "protocol/approval.h"
#include "server/approval/questions.h"
#include "store/types.h"

#include <string>

namespace ew::server {

// For an answer that is to be remembered, in this session.
store::Grant approval_grant(const Question& question, const protocol::ApprovalAnswer& answer,
                            const std::string& session);

} // namespace ew::server
