// The messages expected from the server, in lanes: one per process, one per call of exec/command
// with its questions and events, and one per id of a reply. The order matters only within a lane.
// The output of a process is joined per stream, because two pipes have no common order.
#pragma once

#include "transcript/format.h"
#include "transcript/matcher.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::transcript {

// A difference between a server and a transcript.
struct Discord {
    int line = 0;     // line of the transcript; 0 if none
    std::string what; // a sentence
    Difference difference = {};
    std::string expected = {}; // the line of the transcript
    std::string got = {};      // the message of the server
};

class Expectations {
public:
    // On an error, the message begins with the number of the line and a colon.
    static Result<Expectations> make(const std::vector<Step>& steps, const Shapes& shapes,
                                     Matcher& matcher);

    // Records that the client has sent this message.
    void note_sent(const Node& message);

    // Records that a new server was started: the open requests get no answer.
    void note_restart();

    // Checks a message of the server. Returns nullopt if it fits.
    std::optional<Discord> take(const Node& message);

    bool is_met(std::size_t step) const { return met_[step]; }

    // Returns true if nothing in the transcript expects this message: its lane is complete.
    bool is_extra(const Node& message) const;

    // Describes how much of the output expected by this step has arrived; empty for other steps.
    std::string progress_of(std::size_t step) const;

private:
    // Expected output of one stream, up to the next other message of the process.
    struct Stream {
        std::string name = {};
        std::string bytes = {};
        std::vector<std::pair<std::size_t, std::size_t>> ends =
            {};                                    // the end of a step's bytes, and the step
        std::optional<std::size_t> open_step = {}; // the last step may not specify its bytes
        std::size_t received = 0;                  // may exceed `bytes` only for the open step

        bool is_complete() const { return received >= bytes.size() + (open_step ? 1 : 0); }

        std::size_t step_at_hand() const;
    };

    struct Entry {
        std::size_t step = 0;             // the step of a single message
        std::vector<Stream> streams = {}; // if not empty: joined output instead

        Stream* find(std::string_view stream);
    };

    struct Lane {
        std::vector<Entry> entries = {};
        std::size_t next = 0;
    };

    Expectations(const std::vector<Step>& steps, const Shapes& shapes, Matcher& matcher)
        : steps_(&steps), shapes_(&shapes), matcher_(&matcher), met_(steps.size()) {}

    Result<void> add(std::size_t step);
    Result<void> add_output(Stream& stream, std::size_t step) const;
    Discord discord(std::size_t step, std::string what, const Node& message) const;
    const Node* type_of(const Node& message) const;
    bool answers_nothing(const Node& message) const;
    std::optional<Discord> check_seq(const Node& message);
    std::optional<Discord> check_delta(const Node& message);
    std::optional<Discord> take_single(std::size_t step, const Node& message);
    std::optional<Discord> take_output(Stream& stream, const Node& message);
    std::optional<Discord> take_bytes(Stream& stream, std::string_view bytes, const Node& message);
    void note_reply(const Node& message);

    const std::vector<Step>* steps_;
    const Shapes* shapes_;
    Matcher* matcher_;
    std::vector<bool> met_;
    std::map<std::string, Lane, std::less<>> lanes_;
    std::map<std::string, std::deque<Node>, std::less<>>
        unanswered_;                                          // open requests, by lane of the reply
    std::map<std::string, std::uint64_t, std::less<>> seqs_;  // last number of each process
    std::map<std::string, std::uint64_t, std::less<>> shown_; // last number of each command
};

} // namespace ew::transcript
