// What the server is expected to say, in lanes: one a process, one a call of exec/command with its
// questions and events, one an id of a reply. Order counts within a lane. The output of a process
// is joined, each stream for itself: two pipes have no order.
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

// Where a server and a transcript part.
struct Discord {
    int line = 0;     // of the transcript; 0: of none
    std::string what; // a sentence
    Difference difference = {};
    std::string expected = {}; // the line
    std::string got = {};      // the message
};

class Expectations {
public:
    // An error's message begins with the number of the line and a colon.
    static Result<Expectations> make(const std::vector<Step>& steps, const Shapes& shapes,
                                     Matcher& matcher);

    // The client has sent this.
    void note_sent(const Node& message);

    // Another server takes over: nobody answers the requests that are open.
    void note_restart();

    // The server has said this. Absent: it fits.
    std::optional<Discord> take(const Node& message);

    bool is_met(std::size_t step) const { return met_[step]; }

    // Nobody expects this message: its lane holds nothing more.
    bool is_extra(const Node& message) const;

    // How far the output that this step expects has come, for people; empty without any.
    std::string progress_of(std::size_t step) const;

private:
    // Output of one stream that is expected without another message of the process in between.
    struct Stream {
        std::string name = {};
        std::string bytes = {};
        std::vector<std::pair<std::size_t, std::size_t>> ends =
            {};                                    // of a step's bytes, and the step
        std::optional<std::size_t> open_step = {}; // the last step may not say what its bytes are
        std::size_t received = 0;                  // may pass `bytes` only for the open step

        bool is_complete() const { return received >= bytes.size() + (open_step ? 1 : 0); }

        std::size_t step_at_hand() const;
    };

    struct Entry {
        std::size_t step = 0;             // of a message that stands alone
        std::vector<Stream> streams = {}; // not empty: it is joined output instead

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
        unanswered_;                                         // requests, by lane of the reply
    std::map<std::string, std::uint64_t, std::less<>> seqs_; // the last one of each started process
    std::map<std::string, std::uint64_t, std::less<>> shown_; // the same of commands that began
};

} // namespace ew::transcript
