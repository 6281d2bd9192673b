#include "support/testing.h"
#include "transcript/listing.h"

#include <string>

using namespace ew::transcript;

namespace {

std::string shown(std::string_view text) {
    auto steps = parse_transcript(text);
    REQUIRE(steps);
    return listing(text, *steps);
}

} // namespace

TEST_SUITE_BEGIN("transcript");

TEST_CASE("a listing shows the sender, the time and the method of each message") {
    const std::string lines =
        shown("# A scene.\n"
              "# +1.5 ms\n"
              R"(> {"id":1,"method":"exec/command","params":{"command":"ls"}})"
              "\n"
              R"(< {"id":1,"result":{"state":"completed","exitCode":0,...}})"
              "\n! eof\n");

    CHECK(lines ==
          "# A scene.\n"
          "       +1.5 ms  client  exec/command (1): command: ls\n"
          "                server  answer to exec/command (1): exitCode: 0, state: completed\n"
          "                player  eof\n");
}

TEST_CASE("a listing shows errors, output and commands as texts") {
    const std::string lines =
        shown(R"(> {"id":2,"method":"process/start","params":{"argv":["sh","-c","echo a b"]}})"
              "\n"
              R"(< {"method":"process/output","params":{"processId":"p","chunk~":"hi\n"}})"
              "\n"
              R"(< {"id":2,"error":{"code":-1,"message":"no such program"}})"
              "\n> no message\n");

    CHECK(lines.find("process/start (2): argv: sh -c 'echo a b'\n") != std::string::npos);
    CHECK(lines.find("process/output: processId: p, chunk: hi\\n\n") != std::string::npos);
    CHECK(lines.find("error to process/start (2): message: no such program, code: -1\n") !=
          std::string::npos);
    CHECK(lines.find("client  no message\n") != std::string::npos);
}

TEST_CASE("a listing writes nothing that a terminal obeys") {
    const std::string lines = shown(
        "# \x1b[2J\n"
        R"(> {"id":"\u001b[1m","method":"\u001b]0;x\u0007","params":{"\u001b":"\u001b","a":["\u001b"]}})"
        "\n"
        R"(< {"method":"process/output","params":{"chunk~":"\u001b[31m"}})"
        "\n> \x1b[2J\n");

    CHECK(lines.find('\x1b') == std::string::npos);
    CHECK(lines.find('\x07') == std::string::npos);
}

TEST_CASE("a listing cuts long values and long messages") {
    std::string message = R"(> {"method":"m","params":{"a":")" + std::string(5000, 'x') + '"';
    for (int i = 0; i < 100; ++i)
        message += R"(,"m)" + std::to_string(i) + R"(":"äöü")";

    const std::string lines = shown(message + "}}\n");

    CHECK(lines.size() < 500);
    CHECK(lines.find("… (5000 bytes)") != std::string::npos);
    CHECK(lines.find(" more\n") != std::string::npos);
}

TEST_SUITE_END();
