// Writes the messages on the wire as a transcript (docs/transcripts.md). It drops messages rather
// than delay a session: the loop never waits for a full disk or an unread pipe.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ew::transcript {

class Recorder {
public:
    static Result<std::unique_ptr<Recorder>> open(const std::string& path);

    void from_client(std::string_view message) { record('>', message); }

    void from_server(std::string_view message) { record('<', message); }

private:
    explicit Recorder(UniqueFd file) : file_(std::move(file)), begun_(clock_now()) {}

    void record(char direction, std::string_view message);
    void note_loss(std::string_view reason, std::size_t written);

    UniqueFd file_;
    TimePoint begun_;
    std::uint64_t lost_ = 0; // number of messages lost since the last written one
    bool has_complained_ = false;
};

// Formats a message as a line of a transcript: chunks of text are written as text ("chunk~").
std::string readable(std::string_view message);

// Returns the message with each text of its params but "processId" replaced by stars, one for each
// byte. Requires a valid message.
std::string without_input(std::string_view message);

} // namespace ew::transcript
