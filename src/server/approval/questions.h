// The open questions to the person at the client, about commands and patches. Each is sent, and is
// then answered, withdrawn, or refused when its time is over. Calls of one asker share a question
// if their questions are equal.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "protocol/approval.h"
#include "protocol/envelope.h"
#include "sandbox/policy/policy.h"
#include "server/connection/outbox.h"
#include "server/session/session.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

struct Question {
    std::string id = {};        // id of the request that asks it
    std::string key = {};       // the subject: equal for calls that can share the answer
    std::string grant_key = {}; // key of an approval that is remembered
    // The permissions of the answer approved_widened, and its key.
    std::optional<sandbox::Additions> widening = {};
    std::string widened_key = {};
    // Values from the time of the question: an answer does not cover later settings.
    std::string project = {};
    std::string workspace_root = {};     // that holds the directory; empty: no root does
    bool is_policy_request = false;      // sent as network/policyRequest, for a client like Codex
    std::optional<Millis> patience = {}; // for an answer, instead of the setting's
    protocol::ApprovalRequest request = {};
    std::vector<std::uint64_t> calls = {}; // serial numbers from the asker
};

// The owner of calls that ask questions. It outlives its questions.
class Asker {
public:
    // The ids of its questions begin with the word `ids`. The messages of refusals begin with
    // `refusal`.
    Asker(std::string_view ids, std::string_view refusal) : ids_(ids), refusal_(refusal) {}

    Asker(const Asker&) = delete;
    Asker& operator=(const Asker&) = delete;

    std::string_view ids() const { return ids_; }

    std::string_view refusal() const { return refusal_; }

    // Stores an answer of any kind. Returns the id of what is remembered, or 0. approve(), edit()
    // or refuse() follows.
    virtual std::int64_t keep(const Question& question, const protocol::ApprovalAnswer& answer) = 0;

    // The calls of this question may go on.
    virtual void approve(const Question& question, const protocol::ApprovalAnswer& answer) = 0;

    // The command of the answer takes the place of the one in question. Only for questions that
    // offer it.
    virtual void edit(const Question& question, const protocol::ApprovalAnswer& answer) = 0;

    // The calls may not go on: the question was denied, or got no answer.
    virtual void refuse(const Question& question, const Error& error) = 0;

protected:
    ~Asker() = default;

private:
    std::string_view ids_;
    std::string_view refusal_;
};

class Questions {
public:
    static constexpr std::size_t most_open = 64;

    // Without `shares`, each call has a question of its own: each client answers for its own call.
    Questions(const Session& session, Outbox& outbox, bool shares = true)
        : session_(session), outbox_(outbox), shares_(shares) {}

    // Makes `call` wait for the open question with the same key. If there is none, sends this one
    // and fills in its id and calls. A question without a key is never shared. Errors: limit;
    // shutting_down after close().
    Result<void> ask(Asker& asker, std::uint64_t call, Question question, TimePoint now);

    // `call` stops waiting. Withdraws the question if no other call waits for it.
    void leave(const Asker& asker, std::uint64_t call);

    // Takes a message of the client. Returns false if it does not answer an open question.
    bool on_answer(const protocol::Message& message);

    // Refuses the questions whose time is over.
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // The server ends: refuses the open questions. ask() refuses new ones from now on.
    void close();

private:
    struct Open {
        Question question;
        Asker* asker = nullptr;
        std::optional<TimePoint> deadline = {};
    };

    Open* find(const Asker& asker, std::string_view key);
    std::optional<Open> take_at(std::size_t index);
    std::optional<Open> take(std::string_view id);
    std::optional<Open> take_due(TimePoint now);
    static void refuse(const Open& open, ErrorKind kind, std::string_view why,
                       std::string hint = {});
    void refuse_unasked(const Open& open, std::int64_t kept) const;
    void abort_all();

    const Session& session_;
    Outbox& outbox_;
    const bool shares_;
    std::vector<Open> open_;
    std::uint64_t asked_ = 0;
    bool is_closed_ = false;
};

} // namespace ew::server
