#include "support/testing.h"
#include "transcript/recorder.h"

using ew::transcript::readable;

TEST_SUITE_BEGIN("transcript");

TEST_CASE("a recording spells out the text of chunks") {
    CHECK(readable(R"({"chunk":"aGkK","seq":1})") == R"({"chunk~":"hi\n","seq":1})");
    CHECK(readable(R"([{"chunk" : "aGk="},{"chunk":"w7w="}])") ==
          R"([{"chunk~":"hi"},{"chunk~":"ü"}])");
}

TEST_CASE("a recording keeps chunks that are not text") {
    CHECK(readable(R"({"chunk":"//4="})") == R"({"chunk":"//4="})");
    CHECK(readable(R"({"chunk":"no base64"})") == R"({"chunk":"no base64"})");
    CHECK(readable(R"({"chunk":null})") == R"({"chunk":null})");
}

TEST_CASE("a recording leaves text alone that only looks like a chunk") {
    const std::string_view quoted = R"({"argv":["{\"chunk\":\"aGk=\"}","chunk"],"a":"chunk"})";

    CHECK(readable(quoted) == quoted);
    CHECK(readable("{\"chunk\"") == "{\"chunk\"");
    CHECK(readable("{\"chunk\":\"aGk") == "{\"chunk\":\"aGk");
}

TEST_CASE("a recording leaves the text of commands, questions and answers as they are") {
    for (const std::string_view message :
         {R"({"method":"exec/outputDelta","params":{"callId":"1","delta":"\"chunk\":\"aGk=\"\n"}})",
          R"({"id":"ask-1","method":"approval/request","params":{"argv":["echo","\"chunk\""]}})",
          R"({"id":"ask-1","result":{"decision":"approved"}})"})
        CHECK(readable(message) == message);
}

TEST_CASE("input that must not be shown is recorded as stars") {
    using ew::transcript::without_input;
    CHECK(without_input(R"({"id":1,"method":"exec/writeStdin","params":{"processId":"1000",)"
                        R"("chars":"p\u00e4ss\n","keys":["a","enter"],"yieldTimeMs":5}})") ==
          R"({"id":1,"method":"exec/writeStdin","params":{"processId":"1000",)"
          R"("chars":"******","keys":["*","*****"],"yieldTimeMs":5}})");
    // The bytes of "secret" in base64, and a member that occurs twice.
    CHECK(readable(
              without_input(R"({"params":{"chunk":"c2VjcmV0","a":{"b":"x"}},"params":["y"]})")) ==
          R"({"params":{"chunk~":"******","a":{"b":"*"}},"params":["*"]})");
}

TEST_CASE("a recorded message is one line") {
    CHECK(readable("{\n\"id\":1\r\n}") == "{ \"id\":1  }");
}

TEST_SUITE_END();
