// From the answer to a question to the grant that is stored.
#pragma once

#include "protocol/approval.h"
#include "server/approval/questions.h"
#include "store/types.h"

#include <string>

namespace ew::server {

// `answer` is an answer to be remembered. `session` is the id of this session.
store::Grant approval_grant(const Question& question, const protocol::ApprovalAnswer& answer,
                            const std::string& session);

} // namespace ew::server
