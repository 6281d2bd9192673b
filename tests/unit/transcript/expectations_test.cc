#include "support/testing.h"
#include "transcript/expectations.h"

#include <fmt/format.h>

using ew::transcript::Discord;
using ew::transcript::Expectations;
using ew::transcript::Matcher;
using ew::transcript::parse_node;
using ew::transcript::parse_transcript;
using ew::transcript::Shapes;
using ew::transcript::Step;

namespace {

// The process "p" has been started, and the transcript goes on with `text`.
struct Scene {
    explicit Scene(std::string_view text)
        : steps(*parse_transcript("< {\"id\":0,\"result\":{...}}\n" + std::string(text))),
          expectations(*Expectations::make(steps, shapes, matcher)) {
        expectations.note_sent(
            *parse_node(R"({"id":0,"method":"process/start","params":{"processId":"p"}})"));
        REQUIRE_FALSE(says(R"({"id":0,"result":{}})"));
    }

    std::optional<Discord> says(std::string_view message) {
        return expectations.take(*parse_node(message));
    }

    std::optional<Discord> prints(int seq, std::string_view stream, std::string_view chunk) {
        return says(fmt::format(R"({{"method":"process/output","params":{{"processId":"p",)"
                                R"("seq":{},"stream":"{}","chunk":"{}"}}}})",
                                seq, stream, chunk));
    }

    std::optional<Discord> exits(int seq) {
        return says(fmt::format(
            R"({{"method":"process/exited","params":{{"processId":"p","seq":{}}}}})", seq));
    }

    // Step 0 is the start.
    bool has_met(std::size_t step) const { return expectations.is_met(step); }

    Shapes shapes = *Shapes::parse(R"({"methods":[]})", R"({"$defs":{}})");
    Matcher matcher{shapes};
    std::vector<Step> steps;
    Expectations expectations;
};

constexpr std::string_view hi_there =
    "< {\"method\":\"process/output\",\"params\":{\"processId\":\"p\",\"stream\":\"stdout\","
    "\"chunk~\":\"hi \",...}}\n"
    "< {\"method\":\"process/output\",\"params\":{\"processId\":\"p\",\"stream\":\"stdout\","
    "\"chunk~\":\"there\",...}}\n";
constexpr std::string_view exited =
    "< {\"method\":\"process/exited\",\"params\":{\"processId\":\"p\",...}}\n";

} // namespace

TEST_SUITE_BEGIN("transcript");

TEST_CASE("output may be cut anywhere") {
    Scene scene{std::string(hi_there) + std::string(exited)};

    CHECK_FALSE(scene.prints(1, "stdout", "aA=="));
    CHECK_FALSE(scene.has_met(1));
    CHECK_FALSE(scene.prints(2, "stdout", "aSB0aGU="));
    CHECK(scene.has_met(1));
    CHECK_FALSE(scene.has_met(2));
    CHECK_FALSE(scene.prints(3, "stdout", "cmU="));
    CHECK(scene.has_met(2));
    CHECK_FALSE(scene.exits(4));
    CHECK(scene.has_met(3));
}

TEST_CASE("output that differs, is too much or too little is found") {
    CHECK(Scene(hi_there).prints(1, "stdout", "aG8=")->difference.got == "\"ho\"");
    CHECK(Scene(hi_there).prints(1, "stdout", "aGkgdGhlcmUh"));
    CHECK(Scene(hi_there).prints(1, "stderr", "aGk="));
    CHECK(Scene(std::string(hi_there) + std::string(exited)).exits(1)->line == 2);
}

TEST_CASE("the two streams of a process have no order") {
    const std::string err = "< {\"method\":\"process/output\",\"params\":{\"processId\":\"p\","
                            "\"stream\":\"stderr\",\"chunk~\":\"e\",...}}\n";
    Scene scene{std::string(hi_there) + err + std::string(exited)};

    CHECK_FALSE(scene.prints(1, "stderr", "ZQ=="));
    CHECK_FALSE(scene.prints(2, "stdout", "aGkgdGhlcmU="));
    CHECK_FALSE(scene.exits(3));
}

TEST_CASE("a line of output without a chunk takes all that follows") {
    Scene scene{"< {\"method\":\"process/output\",\"params\":{\"processId\":\"p\","
                "\"stream\":\"stdout\",...}}\n" +
                std::string(exited)};

    CHECK_FALSE(scene.prints(1, "stdout", "aGk="));
    CHECK(scene.has_met(1));
    CHECK_FALSE(scene.prints(2, "stdout", "aGk="));
    CHECK_FALSE(scene.exits(3));
}

TEST_CASE("a gap in the count of a process is found, whatever the transcript says") {
    CHECK(Scene(hi_there).prints(2, "stdout", "aA==")->difference.path == "params.seq");

    Scene scene(hi_there);
    CHECK_FALSE(scene.prints(1, "stdout", "aA=="));
    CHECK(scene.prints(1, "stdout", "aQ==")->difference.expected == "2");
}

TEST_CASE("replies are found by their id, and answer something") {
    Scene scene{"< {\"id\":1,\"result\":1}\n< {\"id\":2,\"result\":2}\n"};
    scene.expectations.note_sent(*parse_node(R"({"id":2,"method":"b"})"));

    CHECK_FALSE(scene.says(R"({"id":2,"result":2})"));
    CHECK(scene.has_met(2));
    CHECK(scene.says(R"({"id":1,"result":1})")->what == "this answers nothing that was asked");
}

TEST_CASE("what nobody expects is found") {
    Scene scene(exited);

    CHECK(scene.says(R"({"method":"execward/warning","params":{}})"));
    CHECK(scene.says(R"({"method":"process/closed","params":{"processId":"q","seq":1}})"));
    CHECK_FALSE(scene.exits(1));
    CHECK(scene.exits(2)->what == "this message is not expected");
}

TEST_SUITE_END();
