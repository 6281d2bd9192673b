#include "core/text/display.h"

#include "core/text/text.h"
#include "core/text/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace ew::core {

namespace {

bool is_letter_or_digit(char32_t c) {
    const char32_t lower = c | 0x20;
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c >= 0x80;
}

// Walks through a text and says for each character whether it may be shown unchanged.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool is_at_end() const { return rest_.empty(); }

    // The next character: its bytes, and whether they may be shown unchanged.
    struct Piece {
        std::string_view bytes;
        Character character;
        bool is_shown;
    };

    Piece next() {
        const Character character = first_character(rest_);
        const Piece piece = {rest_.substr(0, character.size), character, shows(character)};
        rest_.remove_prefix(character.size);
        const bool is_one_more_mark = piece.is_shown && is_mark(character.code_point);
        marks_ = is_one_more_mark ? marks_ + 1 : 0;
        // A combining mark after an escape would be drawn onto the escape.
        carries_marks_ = piece.is_shown && is_letter_or_digit(character.code_point);
        return piece;
    }

private:
    bool shows(const Character& character) const {
        constexpr int most_marks = 4; // in a row; no script needs more
        if (!character.is_valid || !is_graphic(character.code_point)) return false;
        return !is_mark(character.code_point) || (carries_marks_ && marks_ < most_marks);
    }

    std::string_view rest_;
    int marks_ = 0;
    bool carries_marks_ = false;
};

std::string escaped(const Reader::Piece& piece) {
    const char32_t c = piece.character.code_point;
    if (piece.character.is_valid && c >= 0x80)
        return fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(c));
    if (piece.bytes == "\n") return "\\n";
    if (piece.bytes == "\r") return "\\r";
    if (piece.bytes == "\t") return "\\t";
    std::string text;
    for (const char byte : piece.bytes)
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return text;
}

// Quotes like $'…' of bash. It writes bytes and not \u, because \u means something else in another
// locale.
std::string quoted_as_bytes(const Reader::Piece& piece) {
    if (piece.is_shown) {
        if (piece.bytes == "\\" || piece.bytes == "'") return "\\" + std::string(piece.bytes);
        if (piece.bytes != "!") return std::string(piece.bytes); // ! expands the history
    }
    if (piece.bytes == "\n") return "\\n";
    if (piece.bytes == "\r") return "\\r";
    if (piece.bytes == "\t") return "\\t";
    std::string text;
    for (const char byte : piece.bytes)
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return text;
}

bool is_shown_whole(std::string_view word) {
    for (Reader reader(word); !reader.is_at_end();)
        if (!reader.next().is_shown) return false;
    return true;
}

bool needs_no_quotes(std::string_view word) {
    constexpr std::string_view marks = "_@%+=:,./-";
    return !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
        const char lower = static_cast<char>(c | 0x20);
        const bool is_plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
        return is_plain || marks.find(c) != std::string_view::npos;
    });
}

// Words that a shell does not read as the name of a command (bash(1), reserved words).
bool is_reserved(std::string_view word) {
    constexpr std::array<std::string_view, 18> reserved = {
        "if",    "then", "elif", "else",  "fi", "case", "esac",     "for",    "select",
        "while", "do",   "done", "until", "in", "time", "function", "coproc", "repeat"};
    return std::find(reserved.begin(), reserved.end(), word) != reserved.end();
}

std::string quoted_word(std::string_view word, bool is_first) {
    // A first word with = is an assignment. zsh replaces =name by the path of a program.
    const bool has_meaning = is_first
                                 ? word.find('=') != std::string_view::npos || is_reserved(word)
                                 : word.substr(0, 1) == "=";
    if (needs_no_quotes(word) && !has_meaning) return std::string(word);
    if (!is_shown_whole(word)) {
        std::string quoted = "$'";
        for (Reader reader(word); !reader.is_at_end();)
            quoted += quoted_as_bytes(reader.next());
        return quoted + "'";
    }
    std::string quoted = "'";
    for (const char c : word) {
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    }
    return quoted + "'";
}

struct ScriptRange {
    char32_t first;
    char32_t last;
    unsigned script;
};

constexpr unsigned latin = 1;
constexpr unsigned greek = 2;
constexpr unsigned cyrillic = 4;
constexpr unsigned another = 8; // an alphabet that is not written together with Latin letters

