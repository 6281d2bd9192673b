// The roots of a legacy client: asked for once it is initialized, and again when they change. While
// the first answer is awaited, calls of tools wait for it.
#pragma once

#include "base/clock.h"
#include "mcp/answers.h"
#include "protocol/approval.h"
#include "protocol/envelope.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::mcp {

class Roots {
public:
    // How long calls wait for the answer.
    static constexpr Millis patience{2'000};

    // Decides whether a path is a directory. Nothing else here looks at the machine.
    using IsDirectory = std::function<bool(const std::string&)>;

    explicit Roots(IsDirectory is_directory) : is_directory_(std::move(is_directory)) {}

    // Asks, and calls wait for the answer. While a question is open, this notes the change only.
    void ask(Answers& answers, TimePoint now);

    // Asks again if the roots have changed while the question was open. No call waits for that.
    void ask_again(Answers& answers);

    // Each question has one answer.
    bool is_answer(const json::Id& id) const { return is_open_ && id.json == id_of_question(); }

    // Returns the roots that can be a workspace, and ends the wait.
    std::vector<protocol::Path> take(const protocol::Message& answer);

    std::optional<TimePoint> awaited_until() const { return until_; }

    void give_up() { until_.reset(); }

private:
    std::string id_of_question() const;
    void send_question(Answers& answers);

    std::uint64_t asked_ = 0;
    bool is_open_ = false;     // the last question has no answer yet
    bool has_changed_ = false; // meanwhile
    IsDirectory is_directory_;
    std::optional<TimePoint> until_;
};

} // namespace ew::mcp
