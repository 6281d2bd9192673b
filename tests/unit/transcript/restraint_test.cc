#include "support/testing.h"
#include "transcript/restraint.h"

#include <string>

using namespace ew::transcript;

namespace {

bool needs_trust(std::string_view text) {
    auto steps = parse_transcript(text);
    REQUIRE(steps);
    return find_presumption(*steps).has_value();
}

std::string sent(std::string_view json) {
    auto message = parse_node(json);
    REQUIRE(message);
    return to_json(restrained(*message));
}

} // namespace

TEST_SUITE_BEGIN("transcript");

TEST_CASE("a recording that leaves each decision to the server needs no trust") {
    CHECK_FALSE(needs_trust(R"(> {"id":1,"method":"initialize","params":{"clientName":"a"}})"));
    CHECK_FALSE(needs_trust(R"(> {"method":"initialized"})"));
    CHECK_FALSE(needs_trust(R"(> {"id":2,"method":"exec/command","params":{"command":"ls"}})"));
    CHECK_FALSE(needs_trust(R"(> {"id":"$question","result":{"decision":"approved"}})"));
}

TEST_CASE("a recording that acts without a decision of the server needs trust") {
    for (const std::string_view line :
         {R"(> {"id":1,"method":"process/start","params":{"argv":["rm","-rf","a"]}})",
          R"(> {"id":1,"method":"fs/remove","params":{"path":"file:///a"}})",
          R"(> {"id":1,"method":"approvals/grant","params":{"prefix":["touch"],"scope":"always"}})",
          R"(> {"id":1,"method":"session/configure","params":{"approvalPolicy":"never"}})",
          R"(> {"id":1,"method":"$method"})", "! options --sandbox=danger-full-access",
          "! setting sandbox = 'danger-full-access'"})
        CHECK_MESSAGE(needs_trust(line), line);
}

TEST_CASE("a recording that brings settings or a session needs trust") {
    CHECK(needs_trust(R"(> {"id":1,"method":"initialize","params":{"settings":{}}})"));
    CHECK(needs_trust(R"(> {"id":1,"method":"initialize","params":{"sett\u0069ngs":{}}})"));
    CHECK(needs_trust(R"(> {"id":1,"method":"initialize","params":{"resumeSessionId":"a"}})"));
    CHECK(needs_trust(R"(> {"id":1,"method":"initialize","params":"$params"})"));
}

TEST_CASE("a recording that a server may read in another way needs trust") {
    CHECK(needs_trust("> no message"));
    CHECK(needs_trust(R"(> [{"id":1,"method":"process/start"}])"));
    CHECK(needs_trust(R"(> {"method":"initialized","method":"process/start"})"));
    CHECK(needs_trust(R"(> {"id":1,"method":"initialized","result":{"decision":"approved"}})"));
}

TEST_CASE("an answer of a recording that is not trusted becomes a denial") {
    CHECK(sent(R"({"id":"a","result":{"decision":"approved_for_session","scope":"always"}})") ==
          R"({"id":"a","result":{"decision":"denied"}})");
    CHECK(sent(R"({"id":"a","error":{"code":1}})") == R"({"id":"a","error":{"code":1}})");
    CHECK(sent(R"({"id":1,"method":"exec/list"})") == R"({"id":1,"method":"exec/list"})");
}

TEST_SUITE_END();
