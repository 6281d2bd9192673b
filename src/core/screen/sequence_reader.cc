#include "core/screen/sequence_reader.h"

#include "core/output/utf8.h"
#include "core/text/text.h"

#include <algorithm>
#include <utility>

namespace ew::core {

namespace {

constexpr unsigned char escape = 0x1b;
constexpr unsigned char bell = 0x07;
constexpr unsigned char cancel = 0x18;
constexpr unsigned char substitute = 0x1a;
constexpr unsigned char del = 0x7f;
constexpr std::size_t most_intermediates = 2;

bool is_text(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != del;
}

} // namespace

std::optional<SequenceReader::Token> SequenceReader::next(std::string_view& bytes) {
    while (!bytes.empty()) {
        const bool may_be_text = state_ == State::text;
        if (may_be_text && (is_text(bytes.front()) || !unfinished_.empty())) {
            if (const std::optional<Token> token = text(bytes)) return token;
            continue;
        }
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        if (const std::optional<Token> token = take(byte)) return token;
    }
    return std::nullopt;
}

// Returns nullopt if there is only the beginning of a character so far.
std::optional<SequenceReader::Token> SequenceReader::text(std::string_view& bytes) {
    std::string_view run = bytes.substr(0, longest_text);
    const auto end = std::ranges::find_if_not(run, is_text);
    run = run.substr(0, static_cast<std::size_t>(end - run.begin()));
    bytes.remove_prefix(run.size());
    std::string joined = std::exchange(unfinished_, {});
    if (!joined.empty()) run = joined.append(run);
    // A character that goes on behind the run is not finished.
    if (bytes.empty() || is_text(bytes.front())) {
        const std::size_t tail = unfinished_tail(run);
        unfinished_ = run.substr(run.size() - tail);
        run.remove_suffix(tail);
    }
    if (run.empty()) return std::nullopt;
    text_ = lossy(run);
    return Token{Token::Kind::text, 0, 0, {}, text_};
}

std::optional<SequenceReader::Token> SequenceReader::take(unsigned char byte) {
    const bool is_in_string = state_ == State::string || state_ == State::string_escape;
    if (byte == cancel || byte == substitute) {
        state_ = State::text;
        return std::nullopt;
    }
    if (byte == escape) {
        state_ = is_in_string ? State::string_escape : State::escape;
        intermediates_.clear();
        is_malformed_ = false;
        return std::nullopt;
    }
    if (is_in_string) return in_string(byte);
    if (byte == 0 || byte == del) return std::nullopt;
    if (byte < 0x20) return Token{Token::Kind::control, static_cast<char>(byte), 0, {}, {}};
    switch (state_) {
    case State::escape: return after_escape(byte);
    case State::sequence: return in_sequence(byte);
    case State::text:
    case State::string:
    case State::string_escape: break;
    }
    return std::nullopt;
}

void SequenceReader::note_intermediate(unsigned char byte) {
    if (intermediates_.size() < most_intermediates)
        intermediates_ += static_cast<char>(byte);
    else
        is_malformed_ = true;
}

std::optional<SequenceReader::Token> SequenceReader::after_escape(unsigned char byte) {
    if (byte < 0x30) {
        note_intermediate(byte);
        return std::nullopt;
    }
    state_ = State::text;
    if (byte >= 0x80 || is_malformed_) return std::nullopt;
    if (!intermediates_.empty())
        return Token{Token::Kind::escape, static_cast<char>(byte), 0, intermediates_, {}};
    switch (byte) {
    case '[':
        state_ = State::sequence;
        leader_ = 0;
        numbers_.assign(1, {});
        return std::nullopt;
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
    case 'k': // a title, for screen and tmux
        state_ = State::string;
        is_kept_ = byte == ']';
        string_.clear();
        return std::nullopt;
    default: break;
    }
    return Token{Token::Kind::escape, static_cast<char>(byte), 0, {}, {}};
}

void SequenceReader::note_digit(unsigned char byte) {
    std::optional<unsigned>& value = numbers_.back().value;
    value = std::min(value.value_or(0) * 10 + (byte - static_cast<unsigned>('0')), highest_number);
}

std::optional<SequenceReader::Token> SequenceReader::in_sequence(unsigned char byte) {
    const bool is_at_begin =
        numbers_.size() == 1 && !numbers_[0].value && intermediates_.empty() && leader_ == 0;
    if (byte >= '0' && byte <= '9' && intermediates_.empty()) {
        if (!is_malformed_) note_digit(byte);
    } else if (byte == ';' || byte == ':') {
        numbers_.back().has_part = byte == ':';
        if (numbers_.size() < most_numbers)
            numbers_.emplace_back();
        else
            is_malformed_ = true;
    } else if (byte >= '<' && byte <= '?') {
        is_malformed_ = is_malformed_ || !is_at_begin;
        leader_ = static_cast<char>(byte);
    } else if (byte < '0') {
        note_intermediate(byte);
    } else {
        state_ = State::text;
        if (byte < 0x40 || byte > 0x7e || is_malformed_) return std::nullopt;
        return Token{Token::Kind::sequence, static_cast<char>(byte), leader_, intermediates_, {}};
    }
    return std::nullopt;
}

std::optional<SequenceReader::Token> SequenceReader::in_string(unsigned char byte) {
    if (state_ == State::string_escape && byte != '\\') {
        state_ = State::escape;
        return byte < 0x20 ? std::nullopt : after_escape(byte);
    }
    if (state_ == State::string && byte != bell) {
        if (byte >= 0x20 && is_kept_ && string_.size() < longest_string)
            string_ += static_cast<char>(byte);
        return std::nullopt;
    }
    state_ = State::text;
    if (!is_kept_) return std::nullopt;
    return Token{Token::Kind::string, ']', 0, {}, string_};
}

} // namespace ew::core