// The Unicode blocks that contain nearly all letters of these scripts. East Asian ones are missing
// (Unicode's Blocks.txt).
constexpr std::array<ScriptRange, 26> scripts = {{
    {'A', 'Z', latin},          {'a', 'z', latin},           {0xc0, 0xd6, latin},
    {0xd8, 0xf6, latin},        {0xf8, 0x2af, latin},        {0x1d00, 0x1d25, latin},
    {0x1e00, 0x1eff, latin},    {0x2c60, 0x2c7f, latin},     {0xa722, 0xa787, latin},
    {0xa78b, 0xa7ff, latin},    {0xab30, 0xab64, latin},     {0xff21, 0xff3a, latin},
    {0xff41, 0xff5a, latin},    {0x370, 0x3ff, greek},       {0x1f00, 0x1fff, greek},
    {0x400, 0x52f, cyrillic},   {0x1c80, 0x1c8f, cyrillic},  {0x2de0, 0x2dff, cyrillic},
    {0xa640, 0xa69f, cyrillic}, {0x530, 0x10ff, another},    {0x1200, 0x1c7f, another},
    {0x2c00, 0x2c5f, another},  {0x2c80, 0x2ddf, another},   {0xa4d0, 0xa63f, another},
    {0xa6a0, 0xa6ff, another},  {0x10280, 0x10fff, another},
}};

unsigned script_of(char32_t code_point) {
    for (const ScriptRange& range : scripts)
        if (code_point >= range.first && code_point <= range.last) return range.script;
    return 0;
}

// Dashes that people write in sentences. They mislead only in front of a word: –rf.
bool is_dash(char32_t c) {
    return c >= 0x2010 && c <= 0x2015;
}

// A run of letters, digits and characters beyond ASCII.
class Run {
public:
    explicit Run(bool has_neighbour = false) : has_neighbour_(has_neighbour) {}

    void add(char32_t c) {
        scripts_ |= script_of(c);
        const bool is_like_ascii = looks_like_ascii(c) && (!is_dash(c) || length_ == 0);
        ++length_;
        has_ascii_ = has_ascii_ || c < 0x80;
        has_look_alike_ = has_look_alike_ || is_like_ascii;
        has_other_ = has_other_ || (c >= 0x80 && !is_like_ascii);
    }

    // `has_neighbour` says that a character that is no blank follows.
    bool can_mislead(bool has_neighbour) const {
        if ((scripts_ & (scripts_ - 1)) != 0) return true;
        if (!has_look_alike_) return false;
        const bool is_alone = length_ == 1 && !has_neighbour && !has_neighbour_;
        return has_ascii_ || (!has_other_ && !is_alone);
    }

private:
    bool has_neighbour_; // a character that is no blank is before it
    unsigned scripts_ = 0;
    std::size_t length_ = 0;
    bool has_ascii_ = false;
    bool has_look_alike_ = false;
    bool has_other_ = false; // characters that look like nothing in ASCII
};

} // namespace

std::string visible(std::string_view text) {
    std::string result;
    for (Reader reader(text); !reader.is_at_end();) {
        const Reader::Piece piece = reader.next();
        if (piece.bytes == "\\")
            result += "\\\\";
        else if (piece.is_shown)
            result += piece.bytes;
        else
            result += escaped(piece);
    }
    return result;
}

bool has_invisible(std::string_view text) {
    for (Reader reader(text); !reader.is_at_end();) {
        const Reader::Piece piece = reader.next();
        if (!piece.is_shown && piece.bytes != "\n" && piece.bytes != "\t") return true;
    }
    return false;
}

std::string shell_quoted(const std::vector<std::string>& argv) {
    std::string line;
    for (const std::string& word : argv) {
        if (&word != argv.data()) line += ' ';
        line += quoted_word(word, &word == argv.data());
    }
    return line;
}

bool has_mixed_scripts(std::string_view text) {
    Run run;
    for (Reader reader(text); !reader.is_at_end();) {
        const Character character = reader.next().character;
        if (character.is_valid && is_letter_or_digit(character.code_point)) {
            run.add(character.code_point);
            continue;
        }
        const bool is_blank = character.code_point == ' ' || character.code_point == '\n' ||
                              character.code_point == '\t';
        if (run.can_mislead(!is_blank)) return true;
        run = Run(!is_blank);
    }
    return run.can_mislead(false);
}

} // namespace ew::core
