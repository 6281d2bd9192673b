#include "base/byte_buffer.h"
#include "mcp/dialect.h"
#include "protocol/settings.h"
#include "support/testing.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using ew::Millis;
using ew::TimePoint;
using ew::mcp::Dialect;
using ew::mcp::DialectSetup;
using ew::mcp::Reader;

namespace {

constexpr std::string_view greeting =
    R"("id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}})";
constexpr std::string_view meta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}})";
constexpr std::string_view question =
    R"("id":"approval-1","method":"approval/request","params":{"approvalId":"approval-1","callId":"2","kind":"command","argv":["x"],"program":"/x","display":{"command":"x","program":"/x","workdir":"/w","reason":"r","environment":[],"notes":[],"hasInvisibleCharacters":false,"hasMixedScripts":false},"workdir":"/w","reason":"r","sandbox":{"type":"none","missing":[]},"denials":[],"availableDecisions":[{"decision":"approved","description":"once"},{"decision":"edited","description":"e"}]})";

ew::protocol::Settings settings_of(ew::core::SandboxMode mode) {
    ew::protocol::Settings settings;
    settings.sandbox = mode;
    return settings;
}

// The two sides of a dialect: what they send, and what they get.
struct Talk {
    explicit Talk(std::optional<std::string> workspace = "/w")
        : dialect(DialectSetup{"1", std::move(workspace), "secret",
                               [](const std::string& path) { return path != "/missing"; }}) {}

    Dialect dialect;
    TimePoint now{Millis{1'000'000}};

    static std::string padded(std::string_view members) {
        return fmt::format(R"({{"jsonrpc":"2.0",{}}})", members) +
               std::string(ew::ByteBuffer::padding, ' ');
    }

    void client(std::string_view members) {
        const std::string text = padded(members);
        dialect.from_client(std::string_view(text).substr(0, text.size() - 64), now);
    }

    void server(std::string_view members) {
        const std::string text = padded(members);
        dialect.from_server(std::string_view(text).substr(0, text.size() - 64), now);
    }

    std::string for_client() {
        std::string all;
        for (const std::string& line : dialect.wires().take_for_client())
            all += line + "\n";
        return all;
    }

    std::string for_server() {
        std::string all;
        while (const auto text = dialect.wires().next_for_server())
            all += *text + "\n";
        return all;
    }

    // Opens the session as the server does.
    void open() {
        server(R"("id":1,"result":{})");
        dialect.open(settings_of(ew::core::SandboxMode::workspace_write), now);
        (void)for_server();
    }

    // A modern call that has ended in a question. Returns the state.
    std::string ask() {
        client(fmt::format(
            R"("id":7,"method":"tools/call","params":{{"name":"run_command","arguments":{{"command":"x"}},{}}})",
            meta));
        open();
        server(question);
        const std::string told = for_client();
        const std::string_view key = R"("requestState":")";
        const std::size_t at = told.find(key) + key.size();
        return told.substr(at, told.find('"', at) - at);
    }

    void come_back(int id, std::string_view state, std::string_view answer) {
        client(fmt::format(
            R"("id":{},"method":"tools/call","params":{{"name":"run_command","arguments":{{"command":"x"}},"requestState":"{}","inputResponses":{{"consent":{}}},{}}})",
            id, state, answer, meta));
    }
};

constexpr std::string_view accept = R"({"action":"accept","content":{"decision":"approved"}})";

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_SUITE_BEGIN("mcp/dialect");

TEST_CASE("the first request begins the session, and is answered when it is there") {
    Talk talk;
    talk.client(greeting);
    CHECK(has(talk.for_server(), R"("method":"initialize")"));
    CHECK(talk.for_client().empty());

    talk.server(R"("id":1,"result":{})");
    CHECK(has(talk.for_server(), R"("method":"initialized")"));
    CHECK(talk.for_client().empty());

    talk.dialect.open(settings_of(ew::core::SandboxMode::read_only), talk.now);
    const std::string told = talk.for_client();
    CHECK(has(told, R"("id":1,"result":{"protocolVersion":"2025-11-25")"));
    CHECK(has(told, "write nothing but temporary files"));
}

