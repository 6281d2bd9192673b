#include "support/testing.h"
#include "transcript/recorded_cast.h"

#include <string>
#include <string_view>

using namespace ew;
using namespace ew::transcript;

namespace {

Result<std::string> cast_of(std::string_view text, const std::string& process = "",
                            core::CastVersion version = core::CastVersion::v3) {
    auto steps = parse_transcript(text);
    REQUIRE(steps);
    return recorded_cast(text, *steps, process, version);
}

std::string made(Result<std::string> cast) {
    REQUIRE(cast);
    return *cast;
}

constexpr std::string_view of_process =
    "# +100.0 ms\n"
    R"(> {"id":2,"method":"process/start","params":{"processId":"p","argv":["sh","-c","a b"],"tty":true,"size":{"rows":5,"cols":40}}})"
    "\n# +112.7 ms\n"
    R"(< {"method":"process/output","params":{"processId":"p","stream":"pty","chunk~":"one\r\n"}})"
    "\n# +150.0 ms\n"
    R"(> {"id":3,"method":"process/resize","params":{"processId":"p","size":{"rows":6,"cols":50}}})"
    "\n# +200.0 ms\n"
    R"(< {"method":"process/output","params":{"processId":"p","stream":"pty","chunk":"/w=="}})"
    "\n"
    R"(< {"method":"process/exited","params":{"processId":"p","exitCode":1}})"
    "\n";

constexpr std::string_view of_command =
    "# +10.0 ms\n"
    R"(> {"id":7,"method":"exec/command","params":{"command":"make","tty":true}})"
    "\n# +20.0 ms\n"
    R"(< {"method":"exec/begin","params":{"callId":"7","processId":"1000"}})"
    "\n# +30.0 ms\n"
    R"(< {"method":"exec/outputDelta","params":{"callId":"7","processId":"1000","stream":"pty","delta":"done"}})"
    "\n"
    R"(< {"method":"exec/end","params":{"callId":"7","processId":"1000","exitCode":0}})"
    "\n";

} // namespace

TEST_SUITE_BEGIN("transcript/cast");

TEST_CASE("a cast has the output, the sizes and the end of a terminal, from its start on") {
    CHECK(made(cast_of(of_process)) ==
          R"({"version":3,"term":{"cols":40,"rows":5},"command":"sh -c 'a b'"})"
          "\n[0.012, \"o\", \"one\\r\\n\"]\n"
          "[0.038, \"r\", \"50x6\"]\n"
          "[0.050, \"o\", \"\xef\xbf\xbd\"]\n"
          "[0.000, \"x\", \"1\"]\n");
    CHECK(made(cast_of(of_command, "", core::CastVersion::v2)) ==
          R"({"version":2,"width":80,"height":24,"command":"make"})"
          "\n[0.010, \"o\", \"done\"]\n");
}

TEST_CASE("of several terminals one has to be named") {
    const std::string both = std::string(of_process) + std::string(of_command);

    CHECK(cast_of(both).error().message == "2 processes of this session have a terminal: p, 1000");
    CHECK(made(cast_of(both, "1000")).find("done") != std::string::npos);
    CHECK(cast_of(both, "q").error().hint == "these have one: p, 1000");
}

TEST_CASE("pipes and transcripts without times make no cast") {
    CHECK(cast_of("# +1.0 ms\n> {\"id\":2,\"method\":\"process/start\",\"params\":{\"processId\":"
                  "\"p\",\"argv\":[\"a\"],\"tty\":false}}\n")
              .error()
              .message == "no process of this session has a terminal");
    CHECK(cast_of("! eof\n").error().message == "this transcript has no times");
}

TEST_SUITE_END();
