// The keys of a terminal: their names, and the bytes that they send in the modes that a program has
// set (xterm's "ctlseqs", section "PC-Style Function Keys").
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

struct KeyModes {
    bool application_cursor = false; // DECCKM: arrows, home and end
    bool application_keypad = false; // DECKPAM: the keys "keypad-…"
    bool bracketed_paste = false;

    bool operator==(const KeyModes&) const = default;
};

// Follows the modes that a program sets in its output, which may be cut anywhere.
class KeyModeTracker {
public:
    void feed(std::string_view output);

    const KeyModes& modes() const { return modes_; }

private:
    enum class State : std::uint8_t {
        text,
        escape,     // after ESC
        sequence,   // after ESC [
        own,        // after ESC [ ? and in its numbers
        soft_reset, // after ESC [ !
    };

    void take(char byte);
    void after_escape(char byte);
    void after_bracket(char byte);
    void in_own_sequence(char byte);
    void set(bool is_on);

    State state_ = State::text;
    std::vector<unsigned> numbers_; // of the sequence
    KeyModes modes_;
};

// Returns the bytes of a key such as "enter", "ctrl-c", "alt-x", "shift-tab", "f5" or "é". The
// error names the nearest key there is.
Result<std::string> key_bytes(std::string_view name, const KeyModes& modes);

// Returns the bytes of a paste. The text cannot end a bracketed paste before its own end.
std::string pasted(std::string_view text, const KeyModes& modes);

} // namespace ew::core