TEST_CASE("a session that cannot begin is an error for all that waited") {
    Talk talk;
    talk.client(greeting);
    talk.client(R"("id":2,"method":"tools/list")");
    talk.server(R"("id":1,"error":{"code":-32603,"message":"no session"})");
    const std::string told = talk.for_client();
    CHECK(has(told, R"("id":1,"error":{"code":-32603,"message":"no session")"));
    CHECK(has(told, R"("id":2,"error")"));

    (void)talk.for_server();
    talk.client(R"("id":3,"method":"tools/list")");
    CHECK(has(talk.for_server(), R"("method":"initialize")"));
}

TEST_CASE("a call becomes a request, and its result an answer") {
    Talk talk;
    talk.client(greeting);
    talk.open();
    (void)talk.for_client();
    talk.client(
        R"("id":"c","method":"tools/call","params":{"name":"run_command","arguments":{"command":"ls","timeout_ms":5}})");
    const std::string request = talk.for_server();
    CHECK(has(request, R"("id":2,"method":"exec/command")"));
    CHECK(has(request, R"("command":"ls")"));
    CHECK(has(request, R"("yieldTimeMs":5)"));

    talk.server(
        R"("method":"exec/begin","params":{"callId":"2","processId":"1000","mode":"shell","argv":["sh"],"program":"/sh","workdir":"/w","commands":[],"decidedBy":"policy","sandbox":{"type":"none","missing":[]},"droppedEnv":[]})");
    talk.server(
        R"("id":2,"result":{"callId":"2","chunkId":"a","state":"completed","wallTimeMs":1,"yieldTimeMs":5,"timings":{"approvalMs":0,"spawnMs":0,"runMs":1},"output":"out","originalTokenCount":1,"omittedBytes":0,"exitCode":0,"timedOut":false,"sandbox":{"type":"linuxSeccomp","missing":[]},"denials":[]})");
    const std::string told = talk.for_client();
    CHECK(has(told, R"("id":"c","result":{"content")"));
    CHECK(has(told, R"("structuredContent":{"state":"completed","id":"1000","exit_code":0)"));
    CHECK(has(told, R"("cwd":"/w","sandbox":"workspace-write")"));
}

TEST_CASE("output is read only while somebody wants progress") {
    Talk talk;
    talk.client(greeting);
    talk.open();
    (void)talk.for_client();
    talk.client(
        R"("id":5,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"ls"},"_meta":{"progressToken":"t"}})");
    talk.server(
        R"("method":"exec/outputDelta","params":{"callId":"2","processId":"1000","seq":1,"stream":"stdout","delta":"half\nline two\n"})");
    talk.dialect.on_time(talk.now + Millis(999), Reader::takes);
    CHECK(talk.for_client().empty());
    talk.dialect.on_time(talk.now + Millis(1000), Reader::takes);
    CHECK(has(talk.for_client(), R"({"progressToken":"t","progress":1,"message":"line two"})"));
}

TEST_CASE("a legacy client is asked by a request") {
    Talk talk;
    talk.client(greeting);
    talk.open();
    (void)talk.for_client();
    talk.client(
        R"("id":5,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"x"}})");
    talk.server(question);
    const std::string asked = talk.for_client();
    CHECK(has(asked, R"("id":"execward-1","method":"elicitation/create")"));
    CHECK_FALSE(has(asked, "edited"));
    (void)talk.for_server();

    talk.client(fmt::format(R"("id":"execward-2","result":{})", accept));
    CHECK(talk.for_server().empty());
    talk.client(fmt::format(R"("id":"execward-1","result":{})", accept));
    CHECK(has(talk.for_server(), R"("id":"approval-1","result":{"decision":"approved"})"));
    talk.client(fmt::format(R"("id":"execward-1","result":{})", accept));
    CHECK(talk.for_server().empty());
}

