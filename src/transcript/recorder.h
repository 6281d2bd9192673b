// Writes what passes over the wire as a transcript (docs/transcripts.md).
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

#include <memory>
#include <string>
#include <string_view>

namespace ew::transcript {

class Recorder {
public:
    static Result<std::unique_ptr<Recorder>> open(const std::string& path);

    void from_client(std::string_view message) { line('>', message); }
    void from_server(std::string_view message) { line('<', message); }

private:
    explicit Recorder(UniqueFd file)
        : file_(std::move(file)), begun_(clock_now()) {}

    void line(char direction, std::string_view message);

    UniqueFd file_;
    TimePoint begun_;
};

} // namespace ew::transcript
