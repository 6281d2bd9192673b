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

    std::optional<Discord> shows(int seq, std::string_view stream, std::string_view delta) {
        return says(fmt::format(R"({{"method":"exec/outputDelta","params":{{"callId":"c",)"
                                R"("processId":"1000","seq":{},"stream":"{}","delta":"{}"}}}})",
                                seq, stream, delta));
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
// The same of a command, and what the server sends with it.
constexpr std::string_view command_says_hi_there =
    "< {\"method\":\"exec/begin\",\"params\":{\"callId\":\"c\",...}}\n"
    "< {\"method\":\"exec/outputDelta\",\"params\":{\"callId\":\"c\",\"stream\":\"stdout\","
    "\"delta\":\"hi \",...}}\n"
    "< {\"method\":\"exec/outputDelta\",\"params\":{\"callId\":\"c\",\"stream\":\"stdout\","
    "\"delta\":\"there\",...}}\n"
    "< {\"method\":\"exec/end\",\"params\":{\"callId\":\"c\",...}}\n";
constexpr std::string_view begin =
    R"({"method":"exec/begin","params":{"callId":"c","processId":"1000"}})";
constexpr std::string_view end =
    R"({"method":"exec/end","params":{"callId":"c","processId":"1000"}})";
constexpr std::string_view question =
    "< {\"id\":\"$q\",\"method\":\"approval/request\",\"params\":{\"callId\":\"c\",...}}\n";
constexpr std::string_view asks =
    R"({"id":"ask-1","method":"approval/request","params":{"callId":"c"}})";
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

TEST_CASE("the text of a command may be cut anywhere") {
    Scene scene{command_says_hi_there};

    CHECK_FALSE(scene.says(begin));
    CHECK_FALSE(scene.shows(1, "stdout", "h"));
    CHECK_FALSE(scene.has_met(2));
    CHECK_FALSE(scene.shows(2, "stdout", "i the"));
    CHECK(scene.has_met(2));
    CHECK_FALSE(scene.shows(4, "stdout", "re"));
    CHECK(scene.has_met(3));
    CHECK_FALSE(scene.says(end));
}

TEST_CASE("text of a command that differs, is too much or too little is found") {
    Scene not_begun{command_says_hi_there};
    CHECK(not_begun.shows(1, "stdout", "hi"));

    Scene scene{command_says_hi_there};
    REQUIRE_FALSE(scene.says(begin));
    CHECK(scene.shows(1, "stdout", "ho")->difference.got == "\"ho\"");
    CHECK(scene.shows(2, "stdout", "hi there!"));
    CHECK(scene.shows(3, "stderr", "hi"));
    CHECK(scene.says(end)->line == 3);
}

TEST_CASE("a line of text without a delta takes all that follows, and a delta is literal") {
    Scene scene{"< {\"method\":\"exec/begin\",\"params\":{\"callId\":\"c\",...}}\n"
                "< {\"method\":\"exec/outputDelta\",\"params\":{\"callId\":\"c\","
                "\"stream\":\"stdout\",\"delta\":\"$HOME\",...}}\n"
                "< {\"method\":\"exec/outputDelta\",\"params\":{\"callId\":\"c\","
                "\"stream\":\"stdout\",...}}\n"};

    CHECK_FALSE(scene.says(begin));
    CHECK_FALSE(scene.shows(1, "stdout", "$HOME"));
    CHECK_FALSE(scene.has_met(3));
    CHECK_FALSE(scene.shows(2, "stdout", "and"));
    CHECK(scene.has_met(3));
    CHECK_FALSE(scene.shows(3, "stdout", "more"));
}

TEST_CASE("the numbers of a command's text grow, whatever the transcript says") {
    Scene scene{command_says_hi_there};
    CHECK(scene.shows(1, "stdout", "hi")->what == "this came before the command began");
    CHECK_FALSE(scene.says(begin));

    CHECK(scene.shows(0, "stdout", "hi")->difference.path == "params.seq");
    CHECK_FALSE(scene.shows(3, "stdout", "hi"));
    CHECK(scene.shows(3, "stdout", " ")->difference.expected == "more than 3");
}

TEST_CASE("questions and events of one call come in the order written") {
    const std::string text = std::string(question) + std::string(command_says_hi_there);
    Scene scene{text};
    Scene hasty{text};

    CHECK_FALSE(scene.says(asks));
    CHECK_FALSE(scene.says(begin));
    CHECK(hasty.says(begin)->line == 2);
}

TEST_CASE("calls have no order among each other") {
    Scene scene{std::string(question) +
                "< {\"method\":\"exec/attempt\",\"params\":{\"callId\":\"d\",...}}\n"};

    CHECK_FALSE(scene.says(R"({"method":"exec/attempt","params":{"callId":"d"}})"));
    CHECK_FALSE(scene.says(asks));
}

TEST_CASE("a name stands for the id of a question when it is answered and withdrawn") {
    Scene scene{std::string(question) +
                "< {\"method\":\"$/cancelRequest\",\"params\":{\"id\":\"$q\"}}\n"};
    REQUIRE_FALSE(scene.says(asks));
    const ew::transcript::Node answer =
        scene.matcher.expanded(*parse_node(R"({"id":"$q","result":{"decision":"approved"}})"));

    CHECK(answer.text_of("id") == "ask-1");
    CHECK(scene.says(R"({"method":"$/cancelRequest","params":{"id":"ask-2"}})"));
}

TEST_CASE("a question and a request may have the same id") {
    Scene scene{"< {\"id\":1,\"method\":\"approval/request\",\"params\":{\"callId\":\"c\"}}\n"
                "< {\"id\":1,\"result\":5}\n"};
    scene.expectations.note_sent(*parse_node(R"({"id":1,"method":"b"})"));
    CHECK_FALSE(scene.says(R"({"id":1,"method":"approval/request","params":{"callId":"c"}})"));

    scene.expectations.note_sent(*parse_node(R"({"id":1,"result":{"decision":"denied"}})"));
    CHECK_FALSE(scene.says(R"({"id":1,"result":5})"));
    CHECK(scene.says(R"({"id":1,"result":5})")->what == "this answers nothing that was asked");
}

TEST_CASE("a message about a call that does not spell out the call, or its text, is refused") {
    const auto failure_of = [](std::string_view text) {
        const Shapes shapes = *Shapes::parse(R"({"methods":[]})", R"({"$defs":{}})");
        Matcher matcher{shapes};
        const std::vector<Step> steps = *parse_transcript(text);
        auto made = Expectations::make(steps, shapes, matcher);
        return made ? std::string() : made.error().message;
    };

    CHECK(failure_of("\n< {\"method\":\"exec/begin\",\"params\":{...}}").starts_with("2: "));
    CHECK(failure_of("< {\"method\":\"exec/begin\",\"params\":{\"callId\":\"$c\"}}") != "");
    CHECK(failure_of("< {\"method\":\"exec/outputDelta\",\"params\":{\"callId\":\"c\","
                     "\"delta\":\"\"}}") != "");
    CHECK(failure_of("< {\"method\":\"exec/outputDelta\",\"params\":{\"callId\":\"c\","
                     "\"delta*\":\"part\"}}") != "");
    CHECK(failure_of(command_says_hi_there).empty());
}

TEST_CASE("what nobody expects is found") {
    Scene scene(exited);

    CHECK(scene.says(R"({"method":"execward/warning","params":{}})"));
    CHECK(scene.says(R"({"method":"process/closed","params":{"processId":"q","seq":1}})"));
    CHECK_FALSE(scene.exits(1));
    CHECK(scene.exits(2)->what == "this message is not expected");
}

TEST_SUITE_END();
