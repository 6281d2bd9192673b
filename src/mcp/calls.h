// The calls of tools that are open, each from the request of the client to its result. A call makes
// one request to the server after the other; between them, a person may be asked.
#pragma once

#include "base/clock.h"
#include "mcp/answers.h"
#include "mcp/consent.h"
#include "mcp/order.h"
#include "mcp/request_state.h"
#include "mcp/wires.h"
#include "protocol/approval.h"
#include "protocol/envelope.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::mcp {

// A call of a tool as the client sent it.
struct ToolCall {
    Asked asked = {};
    Order order = {};
    std::string digest = {}; // stands for the tool and its arguments
};

class Calls {
public:
    // How long a modern client may take to come back with the answer of a person.
    static constexpr Millis held_time{600'000};
    // How many calls may be open.
    static constexpr std::size_t most_open = 256;
    // How many programs are remembered whose call is over, and which may still ask.
    static constexpr std::size_t most_started = 256;
    // How many answered questions are remembered.
    static constexpr std::size_t most_settled = 256;

    Calls(Wires& wires, Answers& answers, std::string secret)
        : wires_(wires), answers_(answers), seal_(std::move(secret)) {}

    // The sandbox of the session.
    void set_mode(std::string mode) { mode_ = std::move(mode); }

    void begin(ToolCall call, TimePoint now);

    // The client comes back with a person's answer to the question in `state`.
    void resume(ToolCall call, std::string_view state, const FormAnswer& form, TimePoint now);

    // The client no longer waits for this request. Returns false if no call has it.
    bool cancel(const json::Id& request);

    // The server has answered a request. Returns false if it is not of a call.
    bool on_answer(std::uint64_t request, const protocol::Message& answer);

    // A program has started for a call, or has printed something.
    void on_begin(std::string_view call_id, const std::string& process, const std::string& cwd);
    void on_output(std::string_view call_id, std::string_view process, std::string_view text);

    // Returns true if on_output() is worth its price.
    bool wants_output() const;

    void on_question(const json::Id& id, protocol::ApprovalRequest request, TimePoint now);
    void on_withdrawn(const json::Id& id); // of the question

    // A legacy client answers a request of ours. Returns false if none of ours has this id.
    bool on_form_answer(const json::Id& form, const FormAnswer& answer);

    void on_time(TimePoint now, Reader reader);
    std::optional<TimePoint> next_deadline() const;

private:
    struct Progress {
        std::uint64_t count = 0;
        std::string line = {}; // the last line of output that was not told
        TimePoint told_at = {};
    };

    struct Call {
        std::optional<Asked> asked = {}; // nullopt: nobody waits for its result now
        Order order = {};
        std::string digest = {};
        std::uint64_t request = 0; // to the server, unanswered
        std::string call_id = {};  // what the server calls it: the id of its first request
        bool is_last_step = true;  // the answer to `request` is the result
        std::string cwd = {};
        bool was_not_asked = false; // there was a question, and nobody to answer it
        // Kept while a question of a modern client is open: the client comes back for both.
        std::optional<ToolResult> result = {};
        Progress progress = {};
    };

    // What became of a question whose state a modern client may send again.
    struct Settled {
        std::string token = {};
        FormAnswer::Kind how = FormAnswer::Kind::failed; // failed: no answer came in time
    };

    struct Question {
        json::Id id = {}; // of the server's request
        protocol::ApprovalRequest request = {};
        json::Id form = {};     // id of the request to a legacy client
        std::string token = {}; // in the state of a modern client
        TimePoint until = {};   // modern: when it counts as unanswered
        std::string call = {};  // call_id of the call through which it is asked

        // A modern client is asked one question of a call at a time.
        bool waits_for_its_turn() const { return token.empty() && form.json.empty(); }
    };

    // What a program that goes on may still ask about.
    struct Started {
        std::string call_id;
        std::string process;
    };

    Call* call_of_request(std::uint64_t request);
    Call* call_named(std::string_view call_id);
    Call* call_to_ask(const std::string& call_id);
    bool is_held(const Call& call) const;
    bool ask_next(Call& call, TimePoint now);
    void drop_done(const std::string& call_id);
    void ask(Call& call, Question question, TimePoint now);
    void answer(const Question& question, std::string_view result);
    void settle(const Question& question, FormAnswer::Kind how);
    void tell_settled(const ToolCall& call, std::string_view token);
    std::optional<Question> take_question(std::size_t index);
    void step(Call& call, bool is_last, std::string_view method, std::string_view params);
    // Returns nullopt if the call goes on.
    std::optional<ToolResult> result_for(Call& call, const protocol::Message& answer);
    ToolResult result_of_wait(const Call& call, const protocol::ExecResult& result) const;
    void finish(std::size_t index, const ToolResult& result);
    void fail(std::size_t index, const protocol::Message& answer);

    Wires& wires_;
    Answers& answers_;
    StateSeal seal_;
    std::string mode_;
    std::vector<Call> calls_;
    std::vector<Question> questions_;
    std::deque<Started> started_; // the newest ones
    std::deque<Settled> settled_; // the newest ones
    std::uint64_t asked_ = 0;
};

} // namespace ew::mcp
