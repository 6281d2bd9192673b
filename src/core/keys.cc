#include "core/keys.h"

#include "base/nearest.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ew::core {

namespace {

constexpr char escape = '\x1b';
constexpr std::size_t most_numbers = 16; // of a sequence; terminals ignore more
constexpr unsigned highest_mode = 99'999;

enum class Form : std::uint8_t {
    bytes,    // `code` itself
    cursor,   // ESC [ code, or ESC O code in application mode
    function, // ESC O code
    tilde,    // ESC [ code ~
    keypad,   // ESC O code in application mode, else the character behind it
};

struct Key {
    std::string_view name;
    Form form;
    std::string_view code;
};

constexpr Key keys[] = {
    {"enter", Form::bytes, "\r"},
    {"tab", Form::bytes, "\t"},
    {"escape", Form::bytes, "\x1b"},
    {"space", Form::bytes, " "},
    {"backspace", Form::bytes, "\x7f"},
    {"up", Form::cursor, "A"},
    {"down", Form::cursor, "B"},
    {"right", Form::cursor, "C"},
    {"left", Form::cursor, "D"},
    {"home", Form::cursor, "H"},
    {"end", Form::cursor, "F"},
    {"insert", Form::tilde, "2"},
    {"delete", Form::tilde, "3"},
    {"page-up", Form::tilde, "5"},
    {"page-down", Form::tilde, "6"},
    {"f1", Form::function, "P"},
    {"f2", Form::function, "Q"},
    {"f3", Form::function, "R"},
    {"f4", Form::function, "S"},
    {"f5", Form::tilde, "15"},
    {"f6", Form::tilde, "17"},
    {"f7", Form::tilde, "18"},
    {"f8", Form::tilde, "19"},
    {"f9", Form::tilde, "20"},
    {"f10", Form::tilde, "21"},
    {"f11", Form::tilde, "23"},
    {"f12", Form::tilde, "24"},
    {"keypad-0", Form::keypad, "p0"},
    {"keypad-1", Form::keypad, "q1"},
    {"keypad-2", Form::keypad, "r2"},
    {"keypad-3", Form::keypad, "s3"},
    {"keypad-4", Form::keypad, "t4"},
    {"keypad-5", Form::keypad, "u5"},
    {"keypad-6", Form::keypad, "v6"},
    {"keypad-7", Form::keypad, "w7"},
    {"keypad-8", Form::keypad, "x8"},
    {"keypad-9", Form::keypad, "y9"},
    {"keypad-enter", Form::keypad, "M\r"},
    {"keypad-plus", Form::keypad, "k+"},
    {"keypad-minus", Form::keypad, "m-"},
    {"keypad-times", Form::keypad, "j*"},
    {"keypad-divide", Form::keypad, "o/"},
    {"keypad-period", Form::keypad, "n."},
};

struct Modifiers {
    bool shift = false;
    bool alt = false;
    bool ctrl = false;

