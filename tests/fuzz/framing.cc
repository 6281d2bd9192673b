// However bytes are cut into reads, the messages are those of one single read.
#include "protocol/framing.h"

#include "fuzz/scenes.h"

#include <cstring>

namespace ew::fuzz {

namespace {

constexpr std::size_t longest = 64; // small, so that inputs reach it

std::string shown(const protocol::Frame& frame) {
    if (frame.error) {
        require(frame.text.empty());
        return "error: " + frame.error->message;
    }
    require(frame.text.size() <= longest);
    // The parser looks that far, so a sanitizer objects if it is not ours.
    const volatile char* const text = frame.text.data();
    (void)text[frame.text.size() + ByteBuffer::padding - 1];
    return "text: " + std::string(frame.text);
}

std::vector<std::string> frames_of(protocol::Framing framing,
                                   const std::vector<std::string>& reads) {
    protocol::Deframer deframer(framing, longest);
    std::vector<std::string> frames;
    for (const std::string& read : reads) {
        std::memcpy(deframer.reserve(read.size() + 1), read.data(), read.size());
        deframer.commit(read.size());
        while (const auto frame = deframer.next())
            frames.push_back(shown(*frame));
        require(deframer.buffered() <= protocol::Deframer::longest_headers);
    }
    while (const auto frame = deframer.last())
        frames.push_back(shown(*frame));
    return frames;
}

} // namespace

void framing(std::string_view input) {
    // Headers beyond their limit are refused or not, depending on how much comes at once.
    if (input.empty() || input.size() > protocol::Deframer::longest_headers) return;
    const auto framing =
        static_cast<protocol::Framing>(static_cast<unsigned char>(input.front()) % 3);
    const std::vector<std::string> reads = cut(input.substr(1));
    std::string all;
    for (const std::string& read : reads)
        all += read;
    require(frames_of(framing, reads) == frames_of(framing, {all}));
}

} // namespace ew::fuzz
