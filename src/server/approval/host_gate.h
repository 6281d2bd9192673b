// Decides about the hosts of a network by host that no rule decides: by earlier answers, and by the
// approval policy. Writes the question about the others.
#pragma once

#include "protocol/sandbox.h"
#include "sandbox/gateway/host_asking.h"
#include "server/approval/choices.h"
#include "server/approval/gate.h"
#include "server/approval/questions.h"
#include "server/approval/records.h"
#include "server/session/session.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

// The command whose programs connect.
struct HostCommand {
    std::string call_id = {};
    std::string process_id = {}; // empty: the client knows none
    std::vector<std::string> argv = {};
    bool is_script = false; // the last word of argv is
    std::string program = {};
    std::string workdir = {};
    ApprovalExtent extent = {};
    bool asks_by_policy_request = false; // see Question::is_policy_request
    std::optional<Millis> patience = {}; // see Question::patience
    // Answers that count for this command alone, by key_of_host().
    std::map<std::string, sandbox::HostVerdict> once = {};
};

class HostGate {
public:
    // `cannot_ask`: why nobody can be asked and what helps, or empty.
    HostGate(const Session& session, Gate& gate, Records& records, std::string cannot_ask)
        : session_(session), gate_(gate), records_(records), cannot_ask_(std::move(cannot_ask)) {}

    // See sandbox::HostAsking::known(). Notes the use of an approval.
    std::optional<sandbox::HostVerdict> known(const HostCommand& command,
                                              const sandbox::HostQuestion& question);

    // Returns the question without its id. `sandbox`: of the command.
    static Question question(const HostCommand& command, const sandbox::HostQuestion& question,
                             const protocol::Confinement& sandbox);

    static store::AuditRow question_row(const HostCommand& command,
                                        const sandbox::HostQuestion& question);

    // To be called after the answer was kept. Returns what it means for the connections that wait.
    sandbox::HostVerdict allowed(HostCommand& command, const sandbox::HostQuestion& question);
    // The same for an answer that allows nothing, or no answer at all.
    static sandbox::HostVerdict refused(HostCommand& command, const sandbox::HostQuestion& question,
                                        const Error& error);

private:
    std::optional<sandbox::HostVerdict> remembered(const HostCommand& command,
                                                   const sandbox::HostQuestion& question);

    const Session& session_;
    Gate& gate_;
    Records& records_;
    std::string cannot_ask_;
};

// The beginning of the messages about connections that a person did not allow.
constexpr std::string_view host_refusal = "the connection was not made";

} // namespace ew::server