    // Its number in a sequence; 1: none.
    int number() const { return 1 + (shift ? 1 : 0) + (alt ? 2 : 0) + (ctrl ? 4 : 0); }
};

// Removes "ctrl-" and the like from the front of the name.
Modifiers take_modifiers(std::string_view& name) {
    Modifiers found;
    const auto take = [&](std::string_view prefix, bool& flag) {
        if (flag || !name.starts_with(prefix) || name.size() == prefix.size()) return false;
        name.remove_prefix(prefix.size());
        return flag = true;
    };
    while (take("ctrl-", found.ctrl) || take("alt-", found.alt) || take("shift-", found.shift)) {}
    return found;
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Returns the control character that a terminal sends for a key. Returns nullopt if there is none.
std::optional<std::string> with_ctrl(char c) {
    if (is_letter(c) || (c >= '[' && c <= '_') || c == '@')
        return std::string(1, static_cast<char>(c & 0x1f));
    if (c == ' ') return std::string(1, '\0');
    if (c == '/') return "\x1f";
    if (c == '?') return "\x7f";
    if (c == '\x7f') return "\b";
    return std::nullopt;
}

// A key that sends characters. Returns nullopt if it does not exist with these modifiers.
std::optional<std::string> character(std::string_view bytes, Modifiers with) {
    std::string text(bytes);
    const bool is_single = bytes.size() == 1;
    if (with.shift && bytes == "\t" && !with.ctrl) {
        text = "\x1b[Z";
    } else if (with.shift) {
        if (!is_single || !is_letter(bytes[0])) return std::nullopt;
        text[0] = static_cast<char>(bytes[0] & ~0x20);
    }
    if (with.ctrl) {
        std::optional<std::string> control = is_single ? with_ctrl(text[0]) : std::nullopt;
        if (!control) return std::nullopt;
        text = std::move(*control);
    }
    return with.alt ? escape + text : text;
}

std::optional<std::string> special(const Key& key, Modifiers with, const KeyModes& modes) {
    const int number = with.number();
    const bool is_plain = number == 1;
    switch (key.form) {
    case Form::bytes: return character(key.code, with);
    case Form::cursor:
        if (is_plain)
            return fmt::format("\x1b{}{}", modes.application_cursor ? 'O' : '[', key.code);
        return fmt::format("\x1b[1;{}{}", number, key.code);
    case Form::function:
        if (is_plain) return fmt::format("\x1bO{}", key.code);
        return fmt::format("\x1b[1;{}{}", number, key.code);
    case Form::tilde:
        if (is_plain) return fmt::format("\x1b[{}~", key.code);
        return fmt::format("\x1b[{};{}~", key.code, number);
    case Form::keypad:
        if (!is_plain) return std::nullopt;
        if (modes.application_keypad) return fmt::format("\x1bO{}", key.code[0]);
        return std::string(key.code.substr(1));
    }
    return std::nullopt;
}

std::optional<std::string> bytes_of(std::string_view name, Modifiers with, const KeyModes& modes) {
    for (const Key& key : keys)
        if (key.name == name) return special(key, with, modes);
    const Character first = first_character(name);
    const bool is_character = first.is_valid && first.size == name.size() &&
                              first.code_point >= 0x20 && first.code_point != 0x7f;
    return is_character ? character(name, with) : std::nullopt;
}

} // namespace

Result<std::string> key_bytes(std::string_view name, const KeyModes& modes) {
    std::string_view rest = name;
    const Modifiers with = take_modifiers(rest);
    if (std::optional<std::string> bytes = bytes_of(rest, with, modes)) return std::move(*bytes);
    std::vector<std::string_view> names;
    for (const Key& key : keys)
        names.push_back(key.name);
    const auto modifiers = name.substr(0, name.size() - rest.size());
    constexpr std::size_t longest = 32; // bytes; a longer name is no slip
    const bool is_known = std::ranges::find(names, rest) != names.end() || rest.size() == 1;
    std::string advice = "keys are characters and names such as enter, up, f5, ctrl-c, alt-x";
    if (is_known)
        advice = fmt::format("'{}' is a key, but not with these modifiers", rest);
    else if (rest.size() <= longest)
        advice = fmt::format("the nearest is '{}{}'", modifiers, nearest(rest, names));
    return Error{ErrorKind::invalid_params, "there is no such key; " + advice};
}

std::string pasted(std::string_view text, const KeyModes& modes) {
    constexpr std::string_view begin = "\x1b[200~";
    constexpr std::string_view end = "\x1b[201~";
    if (!modes.bracketed_paste) return std::string(text);
    // What is left after a removal may form the sequence anew.
    std::string inner;
    for (const char byte : text) {
        inner += byte;
        if (inner.ends_with(end)) inner.resize(inner.size() - end.size());
    }
    return fmt::format("{}{}{}", begin, inner, end);
}

void KeyModeTracker::feed(std::string_view output) {
    while (!output.empty()) {
        if (state_ == State::text) {
            const std::size_t at = output.find(escape);
            if (at == std::string_view::npos) return;
            output.remove_prefix(at);
        }
        take(output.front());
        output.remove_prefix(1);
    }
}

void KeyModeTracker::take(char byte) {
    if (byte == escape) {
        state_ = State::escape;
        return;
    }
    switch (state_) {
    case State::text: return;
    case State::escape: return after_escape(byte);
    case State::sequence: return after_bracket(byte);
    case State::own: return in_own_sequence(byte);
    case State::soft_reset:
        if (byte == 'p') modes_ = {.bracketed_paste = modes_.bracketed_paste};
        state_ = State::text;
        return;
    }
}

void KeyModeTracker::after_escape(char byte) {
    state_ = byte == '[' ? State::sequence : State::text;
    if (byte == '=') modes_.application_keypad = true;
    if (byte == '>') modes_.application_keypad = false;
    if (byte == 'c') modes_ = {}; // a full reset
}

void KeyModeTracker::after_bracket(char byte) {
    state_ = State::text;
    if (byte == '!') state_ = State::soft_reset;
    if (byte != '?') return;
    state_ = State::own;
    numbers_.assign(1, 0);
}

void KeyModeTracker::in_own_sequence(char byte) {
    if (byte >= '0' && byte <= '9') {
        numbers_.back() =
            std::min(numbers_.back() * 10 + static_cast<unsigned>(byte - '0'), highest_mode);
    } else if (byte == ';' && numbers_.size() < most_numbers) {
        numbers_.push_back(0);
    } else if (byte != ';') {
        if (byte == 'h' || byte == 'l') set(byte == 'h');
        state_ = State::text;
    }
}

void KeyModeTracker::set(bool is_on) {
    constexpr unsigned cursor_keys = 1;
    constexpr unsigned numeric_keypad = 66;
    constexpr unsigned bracketed_paste = 2004;
    for (const unsigned number : numbers_) {
        if (number == cursor_keys) modes_.application_cursor = is_on;
        if (number == numeric_keypad) modes_.application_keypad = is_on;
        if (number == bracketed_paste) modes_.bracketed_paste = is_on;
    }
}

} // namespace ew::core
