// The questions to the person at the client that are open, of commands and patches together: each
// is sent, and is answered, withdrawn, or refused when its time is over. Calls of one asker that
// would ask the same share one question.
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
    std::string id = {};        // of the request that asks it
    std::string key = {};       // what is asked: equal for calls that can share the answer
    std::string grant_key = {}; // of an approval that is remembered
    // What approved_widened means, and its key.
    std::optional<sandbox::Additions> widening = {};
    std::string widened_key = {};
    // As they were when it was asked: an answer does not cover what is set later.
    std::string project = {};
    std::string workspace_root = {}; // that the directory is in; empty: in none
    protocol::ApprovalRequest request = {};
    std::vector<std::uint64_t> calls = {}; // serial numbers that the asker gave
};

// Something whose calls ask questions. It outlives its questions.
class Asker {
public:
    // `ids`: the ids of its questions begin with this word. `refusal`: errors that tell of a
    // refusal begin with these words.
    Asker(std::string_view ids, std::string_view refusal) : ids_(ids), refusal_(refusal) {}

    Asker(const Asker&) = delete;
    Asker& operator=(const Asker&) = delete;

    std::string_view ids() const { return ids_; }

    std::string_view refusal() const { return refusal_; }

    // Keeps an answer, whatever it is. approve() or refuse() follows.
    virtual void keep(const Question& question, const protocol::ApprovalAnswer& answer) = 0;

    // The calls of this question may go on.
    virtual void approve(const Question& question, const protocol::ApprovalAnswer& answer) = 0;

    // They may not: it was denied, or found no answer.
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

    Questions(const Session& session, Outbox& outbox) : session_(session), outbox_(outbox) {}

    // `call` waits from now on for the open question with the same key, or else for this one, which
    // is sent; its id and its calls are filled in here. A question without a key is asked for
    // itself. Errors: limit; shutting_down after close().
    Result<void> ask(Asker& asker, std::uint64_t call, Question question, TimePoint now);

    // `call` does not wait any more. A question that nobody waits for now is withdrawn.
    void leave(const Asker& asker, std::uint64_t call);

    // Takes a message of the client. Returns false if it answers nothing that is being asked.
    bool on_answer(const protocol::Message& message);

    // Refuses the questions whose time is over.
    void on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

    // The server ends: no question will be answered, and none is asked any more.
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
    void abort_all();

    const Session& session_;
    Outbox& outbox_;
    std::vector<Open> open_;
    std::uint64_t asked_ = 0;
    bool is_closed_ = false;
};

} // namespace ew::server
