#include "protocol/framing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <utility>

namespace ew::protocol {

namespace {

constexpr std::string_view blanks = " \t\r\n";

bool is_blank(std::string_view text) {
    return text.find_first_not_of(blanks) == std::string_view::npos;
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}

Frame too_long(std::size_t limit) {
    return {{},
            Error{ErrorKind::limit,
                  fmt::format("the message is longer than {} bytes and was skipped", limit),
                  "split it: process/write takes any number of chunks"}};
}

Frame bad_headers(std::string_view why) {
    return {{}, Error{ErrorKind::parse, fmt::format("bad message headers: {}", why)}};
}

// Returns the value of Content-Length in a block of headers. Returns nullopt if there is none, or
// if it is not a number.
std::optional<std::uint64_t> content_length(std::string_view block) {
    while (!block.empty()) {
        const std::size_t end = std::min(block.find('\n'), block.size());
        std::string_view line = block.substr(0, end);
        block.remove_prefix(std::min(end + 1, block.size()));
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        if (!equals_ignoring_case(line.substr(0, colon), "Content-Length")) continue;
        line.remove_prefix(colon + 1);
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
        while (!line.empty() && is_blank(line.substr(line.size() - 1)))
            line.remove_suffix(1);
        std::uint64_t length = 0;
        const auto parsed = std::from_chars(line.data(), line.data() + line.size(), length);
        if (parsed.ec != std::errc() || parsed.ptr != line.data() + line.size())
            return std::nullopt;
        return length;
    }
    return std::nullopt;
}

} // namespace

std::optional<Frame> Deframer::next() {
    drop_taken();
    decide();
    switch (framing_) {
    case Framing::undecided: return std::nullopt;
    case Framing::lines: return next_line();
    case Framing::headers: return next_after_headers();
    }
    return std::nullopt;
}

std::optional<Frame> Deframer::last() {
    drop_taken();
    if (framing_ == Framing::headers || skipping_line_ || is_blank(buffer_.view()))
        return std::nullopt;
    (void)buffer_.reserve(0); // allocates the padding behind the end
    taken_ = buffer_.size();
    return Frame{buffer_.view(), {}};
}

void Deframer::drop_taken() {
    buffer_.consume(taken_);
    taken_ = 0;
}

void Deframer::decide() {
    if (framing_ != Framing::undecided) return;
    const std::size_t blank = std::min(buffer_.view().find_first_not_of(blanks), buffer_.size());
    buffer_.consume(blank);
    if (buffer_.empty()) return;
    const char first = *buffer_.data();
    framing_ = first == 'C' || first == 'c' ? Framing::headers : Framing::lines;
}

std::optional<Frame> Deframer::next_line() {
    for (;;) {
        const std::string_view text = buffer_.view();
        const void* found = text.size() > searched_ ? std::memchr(text.data() + searched_, '\n',
                                                                  text.size() - searched_)
                                                    : nullptr;
        if (found == nullptr) {
            searched_ = text.size();
            if (searched_ <= longest_ && !skipping_line_) return std::nullopt;
            buffer_.release();
            searched_ = 0;
            if (std::exchange(skipping_line_, true)) return std::nullopt;
            return too_long(longest_);
        }
        const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
        searched_ = 0;
        const bool is_over_the_limit = length > longest_;
        const bool is_nothing = is_blank(text.substr(0, length)) && !is_over_the_limit;
        if (std::exchange(skipping_line_, false) || is_nothing) {
            buffer_.consume(length + 1);
            continue;
        }
        taken_ = length + 1;
        if (is_over_the_limit) return too_long(longest_);
        return Frame{text.substr(0, length), {}};
    }
}

std::optional<Frame> Deframer::next_after_headers() {
    if (is_skipping()) return std::nullopt;
    if (!body_) {
        if (std::optional<Frame> refused = take_headers()) return refused;
        if (!body_) return std::nullopt;
    }
    if (buffer_.size() < *body_) return std::nullopt;
    taken_ = *body_;
    body_.reset();
    return Frame{buffer_.view().substr(0, taken_), {}};
}

// Reads a block of headers: sets body_, waits for more bytes, or returns an error.
std::optional<Frame> Deframer::take_headers() {
    const std::size_t blank = buffer_.view().find_first_not_of(blanks);
    if (blank != 0) buffer_.consume(std::min(blank, buffer_.size()));
    const std::string_view text = buffer_.view();
    std::size_t end = text.find("\r\n\r\n");
    std::size_t separator = 4;
    if (const std::size_t bare = text.find("\n\n"); bare < end) {
        end = bare;
        separator = 2;
    }
    if (end == std::string_view::npos) {
        if (text.size() <= longest_headers) return std::nullopt;
        buffer_.release();
        return bad_headers("they do not end");
    }
    const std::optional<std::uint64_t> length = content_length(text.substr(0, end));
    buffer_.consume(end + separator);
    if (!length) return bad_headers("there is no Content-Length with a number of bytes");
    if (*length > longest_) {
        to_skip_ = *length;
        return too_long(longest_);
    }
    body_ = static_cast<std::size_t>(*length);
    return std::nullopt;
}

bool Deframer::is_skipping() {
    const std::size_t now =
        static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, buffer_.size()));
    buffer_.consume(now);
    to_skip_ -= now;
    return to_skip_ > 0;
}

void write_header(ByteBuffer& out, std::size_t message_size) {
    constexpr std::size_t longest_header = 64;
    char* const at = out.reserve(longest_header);
    char* const end = fmt::format_to(at, "Content-Length: {}\r\n\r\n", message_size);
    out.commit(static_cast<std::size_t>(end - at));
}

} // namespace ew::protocol
