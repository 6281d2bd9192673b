#include "protocol/framing.h"
#include "support/testing.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using ew::protocol::Deframer;
using ew::protocol::Frame;
using ew::protocol::Framing;

namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t longest = 20; // a small limit shows what the large one does

std::string shown(const Frame& frame) {
    if (!frame.error) return std::string(frame.text);
    return frame.error->kind == ew::ErrorKind::limit ? "(too long)" : "(bad headers)";
}

void feed(Deframer& deframer, std::string_view bytes) {
    deframer.commit(bytes.copy(deframer.reserve(bytes.size()), bytes.size()));
}

void take_into(Texts& texts, Deframer& deframer) {
    while (const std::optional<Frame> frame = deframer.next())
        texts.push_back(shown(*frame));
}

// The frames of `bytes` that arrive in pieces of at most `piece`.
Texts frames(std::string_view bytes, std::size_t piece = 1000,
             Framing framing = Framing::undecided) {
    Deframer deframer(framing, longest);
    Texts texts;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        feed(deframer, bytes.substr(at, piece));
        take_into(texts, deframer);
    }
    while (const std::optional<Frame> frame = deframer.last())
        texts.push_back(shown(*frame));
    return texts;
}

Texts framed_by_headers(std::string_view bytes) {
    return frames(bytes, 1000, Framing::headers);
}

} // namespace

TEST_SUITE_BEGIN("protocol/framing");

TEST_CASE("each line is a message") {
    CHECK(frames("{1}\n{2}\n") == Texts{"{1}", "{2}"});
}

TEST_CASE("a carriage return stays in the text, where JSON allows it") {
    CHECK(frames("{1}\r\n{2}\r\n") == Texts{"{1}\r", "{2}\r"});
}

TEST_CASE("blank lines are skipped") {
    CHECK(frames("\n \t\r\n\n{1}\n\r\n\n{2}\n  \n") == Texts{"{1}", "{2}"});
}

TEST_CASE("what is left when the bytes end is a last message") {
    CHECK(frames("{1}\n{2}") == Texts{"{1}", "{2}"});
    CHECK(frames("{1}\n  \r") == Texts{"{1}"});
}

TEST_CASE("a line is a message only when its end has come") {
    Deframer deframer(Framing::lines, longest);
    feed(deframer, "{1");
    CHECK_FALSE(deframer.next().has_value());

    feed(deframer, "}\n");

    CHECK(deframer.next()->text == "{1}");
    CHECK_FALSE(deframer.next().has_value());
}

TEST_CASE("the first byte that is not blank decides between lines and headers") {
    const auto framing_after = [](std::string_view bytes) {
        Deframer deframer(Framing::undecided, longest);
        feed(deframer, bytes);
        (void)deframer.next();
        return deframer.framing();
    };

    CHECK(framing_after("{") == Framing::lines);
    CHECK(framing_after("[") == Framing::lines);
    CHECK(framing_after("x") == Framing::lines);
    CHECK(framing_after("C") == Framing::headers);
    CHECK(framing_after("c") == Framing::headers);
    CHECK(framing_after(" \r\n\tC") == Framing::headers);
    CHECK(framing_after(" \r\n\t") == Framing::undecided);
}

TEST_CASE("a framing that was decided beforehand or once stays") {
    CHECK(frames("Content\n", 1000, Framing::lines) == Texts{"Content"});
    CHECK(frames("{1}\nContent-Length: 2\n") == Texts{"{1}", "Content-Length: 2"});
}

TEST_CASE("headers give the number of bytes of the message behind them") {
    CHECK(frames("Content-Length: 3\r\n\r\n{1}Content-Length: 4\r\n\r\n{\n2}") ==
          Texts{"{1}", "{\n2}"});
}

TEST_CASE("headers are read with any case, any blanks, and others beside them") {
    CHECK(frames("content-length:3\r\n\r\n{1}") == Texts{"{1}"});
    CHECK(frames("CONTENT-LENGTH: \t3 \r\n\r\n{1}") == Texts{"{1}"});
    CHECK(frames("Content-Type: x; y=z\r\nContent-Length: 3\r\nX-Content-Length: 9\r\n\r\n{1}") ==
          Texts{"{1}"});
    CHECK(frames("Content-Length: 3\n\n{1}") == Texts{"{1}"});
}

TEST_CASE("blank bytes between a message and the next headers are skipped") {
    CHECK(frames("Content-Length: 3\r\n\r\n{1}\r\n\nContent-Length: 3\r\n\r\n{2}") ==
          Texts{"{1}", "{2}"});
}

TEST_CASE("a message of no bytes is an empty text") {
    CHECK(frames("Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n5") == Texts{"", "5"});
}

TEST_CASE("headers without a number of bytes are refused, and the next ones may be fine") {
    for (const std::string_view headers :
         {"Content-Type: x", "Content-Length: ", "Content-Length: -1", "Content-Length: 3x",
          "Content-Length: 0x3", "Content-Length: 99999999999999999999", "Content Length: 3"}) {
        CAPTURE(headers);
        CHECK(framed_by_headers(std::string(headers) + "\r\n\r\nContent-Length: 3\r\n\r\n{1}") ==
              Texts{"(bad headers)", "{1}"});
    }
}

