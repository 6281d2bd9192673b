// Questions to the person at the client that have not been answered: what was asked, which calls
// wait for it, until when. Calls that would ask the same thing share one question.
#pragma once

#include "base/clock.h"
#include "protocol/approval.h"
#include "sandbox/policy/policy.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

struct Question {
    std::string id;             // of the request that asks it
    std::string key;            // what is asked: equal for calls that can share the answer
    std::string grant_key = {}; // of an approval that is remembered
    // What approved_widened means, and its key.
    std::optional<sandbox::Additions> widening = {};
    std::string widened_key = {};
    // As they were when it was asked: an answer does not cover what is set later.
    std::string project = {};
    std::string workspace_root = {}; // that the directory is in; empty: in none
    protocol::ApprovalRequest request = {};
    std::vector<std::uint64_t> calls = {};
    std::optional<TimePoint> deadline = {};
};

class Questions {
public:
    // Their ids begin so; no other questions to this client may.
    explicit Questions(std::string prefix) : prefix_(std::move(prefix)) {}

    static constexpr std::size_t most_open = 64;

    // The open question with this key, which `call` waits for from now on; null: there is none.
    Question* join(std::string_view key, std::uint64_t call);

    // A new one, to be completed and sent. Null: too many are open.
    Question* open(std::string key, std::uint64_t call);

    // `call` does not wait any more. The question, if nobody waits for it now: it is closed.
    std::optional<Question> leave(std::uint64_t call);

    // An answer came. Absent: to nothing that is still asked.
    std::optional<Question> take(std::string_view id);

    std::optional<Question> take_due(TimePoint now);
    std::optional<Question> take_any();

    std::optional<TimePoint> next_deadline() const;

private:
    std::optional<Question> take_at(std::size_t index);

    std::string prefix_;
    std::vector<Question> open_;
    std::uint64_t asked_ = 0;
};

} // namespace ew::server
