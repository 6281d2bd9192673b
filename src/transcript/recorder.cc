#include "transcript/recorder.h"

#include "base/byte_buffer.h"
#include "base/log.h"
#include "json/base64.h"
#include "json/writer.h"
#include "transcript/node.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace ew::transcript {

namespace {

// A member "chunk" with a string: the position of the member, and the string's text.
struct Chunk {
    std::size_t begin = 0;
    std::size_t text_begin = 0;
    std::size_t text_end = 0;
};

constexpr std::string_view member = "\"chunk\"";

// Searches the text and does not parse it, because the parser's limits must not apply. Inside a
// string every quote follows a backslash, so `"chunk"` before a colon is a member.
std::optional<Chunk> find_chunk(std::string_view message, std::size_t from) {
    constexpr std::string_view blanks = " \t\r\n";
    for (;;) {
        const std::size_t begin = message.find(member, from);
        if (begin == std::string_view::npos) return std::nullopt;
        from = begin + member.size();
        const std::size_t colon = std::min(message.find_first_not_of(blanks, from), message.size());
        if (message.substr(colon, 1) != ":" || (begin > 0 && message[begin - 1] == '\\')) continue;
        const std::size_t quote =
            std::min(message.find_first_not_of(blanks, colon + 1), message.size());
        const std::size_t end = message.find('"', quote + 1);
        if (message.substr(quote, 1) != "\"" || end == std::string_view::npos) continue;
        return Chunk{begin, quote + 1, end};
    }
}

void hide(Node& node, std::string_view name) {
    const std::optional<std::string> bytes =
        name == "chunk" ? json::decode_base64(node.text) : std::nullopt;
    if (node.is_text()) node.text = std::string(bytes.value_or(node.text).size(), '*');
    if (bytes) {
        ByteBuffer encoded;
        json::write_base64(encoded, node.text);
        node.text = encoded.view().substr(1, encoded.view().size() - 2); // without quotes
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
        const bool is_named = i < node.names.size();
        if (!is_named || node.names[i] != "processId")
            hide(node.items[i], is_named ? node.names[i] : name);
    }
}

} // namespace

// A member may occur twice, so all of them are looked at.
std::string without_input(std::string_view message) {
    Result<Node> node = parse_node(message);
    if (!node) return "{}"; // nested too deeply
    for (std::size_t i = 0; i < node->names.size(); ++i)
        if (node->names[i] == "params") hide(node->items[i], "params");
    return to_json(*node);
}

std::string readable(std::string_view message) {
    ByteBuffer out;
    std::size_t copied = 0;
    std::size_t searched = 0;
    while (const std::optional<Chunk> chunk = find_chunk(message, searched)) {
        searched = chunk->text_end;
        const std::string_view base64 =
            message.substr(chunk->text_begin, chunk->text_end - chunk->text_begin);
        const std::optional<std::string> bytes = json::decode_base64(base64);
        if (!bytes || !is_utf8(*bytes)) continue;
        out.append(message.substr(copied, chunk->begin - copied));
        out.append(std::string_view("\"chunk~\":"));
        json::write_string(out, *bytes);
        copied = chunk->text_end + 1;
    }
    out.append(message.substr(copied));
    std::string line(out.view());
    // A message framed by headers may have newlines between its tokens.
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return line;
}

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& path) {
    UniqueFd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!file)
        return Error{ErrorKind::internal,
                     fmt::format("cannot record to '{}': {}", path, strerror(errno))};
    return std::unique_ptr<Recorder>(new Recorder(std::move(file)));
}

void Recorder::record(char direction, std::string_view message) {
    const double elapsed = std::chrono::duration<double, std::milli>(clock_now() - begun_).count();
    std::string text = fmt::format("# +{:.1f} ms\n{} {}\n", elapsed, direction, readable(message));
    if (lost_ > 0) text.insert(0, fmt::format("\n# {} messages are missing here\n", lost_));
    const ssize_t count = ::write(file_.get(), text.data(), text.size());
    const std::size_t written = count < 0 ? 0 : static_cast<std::size_t>(count);
    if (written == text.size())
        lost_ = 0;
    else
        note_loss(count < 0 ? strerror(errno) : "only a part could be written", written);
}

void Recorder::note_loss(std::string_view reason, std::size_t written) {
    ++lost_;
    // An incomplete line would look like a message, so it is removed.
    const off_t end = ::lseek(file_.get(), 0, SEEK_CUR);
    const off_t whole = end - static_cast<off_t>(written);
    if (end >= 0 && ::ftruncate(file_.get(), whole) == 0)
        (void)::lseek(file_.get(), whole, SEEK_SET); // cannot fail: the position was read just now
    if (std::exchange(has_complained_, true)) return;
    log::warning("recorder", "messages are missing in the recording: {}", reason);
}

} // namespace ew::transcript
