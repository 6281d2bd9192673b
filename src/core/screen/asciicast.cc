#include "core/screen/asciicast.h"

#include "core/output/utf8.h"
#include "json/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::core {

namespace {

std::string quoted(std::string_view text) {
    ByteBuffer out;
    json::write_string(out, text);
    return std::string(out.view());
}

std::string header_of(CastVersion version, const CastHeader& header) {
    const auto [rows, columns] = header.size;
    const bool is_second = version == CastVersion::v2;
    std::string line =
        is_second ? fmt::format(R"({{"version":2,"width":{},"height":{})", columns, rows)
                  : fmt::format(R"({{"version":3,"term":{{"cols":{},"rows":{})", columns, rows);
    if (!is_second && !header.terminal.empty())
        line += fmt::format(R"(,"type":{})", quoted(header.terminal));
    if (!is_second) line += '}';
    if (header.began_at) line += fmt::format(R"(,"timestamp":{})", *header.began_at);
    if (!header.command.empty()) line += fmt::format(R"(,"command":{})", quoted(header.command));
    if (is_second && !header.terminal.empty())
        line += fmt::format(R"(,"env":{{"TERM":{}}})", quoted(header.terminal));
    return line + "}\n";
}

} // namespace

Asciicast::Asciicast(CastVersion version, const CastHeader& header) : version_(version) {
    text_.append(std::string_view(header_of(version, header)));
}

// Version 3 has the time since the event before. It is the difference of whole milliseconds, so no
// error of rounding adds up.
void Asciicast::event(Millis at, std::string_view code, std::string_view text) {
    const Millis now = std::max(at, last_);
    const auto shown = (version_ == CastVersion::v2 ? now : now - last_).count();
    last_ = now;
    text_.append(
        std::string_view(fmt::format(R"([{}.{:03}, "{}", )", shown / 1000, shown % 1000, code)));
    json::write_string(text_, text);
    text_.append(std::string_view("]\n"));
}

void Asciicast::output(Millis at, std::string_view bytes) {
    std::string text = std::exchange(unfinished_, {});
    text.append(bytes);
    const std::size_t tail = unfinished_tail(text);
    unfinished_ = text.substr(text.size() - tail);
    text.resize(text.size() - tail);
    if (!text.empty()) event(at, "o", text);
}

void Asciicast::flush() {
    if (!unfinished_.empty()) event(last_, "o", std::exchange(unfinished_, {}));
}

void Asciicast::resize(Millis at, ScreenSize size) {
    event(at, "r", fmt::format("{}x{}", size.cols, size.rows));
}

void Asciicast::marker(Millis at, std::string_view text) {
    event(at, "m", text);
}

void Asciicast::exit(Millis at, std::int64_t code) {
    flush();
    if (version_ == CastVersion::v3) event(at, "x", fmt::format("{}", code));
}

std::string Asciicast::take() {
    flush();
    return std::string(text_.view());
}

} // namespace ew::core
