#include "support/testing.h"
#include "transcript/format.h"

using ew::transcript::is_name;
using ew::transcript::Node;
using ew::transcript::parse_transcript;
using ew::transcript::Step;
using ew::transcript::to_json;

namespace {

std::vector<Step> steps_of(std::string_view text) {
    auto steps = parse_transcript(text);
    REQUIRE(steps);
    return *steps;
}

Step step_of(std::string_view line) {
    std::vector<Step> steps = steps_of(line);
    REQUIRE(steps.size() == 1);
    return steps.front();
}

std::string failure_of(std::string_view text) {
    auto steps = parse_transcript(text);
    REQUIRE_FALSE(steps);
    return steps.error().message;
}

} // namespace

TEST_SUITE_BEGIN("transcript");

TEST_CASE("steps know their line; comments and empty lines are none") {
    const std::vector<Step> steps = steps_of("# promise\n\n> {\"id\":1}\n  \n< {\"id\":1}\n! eof");

    REQUIRE(steps.size() == 3);
    CHECK(steps[0].kind == Step::Kind::send);
    CHECK(steps[0].line == 3);
    CHECK(steps[1].kind == Step::Kind::expect);
    CHECK(steps[1].line == 5);
    CHECK(steps[2].kind == Step::Kind::end_of_input);
}

TEST_CASE("directives carry their number") {
    CHECK(step_of("! exit 70").number == 70);
    CHECK(step_of("! nothing within 250 ms").number == 250);
    CHECK(step_of("! nothing within 250 ms").kind == Step::Kind::nothing);
}

TEST_CASE("three dots leave an object or the end of an array open") {
    const Node message = *step_of(R"(< {"a":[1,...],"b":{...},"c":"...",...})").message;

    CHECK(message.is_open);
    CHECK(message.find("a")->is_open);
    CHECK(message.find("b")->is_open);
    CHECK(message.find("c")->text == "...");
    CHECK(to_json(message) == R"({"a":[1,...],"b":{...},"c":"...",...})");
}

TEST_CASE("three dots inside text with quotes and brackets stay text") {
    const Node message = *step_of(R"(< {"a":"[\"...","b":["]{..."]})").message;

    CHECK(message.text_of("a") == "[\"...");
    CHECK_FALSE(message.find("b")->is_open);
}

TEST_CASE("a member with ~ stands for the base64 of its text") {
    CHECK(to_json(*step_of(R"(< {"chunk~":"hi\n"})").message) == R"({"chunk":"aGkK"})");
    CHECK(to_json(*step_of(R"(> {"params":{"chunk~":"ü"}})").message) ==
          R"({"params":{"chunk":"w7w="}})");
}

TEST_CASE("a member with * holds a part of the text that is expected") {
    const Node message = *step_of(R"(< {"error":{"message*":"no such",...}})").message;

    CHECK(message.find("error", "message")->text == "no such");
    CHECK(message.find("error", "message")->is_open);
    CHECK(to_json(message) == R"({"error":{"message*":"no such",...}})");
}

TEST_CASE("in a line of the client a * at the end of a name is just that") {
    const Step step = step_of(R"(> {"env":{"A*":"b"}})");

    CHECK(step.is_verbatim);
    CHECK(step.message->find("env")->text_of("A*") == "b");
}

TEST_CASE("a line of the client is sent as it stands unless something in it stands for something") {
    CHECK(step_of(R"(> {"id": 1.0, "id": 2})").is_verbatim);
    CHECK_FALSE(step_of(R"(> {"cwd":"$dir"})").is_verbatim);
    CHECK_FALSE(step_of(R"(> {"chunk~":""})").is_verbatim);

    const Step broken = step_of("> {\"id\":");
    CHECK_FALSE(broken.message.has_value());
    CHECK(broken.text == "{\"id\":");
}

TEST_CASE("a name is a dollar and a word") {
    CHECK(is_name("$session"));
    CHECK(is_name("$a_1"));
    CHECK_FALSE(is_name("$"));
    CHECK_FALSE(is_name("$1"));
    CHECK_FALSE(is_name("$HOME/x"));
    CHECK_FALSE(is_name("session"));
}

TEST_CASE("a server can be killed, and another can follow it") {
    const std::vector<Step> steps = steps_of("! kill\n! exit 137\n! restart\n> {}");

    REQUIRE(steps.size() == 4);
    CHECK(steps[0].kind == Step::Kind::kill);
    CHECK(steps[2].kind == Step::Kind::restart);
    CHECK(failure_of("! restart").starts_with("1: "));
    CHECK(failure_of("! kill\n> {}").starts_with("2: "));
    CHECK(failure_of("! exit 0\n! restart\n! restart").starts_with("3: "));
}

TEST_CASE("the first line can give the server options") {
    const Step step = step_of("! options --database=:memory:  --log-level debug");

    CHECK(step.kind == Step::Kind::options);
    CHECK(step.words() == std::vector<std::string>{"--database=:memory:", "--log-level", "debug"});
    CHECK(failure_of("> {}\n! options --test-ids").starts_with("2: "));
}

TEST_CASE("settings of the server come before all messages") {
    const std::vector<Step> steps = steps_of(
        "! options --test-ids\n! setting sandbox = \"read-only\"\n! setting a = 1\n> {}\n");

    REQUIRE(steps.size() == 4);
    CHECK(steps[1].kind == Step::Kind::setting);
    CHECK(steps[1].rest() == " sandbox = \"read-only\"");
    CHECK(failure_of("> {}\n! setting a = 1").starts_with("2: "));
    CHECK(failure_of("! setting a = 1\n! options --test-ids").starts_with("2: "));
}

TEST_CASE("what makes no sense is refused with its line") {
    CHECK(failure_of("\nhello").starts_with("2: "));
    CHECK(failure_of("< {\"a\":[...,1]}").starts_with("1: "));
    CHECK(failure_of("< not json").starts_with("1: "));
    CHECK(failure_of("< [1]").starts_with("1: "));
    CHECK(failure_of("< {\"chunk~\":5}").starts_with("1: "));
    CHECK(failure_of("< {\"message*\":5}").starts_with("1: "));
    CHECK(failure_of("! sleep 5").starts_with("1: "));
    CHECK(failure_of("! eof\n> {}").starts_with("2: "));
    CHECK(failure_of("! exit 0\n< {}").starts_with("2: "));
}

TEST_SUITE_END();