TEST_CASE("headers that do not end are refused at their limit") {
    const std::string headers =
        "Content-Length: 3\r\n" + std::string(Deframer::longest_headers, 'x');

    CHECK(frames(headers) == Texts{"(bad headers)"});
}

TEST_CASE("a message that is cut off behind headers is not given") {
    CHECK(frames("Content-Length: 5\r\n\r\n{1}").empty());
}

TEST_CASE("however the bytes of lines are split, the messages are the same") {
    const std::string bytes =
        "\r\n {\"a\": 1}\r\n\n{\"b\": 2}\nthis line is longer than the limit\n{3}";
    const Texts expected = frames(bytes);
    CHECK(expected == Texts{"{\"a\": 1}\r", "{\"b\": 2}", "(too long)", "{3}"});

    for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
        CAPTURE(piece);
        CHECK(frames(bytes, piece) == expected);
    }
}

TEST_CASE("however the bytes of headers are split, the messages are the same") {
    const std::string bytes = "\r\nContent-Length: 3\r\nA: b\r\n\r\n{1}Content-Length: 21\r\n\r\n"
                              "012345678901234567890content-length: 4\n\n{\n2}C: x\r\n\r\n"
                              "Content-Length: 1\r\n\r\n3";
    const Texts expected = frames(bytes);
    CHECK(expected == Texts{"{1}", "(too long)", "{\n2}", "(bad headers)", "3"});

    for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
        CAPTURE(piece);
        CHECK(frames(bytes, piece) == expected);
    }
}

TEST_CASE("every single place to split a pair of messages gives both") {
    for (const std::string bytes : {"{\"a\": 1}\r\n{\"b\": 2}\n",
                                    "Content-Length: 3\r\n\r\n{1}Content-Length: 3\r\n\r\n{2}"}) {
        const Texts expected = frames(bytes);
        REQUIRE(expected.size() == 2);
        for (std::size_t at = 0; at <= bytes.size(); ++at) {
            Deframer deframer(Framing::undecided, longest);
            Texts texts;
            for (const std::string& part : {bytes.substr(0, at), bytes.substr(at)}) {
                feed(deframer, part);
                take_into(texts, deframer);
            }
            CAPTURE(at);
            REQUIRE(texts == expected);
        }
    }
}

TEST_CASE("a line of exactly the limit is a message, one byte more is too long") {
    CHECK(frames(std::string(longest, 'x') + "\n{1}\n") == Texts{std::string(longest, 'x'), "{1}"});
    CHECK(frames(std::string(longest + 1, 'x') + "\n{1}\n") == Texts{"(too long)", "{1}"});
}

TEST_CASE("a line that is too long is refused once and skipped without being kept") {
    Deframer deframer(Framing::lines, longest);
    Texts texts;
    std::size_t most = 0;
    for (int i = 0; i < 1000; ++i) {
        feed(deframer, "0123456789");
        take_into(texts, deframer);
        most = std::max(most, deframer.buffered());
    }
    feed(deframer, "\n{1}\n");
    take_into(texts, deframer);

    CHECK(texts == Texts{"(too long)", "{1}"});
    CHECK(most <= longest);
}

TEST_CASE("a message behind headers that is too long is refused at once and skipped unkept") {
    Deframer deframer(Framing::headers, longest);
    Texts texts;
    feed(deframer, "Content-Length: 10000\r\n\r\n");
    take_into(texts, deframer);
    CHECK(texts == Texts{"(too long)"});

    for (int i = 0; i < 1000; ++i) {
        feed(deframer, "0123456789");
        take_into(texts, deframer);
        REQUIRE(deframer.buffered() == 0);
    }
    feed(deframer, "Content-Length: 3\r\n\r\n{1}");
    take_into(texts, deframer);

    CHECK(texts == Texts{"(too long)", "{1}"});
}

TEST_CASE("a line that is too long and never ends is not a last message") {
    CHECK(frames(std::string(longest + 1, 'x')) == Texts{"(too long)"});
    CHECK(frames(std::string(longest * 10, 'x'), 7) == Texts{"(too long)"});
}

TEST_CASE("the error of a message that is too long names the limit") {
    Deframer deframer(Framing::lines, longest);
    feed(deframer, std::string(longest + 1, 'x') + "\n");

    const std::optional<Frame> frame = deframer.next();

    REQUIRE(frame.has_value());
    CHECK(frame->error->message == "the message is longer than 20 bytes and was skipped");
}

TEST_CASE("a written header is understood by the reading side") {
    ew::ByteBuffer out;
    ew::protocol::write_header(out, 3);
    out.append("{1}");

    CHECK(out.view() == "Content-Length: 3\r\n\r\n{1}");
    CHECK(frames(out.view()) == Texts{"{1}"});
}

TEST_SUITE_END();