TEST_CASE("a modern client comes back once, with the state of its call") {
    Talk talk;
    const std::string state = talk.ask();

    talk.come_back(8, state + "0", accept);
    CHECK(has(talk.for_client(), R"("id":8,"error":{"code":-32602)"));
    CHECK(talk.for_server().empty());

    talk.come_back(9, state, accept);
    CHECK(has(talk.for_server(), R"("id":"approval-1","result":{"decision":"approved"})"));
    talk.come_back(10, state, accept);
    CHECK(has(talk.for_client(), R"("id":10,"error":{"code":-32602)"));
    CHECK(talk.for_server().empty());
}

TEST_CASE("a question that a modern client leaves open ends by its time") {
    Talk talk;
    const std::string state = talk.ask();
    talk.now += ew::mcp::Calls::held_time;
    CHECK(talk.dialect.next_deadline() == talk.now);

    talk.dialect.on_time(talk.now, Reader::takes);
    CHECK(has(talk.for_server(), R"("id":"approval-1","result":{"decision":"unasked"})"));
    talk.come_back(8, state, accept);
    const std::string told = talk.for_client();
    CHECK(has(told, R"("state":"not_run")"));
    CHECK(has(told, "came too late"));
    CHECK(talk.for_server().empty());
}

TEST_CASE("an answer that arrives after a cancellation goes nowhere") {
    Talk talk;
    talk.client(greeting);
    talk.open();
    (void)talk.for_client();
    talk.client(
        R"("id":5,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"x"}})");
    (void)talk.for_server();
    talk.client(R"("method":"notifications/cancelled","params":{"requestId":5})");
    CHECK(has(talk.for_server(), R"("method":"$/cancelRequest","params":{"id":2})"));
    talk.server(R"("id":2,"error":{"code":-32800,"message":"cancelled"})");
    CHECK(talk.for_client().empty());
}

TEST_CASE("calls wait for the roots of a client, and not for ever") {
    for (const bool answers : {true, false}) {
        Talk talk{std::nullopt};
        talk.client(
            R"("id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}})");
        talk.open();
        talk.client(R"("method":"notifications/initialized")");
        CHECK(has(talk.for_client(), R"("id":"execward-roots-1","method":"roots/list")"));
        talk.client(R"("id":5,"method":"tools/call","params":{"name":"list_processes"})");
        talk.client(R"("id":6,"method":"tools/list")");
        CHECK(talk.for_server().empty());
        CHECK(talk.for_client().empty());

        if (answers) {
            talk.client(
                R"("id":"execward-roots-1","result":{"roots":[{"uri":"file:///"},{"uri":"file:///a%20b"}]})");
            const std::string sent = talk.for_server();
            const std::size_t configure = sent.find(R"({"workspaceRoots":["file:///a%20b"]})");
            CHECK(configure < sent.find("exec/list"));
        } else {
            talk.dialect.on_time(talk.now + ew::mcp::Roots::patience, Reader::takes);
            CHECK(has(talk.for_server(), "exec/list"));
        }
        CHECK(has(talk.for_client(), R"("id":6)"));
    }
}

