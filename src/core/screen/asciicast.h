// Writes what a terminal has shown as an asciicast, the format of asciinema, version 2 or 3. Times
// are milliseconds since the beginning; one that is earlier than the last one counts as the last.
#pragma once

#include "base/byte_buffer.h"
#include "base/clock.h"
#include "core/screen/cell.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

enum class CastVersion : std::uint8_t { v2, v3 };

struct CastHeader {
    ScreenSize size = {};
    std::optional<std::uint64_t> began_at = {}; // in seconds since 1970
    std::string command = {};
    std::string terminal = {}; // the value of TERM; empty: not known
};

class Asciicast {
public:
    Asciicast(CastVersion version, const CastHeader& header);

    // The rest of a character may come with the next output.
    void output(Millis at, std::string_view bytes);
    void resize(Millis at, ScreenSize size);

    // Text that a player shows beside the time line.
    void marker(Millis at, std::string_view text);

    // The end of the program. Version 2 has no event for it.
    void exit(Millis at, std::int64_t code);

    // Returns the whole file. Nothing may follow.
    std::string take();

private:
    void event(Millis at, std::string_view code, std::string_view text);
    void flush();

    CastVersion version_;
    ByteBuffer text_;
    Millis last_{0};
    std::string unfinished_; // the beginning of a character
};

} // namespace ew::core
