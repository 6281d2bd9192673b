// Cuts the output of a program, which comes in pieces, into text and control sequences. The parser
// of libvterm 0.1.4 writes behind its memory if a sequence has more than 16 numbers, and reads
// behind it in other cases: it gets only what is made anew from these tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

class SequenceReader {
public:
    static constexpr std::size_t longest_text = 1024;   // bytes of one token
    static constexpr std::size_t longest_string = 4096; // bytes; the rest is left out
    static constexpr std::size_t most_numbers = 32;     // a sequence with more is ignored
    static constexpr unsigned highest_number = 16'383;

    struct Number {
        std::optional<unsigned> value = {};
        bool has_part = false; // a colon follows: the next number belongs to this one
    };

    struct Token {
        enum class Kind : std::uint8_t {
            text,     // UTF-8 without ASCII's control characters
            control,  // `final` is the character
            escape,   // ESC, intermediates, final
            sequence, // ESC [, leader, numbers, intermediates, final
            string,   // ESC final, text and the end; of ESC ] only
        };

        Kind kind = Kind::text;
        char final = 0;
        char leader = 0;
        std::string_view intermediates = {};
        std::string_view text = {};
    };

    // Returns the next token and removes its bytes, or nullopt if all bytes are used. The views are
    // valid until the next call.
    std::optional<Token> next(std::string_view& bytes);

    // The numbers of the sequence that was returned last; at least one.
    const std::vector<Number>& numbers() const { return numbers_; }

private:
    enum class State : std::uint8_t {
        text,
        escape,        // after ESC, and intermediates
        sequence,      // after ESC [
        string,        // until BEL or ESC backslash
        string_escape, // after ESC in a string
    };

    std::optional<Token> text(std::string_view& bytes);
    std::optional<Token> take(unsigned char byte);
    std::optional<Token> after_escape(unsigned char byte);
    std::optional<Token> in_sequence(unsigned char byte);
    std::optional<Token> in_string(unsigned char byte);
    void note_intermediate(unsigned char byte);
    void note_digit(unsigned char byte);

    State state_ = State::text;
    bool is_kept_ = false;      // the string is an OSC
    bool is_malformed_ = false; // the sequence, or its intermediates
    char leader_ = 0;
    std::string intermediates_;
    std::vector<Number> numbers_;
    std::string string_;
    std::string text_;
    std::string unfinished_; // the first bytes of a character
};

} // namespace ew::core
