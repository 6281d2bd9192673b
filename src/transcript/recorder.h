// Writes what passes over the wire as a transcript (docs/transcripts.md). Loses messages rather
// than stop a session: the loop never waits for a disk that is full or a pipe that nobody reads.
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
    std::uint64_t lost_ = 0; // messages since the last one that was written
    bool has_complained_ = false;
};

// A message as a transcript has it, on one line: chunks of text are spelled out ("chunk~").
std::string readable(std::string_view message);

} // namespace ew::transcript
