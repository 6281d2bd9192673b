// The questions about a call: the text that a person is shown, and the possible answers.
#pragma once

#include "protocol/sandbox.h"
#include "server/approval/questions.h"
#include "server/exec/call.h"
#include "server/process/process.h"
#include "server/session/session.h"

namespace ew::server {

// Asks whether the command may run. `expected` is the confinement that the program will get.
Question first_question(const JudgedCall& call, const Session& session,
                        const protocol::Confinement& expected);

// Asks whether the command may run again, with more permissions than its first attempt had.
Question retry_question(const Call& call, const Session& session, const Process& first);

} // namespace ew::server
