// The roots of a legacy client: asked for once it is initialized, and again when they change. While
// the first answer is awaited, calls of tools wait for it.
#pragma once

#include "base/clock.h"
#include "mcp/answers.h"
#include "protocol/approval.h"
#include "protocol/envelope.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::mcp {

class Roots {
public:
    // How long calls wait for the answer.
    static constexpr Millis patience{2'000};

    void ask(Answers& answers, TimePoint now);

    // Each question has one answer.
    bool is_answer(const json::Id& id) const { return is_open_ && id.json == id_of_question(); }

    // Returns the roots that can be a workspace, and ends the wait.
    std::vector<protocol::Path> take(const protocol::Message& answer);

    std::optional<TimePoint> awaited_until() const { return until_; }

    void give_up() { until_.reset(); }

private:
    std::string id_of_question() const;

    std::uint64_t asked_ = 0;
    bool is_open_ = false; // the last question has no answer yet
    std::optional<TimePoint> until_;
};

} // namespace ew::mcp