TEST_CASE("roots that change keep no call waiting longer") {
    Talk talk{std::nullopt};
    talk.client(
        R"("id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}})");
    talk.open();
    talk.client(R"("method":"notifications/initialized")");
    (void)talk.for_client();
    talk.client(R"("id":5,"method":"tools/call","params":{"name":"list_processes"})");
    talk.now += ew::mcp::Roots::patience / 2;
    for (int i = 0; i < 3; ++i)
        talk.client(R"("method":"notifications/roots/list_changed")");
    CHECK(talk.for_client().empty());
    talk.dialect.on_time(talk.now + ew::mcp::Roots::patience / 2, Reader::takes);
    CHECK(has(talk.for_server(), "exec/list"));

    talk.client(R"("method":"notifications/roots/list_changed")");
    talk.client(R"("id":6,"method":"tools/call","params":{"name":"list_processes"})");
    CHECK(has(talk.for_server(), "exec/list"));
    talk.client(
        R"("id":"execward-roots-1","result":{"roots":[{"uri":"file:///missing"},{"uri":"/x"},{"uri":"file:///old"}]})");
    CHECK(has(talk.for_server(), R"("workspaceRoots":["file:///old"])"));
    CHECK(has(talk.for_client(), R"("id":"execward-roots-2","method":"roots/list")"));
    talk.client(R"("id":"execward-roots-2","result":{"roots":[{"uri":"file:///new"}]})");
    CHECK(has(talk.for_server(), R"("workspaceRoots":["file:///new"])"));
}

TEST_CASE("subscribers hear of changes once in a while, and not while they are behind") {
    constexpr std::string_view delta =
        R"("method":"exec/outputDelta","params":{"callId":"9","processId":"1000","seq":1,"stream":"stdout","delta":"x"})";
    Talk talk;
    talk.client(greeting);
    talk.open();
    talk.client(R"("method":"notifications/initialized")");
    (void)talk.for_client();
    talk.server(delta);
    CHECK_FALSE(talk.dialect.next_deadline());
    talk.client(
        R"("id":2,"method":"resources/subscribe","params":{"uri":"execward://process/1000/output"})");
    CHECK(has(talk.for_client(), R"("id":2,"result":{})"));

    talk.server(delta);
    talk.server(delta);
    talk.dialect.on_time(talk.now, Reader::takes);
    CHECK(
        talk.for_client() ==
        R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"execward://process/1000/output"}})"
        "\n");
    talk.server(delta);
    talk.now += ew::mcp::Resources::pause;
    CHECK(talk.dialect.next_deadline() == talk.now);
    talk.dialect.on_time(talk.now, Reader::is_behind);
    CHECK(talk.for_client().empty());
    talk.now += ew::mcp::Resources::pause;
    talk.dialect.on_time(talk.now, Reader::takes);
    CHECK(has(talk.for_client(), "resources/updated"));

    talk.client(
        R"("id":3,"method":"resources/unsubscribe","params":{"uri":"execward://process/1000/output"})");
    (void)talk.for_client();
    talk.server(delta);
    CHECK_FALSE(talk.dialect.next_deadline());
}

TEST_CASE("subscriptions have a bound") {
    Talk talk;
    talk.client(greeting);
    talk.open();
    const auto subscribe = [&](std::size_t i) {
        talk.client(fmt::format(
            R"("id":{0},"method":"resources/subscribe","params":{{"uri":"execward://process/{0}/output"}})",
            i));
        return talk.for_client();
    };
    for (std::size_t i = 0; i < ew::mcp::Resources::most_named; ++i)
        CHECK(has(subscribe(i), R"("result":{})") == true);
    CHECK(has(subscribe(ew::mcp::Resources::most_named), R"("error":{"code":-32600)"));

    const auto listen = [&](std::size_t i) {
        talk.client(fmt::format(
            R"("id":"l{}","method":"subscriptions/listen","params":{{"notifications":{{}},{}}})", i,
            meta));
        return talk.for_client();
    };
    for (std::size_t i = 0; i < ew::mcp::Resources::most_listening; ++i)
        CHECK(has(listen(i), "acknowledged"));
    CHECK(has(listen(ew::mcp::Resources::most_listening), R"("error":{"code":-32600)"));
    talk.client(R"("method":"notifications/cancelled","params":{"requestId":"l0"})");
    CHECK(has(listen(0), "acknowledged"));
}

TEST_CASE("what waits for the session has a bound") {
    Talk talk;
    talk.client(greeting);
    for (std::size_t i = 0; i < Dialect::most_waiting; ++i)
        talk.client(R"("id":2,"method":"tools/list")");
    CHECK(has(talk.for_client(), R"("id":2,"error":{"code":-32600)"));
}

TEST_CASE("what is no message gets an error without an id") {
    Talk talk;
    talk.dialect.refuse({ew::ErrorKind::parse, "no"});
    CHECK(has(talk.for_client(), R"("id":null,"error":{"code":-32700,"message":"no")"));
    talk.dialect.refuse({ew::ErrorKind::limit, "too long", "process/write takes it in parts"});
    CHECK(has(talk.for_client(), R"("message":"too long; send_input takes it in parts")"));
}

TEST_SUITE_END();
