#include "protocol/envelope.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using ew::Error;
using ew::ErrorKind;
using ew::protocol::Message;
using Kind = ew::protocol::Message::Kind;

namespace {

// A message together with what it points into.
class Reading {
public:
    explicit Reading(std::string_view json) {
        text_.append(json);
        (void)text_.reserve(0); // the parser looks at the padding
        message_ = reader_.read(text_.view());
    }

    const Message* operator->() const { return &message_; }

private:
    ew::ByteBuffer text_;
    ew::protocol::MessageReader reader_;
    Message message_;
};

void check_refused(std::string_view json, std::string_view id, ErrorKind kind) {
    const Reading message(json);
    CAPTURE(json);
    CHECK(message->kind == Kind::refused);
    CHECK(message->error.kind == kind);
    CHECK(message->id.json == id);
}

std::string error_text(const ew::json::Id& id, const Error& error) {
    ew::ByteBuffer out;
    ew::protocol::write_error(out, id, error);
    return std::string(out.view());
}

} // namespace

TEST_SUITE_BEGIN("protocol/envelope");

TEST_CASE("a message with method and id is a request") {
    const Reading message(R"({"jsonrpc":"2.0","id":7,"method":"process/list","params":{"a":1}})");

    CHECK(message->kind == Kind::request);
    CHECK(message->id.json == "7");
    CHECK(message->method == "process/list");
    REQUIRE(message->params != nullptr);
    CHECK(message->params->element["a"].is_uint64());
}

TEST_CASE("the order of the members does not matter, nor what else there is") {
    const Reading message(R"({"x":[1],"params":{},"method":"m","jsonrpc":1,"id":"a\"b"})");

    CHECK(message->kind == Kind::request);
    CHECK(message->id.json == R"("a\"b")");
}

TEST_CASE("a message with a method and no id is a notification") {
    CHECK(Reading(R"({"method":"initialized"})")->kind == Kind::notification);
}

TEST_CASE("absent params and null are alike") {
    CHECK(Reading(R"({"id":1,"method":"m"})")->params == nullptr);
    CHECK(Reading(R"({"id":1,"method":"m","params":null})")->params == nullptr);
    CHECK(Reading(R"({"id":1,"method":"m","params":[]})")->params != nullptr);
}

TEST_CASE("a message with a result or an error and no method is an answer, whatever its id") {
    CHECK(Reading(R"({"result":1})")->kind == Kind::response);
    CHECK(Reading(R"({"id":null,"error":{}})")->kind == Kind::response);
    CHECK(Reading(R"({"id":1,"result":null})")->kind == Kind::response);
    CHECK(Reading(R"({"id":"a","error":{"code":1,"message":"x"}})")->kind == Kind::response);
}

TEST_CASE("an id is echoed as it was meant") {
    for (const auto& [json, echoed] : std::vector<std::pair<std::string, std::string>>{
             {"0", "0"},
             {"-9223372036854775808", "-9223372036854775808"},
             {"9223372036854775807", "9223372036854775807"},
             {R"("")", R"("")"},
             {R"("\u00e9\u000a")", "\"\xc3\xa9\\n\""}}) {
        CHECK(Reading("{\"id\":" + json + ",\"method\":\"m\"}")->id.json == echoed);
    }
}

TEST_CASE("text that is not JSON is refused without an id") {
    check_refused("", "", ErrorKind::parse);
    check_refused(R"({"id":1,"method":"m")", "", ErrorKind::parse);
    check_refused(R"({"id":1,"method":"m"} x)", "", ErrorKind::parse);
    check_refused("{\"id\":1,\"method\":\"\xff\"}", "", ErrorKind::parse);
}

TEST_CASE("a message nested too deeply is refused by the limit") {
    check_refused(R"({"id":1,"method":"m","params":)" + std::string(100, '[') +
                      std::string(100, ']') + "}",
                  "", ErrorKind::limit);
}

TEST_CASE("JSON that is no object is refused without an id") {
    for (const std::string_view json : {"[]", "5", "null", "\"a\"", R"([{"id":1,"method":"m"}])"})
        check_refused(json, "", ErrorKind::invalid_request);
}

TEST_CASE("a bad id is refused without an id, also null") {
    for (const std::string_view id :
         {"null", "1.5", "1e3", "true", "[]", "{}", "9223372036854775808"})
        check_refused("{\"id\":" + std::string(id) + ",\"method\":\"m\"}", "",
                      ErrorKind::invalid_request);
}

TEST_CASE("a message that is neither call nor answer is refused without an id") {
    for (const std::string_view json :
         {"{}", R"({"params":{}})", R"({"id":1})", R"({"id":"a","params":{}})"})
        check_refused(json, "", ErrorKind::invalid_request);
}

TEST_CASE("a method that is no string is refused without an id") {
    for (const std::string_view json :
         {R"({"id":1,"method":5})", R"({"method":null,"id":"a"})", R"({"method":["m"]})"})
        check_refused(json, "", ErrorKind::invalid_request);
}

TEST_CASE("a member of the envelope that is there twice is refused") {
    for (const std::string_view json :
         {R"({"method":"m","method":"n"})", R"({"id":1,"id":1,"method":"m"})",
          R"({"method":"m","params":{},"params":{}})"}) {
        CAPTURE(json);
        CHECK(Reading(json)->kind == Kind::refused);
        CHECK(Reading(json)->error.kind == ErrorKind::invalid_request);
    }
    CHECK(Reading(R"({"id":1,"method":"m","x":1,"x":2})")->kind == Kind::request);
}

TEST_CASE("one reader reads message after message") {
    ew::protocol::MessageReader reader;
    for (const auto& [json, kind] : std::vector<std::pair<std::string, Kind>>{
             {R"({"id":1,"method":"m","params":{}})", Kind::request},
             {"{", Kind::refused},
             {R"({"method":"m"})", Kind::notification},
             {R"({"id":1,"method":"m"})", Kind::request}}) {
        ew::ByteBuffer text;
        text.append(json);
        (void)text.reserve(0); // the parser looks at the padding
        CHECK(reader.read(text.view()).kind == kind);
    }
}

TEST_CASE("an error carries code, sentence and kind") {
    CHECK(error_text({"7"}, {ErrorKind::unknown_process, "no process \"x\""}) ==
          R"({"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"no process \"x\"",)"
          R"("data":{"kind":"unknownProcess"}}})");
}

TEST_CASE("an error without an id has id null, and hint and path where there are any") {
    CHECK(error_text({}, {ErrorKind::invalid_params, "m", "h", "argv[2]"}) ==
          R"({"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"m",)"
          R"("data":{"kind":"invalidParams","hint":"h","path":"argv[2]"}}})");
}

TEST_SUITE_END();
