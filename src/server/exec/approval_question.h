// The questions about a call: what a person is shown, and which answers there are.
#pragma once

#include "protocol/sandbox.h"
#include "server/approval/questions.h"
#include "server/exec/call.h"
#include "server/process/process.h"
#include "server/session/session.h"

namespace ew::server {

// May it run? `expected`: what will confine it.
Question first_question(const Call& call, const Session& session,
                        const protocol::Confinement& expected);

// May it run again, with more permissions than its first attempt had?
Question retry_question(const Call& call, const Session& session, const Process& first);

} // namespace ew::server
