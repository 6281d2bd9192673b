#include "protocol/envelope.h"
#include "server/approval/questions.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace ew;
using namespace ew::server;
using protocol::ApprovalDecision;

namespace {

constexpr Millis patience{1000};

// Notes down what becomes of its questions.
class Calls final : public Asker {
public:
    Calls(std::string_view ids, std::string_view refusal) : Asker(ids, refusal) {}

    std::int64_t keep(const Question& question, const protocol::ApprovalAnswer& answer) override {
        told.push_back("keep " + question.id);
        return answer.decision == ApprovalDecision::unasked ? 12 : 0;
    }

    void approve(const Question& question, const protocol::ApprovalAnswer&) override {
        for (const std::uint64_t call : question.calls)
            told.push_back(fmt::format("approve {}", call));
    }

    void edit(const Question& question, const protocol::ApprovalAnswer& answer) override {
        for (const std::uint64_t call : question.calls)
            told.push_back(fmt::format("edit {}: {}", call, answer.command.value_or("")));
    }

    void refuse(const Question& question, const Error& error) override {
        for (const std::uint64_t call : question.calls)
            told.push_back(fmt::format("refuse {}: {}", call, error.message));
    }

    std::vector<std::string> told;
};

class Client {
public:
    Client() : session_(setup(), true), questions(session_, pipe_.outbox()) {}

    // What it was sent since the last time.
    std::string sent() { return pipe_.read_all(); }

    bool answers(std::string_view id, std::string_view decision) {
        const std::string text = fmt::format(
            R"({{"jsonrpc":"2.0","id":"{}","result":{{"decision":"{}"}}}})", id, decision);
        return questions.on_answer(reader_.read(text));
    }

    // Answers a question of network/policyRequest.
    bool decides(std::string_view id, std::string_view decision) {
        const std::string text =
            fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"decision":{}}}}})", id, decision);
        return questions.on_answer(reader_.read(text));
    }

private:
    static SessionSetup setup() {
        SessionSetup setup;
        setup.config.approval_timeout = patience;
        return setup;
    }

    test::OutboxPipe pipe_;
    Session session_;
    protocol::MessageReader reader_;

public:
    Questions questions;
};

Question about(std::string key) {
    Question question;
    question.key = std::move(key);
    for (const ApprovalDecision decision :
         {ApprovalDecision::approved, ApprovalDecision::denied, ApprovalDecision::abort})
        question.request.available_decisions.push_back({decision, {}, "", {}});
    return question;
}

bool holds(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

} // namespace

TEST_SUITE_BEGIN("server/questions");

TEST_CASE("calls of one asker that would ask the same share one question and its answer") {
    Client client;
    Calls commands("approval", "not run");
    Calls patches("patch", "not applied");
    REQUIRE(client.questions.ask(commands, 1, about("rm x"), clock_now()));

    REQUIRE(client.questions.ask(commands, 2, about("rm x"), clock_now()));
    REQUIRE(client.questions.ask(commands, 3, about("rm y"), clock_now()));
    REQUIRE(client.questions.ask(patches, 4, about("rm x"), clock_now()));
    CHECK(client.answers("approval-1", "approved"));

    CHECK(commands.told == std::vector<std::string>{"keep approval-1", "approve 1", "approve 2"});
    CHECK(patches.told.empty());
}

TEST_CASE("an answer closes its question, and a second one finds nothing") {
    Client client;
    Calls commands("approval", "not run");
    REQUIRE(client.questions.ask(commands, 1, about("rm x"), clock_now()));

    CHECK(client.answers("approval-1", "denied"));
    CHECK_FALSE(client.answers("approval-1", "approved"));
    CHECK_FALSE(client.answers("approval-77", "approved"));
    CHECK_FALSE(client.answers("", "approved"));

    CHECK(commands.told ==
          std::vector<std::string>{"keep approval-1", "refuse 1: not run: it was denied"});
}

TEST_CASE("a client that can ask nobody says so without an offer") {
    Client client;
    Calls commands("approval", "not run");
    REQUIRE(client.questions.ask(commands, 1, about("rm x"), clock_now()));

    CHECK(client.answers("approval-1", "unasked"));
    CHECK(commands.told == std::vector<std::string>{
                               "keep approval-1", "refuse 1: not run: the client can ask nobody"});
}

TEST_CASE("a question can be asked as Codex asks about a connection") {
    Client client;
    Calls calls("network", "the connection was not made");
    Question question = about("host");
    question.is_policy_request = true;
    protocol::NetworkTarget& target = question.request.network.emplace();
    target.host = "a.example";
    target.port = 443;
    target.process_id = "p";
    REQUIRE(client.questions.ask(calls, 1, question, clock_now()));
    CHECK(
        client.sent() ==
        R"({"jsonrpc":"2.0","id":1,"method":"network/policyRequest","params":)"
        R"({"processId":"p","request":{"protocol":"https_connect","host":"a.example","port":443}}})"
        "\n");
    CHECK(client.decides("1", R"({"type":"allow"})"));
    for (const std::string_view decision :
         {R"({"type":"deny","reason":"not_allowed"})", R"({"type":"ask","reason":"x"})",
          R"({"type":"perhaps"})", R"("approved")"}) {
        target.port = 8080;
        REQUIRE(client.questions.ask(calls, 2, question, clock_now()));
        CHECK(holds(client.sent(), R"("protocol":"socks5_tcp")"));
        CHECK(client.decides(fmt::format("{}", calls.told.size() / 2 + 1), decision));
    }
    const std::vector<std::string> told = calls.told;
    REQUIRE(told.size() == 10);
    CHECK(told[1] == "approve 1");
    CHECK(told[3] == "refuse 2: the connection was not made: it was denied: not_allowed");
    CHECK(told[5] == "refuse 2: the connection was not made: the client can ask nobody");
    CHECK(holds(told[7], "refuse 2: the connection was not made: it was denied: the client's"));
    CHECK(holds(told[9], "refuse 2: the connection was not made: it was denied: the client's"));
}

TEST_CASE("a question that Codex asks is not withdrawn") {
    Client client;
    Calls calls("network", "not made");
    Question question = about("host");
    question.is_policy_request = true;
    REQUIRE(client.questions.ask(calls, 1, question, clock_now()));
    (void)client.sent();
    client.questions.leave(calls, 1);
    CHECK(client.sent().empty());
    CHECK_FALSE(client.decides("1", R"({"type":"allow"})"));
}

TEST_CASE("a question is withdrawn when the last call leaves it") {
    Client client;
    Calls commands("approval", "not run");
    REQUIRE(client.questions.ask(commands, 1, about("rm x"), clock_now()));
    REQUIRE(client.questions.ask(commands, 2, about("rm x"), clock_now()));
    (void)client.sent();

    client.questions.leave(commands, 1);
    CHECK(client.sent().empty());
    client.questions.leave(commands, 2);

    CHECK(holds(client.sent(), R"("method":"$/cancelRequest","params":{"id":"approval-1"})"));
    CHECK_FALSE(client.answers("approval-1", "approved"));
}

TEST_CASE("a call of one asker does not leave the question of another one") {
    Client client;
    Calls commands("approval", "not run");
    Calls patches("patch", "not applied");
    REQUIRE(client.questions.ask(commands, 1, about("rm x"), clock_now()));

    client.questions.leave(patches, 1);

    CHECK(client.answers("approval-1", "approved"));
}

TEST_CASE("ids of questions are not used twice") {
    Client client;
    Calls commands("approval", "not run");
    REQUIRE(client.questions.ask(commands, 1, about("a"), clock_now()));
    REQUIRE(client.answers("approval-1", "denied"));

    REQUIRE(client.questions.ask(commands, 2, about("a"), clock_now()));

    CHECK_FALSE(client.answers("approval-1", "approved"));
    CHECK(client.answers("approval-2", "approved"));
}

TEST_CASE("commands and patches together have a bounded number of open questions") {
    Client client;
    Calls commands("approval", "not run");
    Calls patches("patch", "not applied");
    const TimePoint now = clock_now();
    for (std::size_t i = 0; i < Questions::most_open; ++i)
        REQUIRE(client.questions.ask(i % 2 == 0 ? commands : patches, i, about(""), now));

    for (Calls* const calls : {&commands, &patches}) {
        Result<void> refused = client.questions.ask(*calls, 1000, about(""), now);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().kind == ErrorKind::limit);
        CHECK(holds(refused.error().message, "64 questions are open"));
    }

    REQUIRE(client.answers("approval-1", "denied"));
    CHECK(client.questions.ask(patches, 1000, about(""), now));
}

TEST_CASE("an abort refuses everything that is being asked about") {
    Client client;
    Calls commands("approval", "not run");
    Calls patches("patch", "not applied");
    REQUIRE(client.questions.ask(commands, 1, about("a"), clock_now()));
    REQUIRE(client.questions.ask(patches, 1, about("b"), clock_now()));
    (void)client.sent();

    CHECK(client.answers("approval-1", "abort"));

    CHECK(commands.told ==
          std::vector<std::string>{"keep approval-1", "refuse 1: not run: it was denied"});
    CHECK(patches.told == std::vector<std::string>{"refuse 1: not applied: everything that was "
                                                   "being asked about was aborted"});
    CHECK(holds(client.sent(), R"({"id":"patch-2"})"));
}

TEST_CASE("a question whose time is over is refused once") {
    Client client;
    Calls commands("approval", "not run");
    const TimePoint now = clock_now();
    REQUIRE(client.questions.ask(commands, 1, about("a"), now));
    (void)client.sent();

    CHECK(client.questions.next_deadline() == now + patience);
    client.questions.on_time(now);
    CHECK(commands.told.empty());
    client.questions.on_time(now + patience);
    client.questions.on_time(now + patience);

    CHECK(commands.told ==
          std::vector<std::string>{"refuse 1: not run: nobody answered the question in time"});
    CHECK(holds(client.sent(), "$/cancelRequest"));
    CHECK_FALSE(client.questions.next_deadline().has_value());
}

TEST_CASE("an edited command goes to every call of the question") {
    Client client;
    Calls commands("approval", "not run");
    Question question = about("a");
    question.request.available_decisions.push_back({ApprovalDecision::edited, {}, "", {}});
    REQUIRE(client.questions.ask(commands, 1, std::move(question), clock_now()));
    REQUIRE(client.questions.ask(commands, 2, about("a"), clock_now()));

    CHECK(client.answers("approval-1", R"(edited","command":"ls)"));

    CHECK(commands.told == std::vector<std::string>{"keep approval-1", "edit 1: ls", "edit 2: ls"});
}

TEST_CASE("an edited command is a denial if it was not offered or its answer does not fit") {
    Client client;
    Calls commands("approval", "not run");
    REQUIRE(client.questions.ask(commands, 1, about("a"), clock_now()));
    CHECK(client.answers("approval-1", R"(edited","command":"ls)"));
    REQUIRE(client.questions.ask(commands, 2, about("a"), clock_now()));
    CHECK(client.answers("approval-2", R"(approved","command":"ls)"));

    CHECK(commands.told.size() == 4);
    CHECK(holds(commands.told[1], "refuse 1"));
    CHECK(holds(commands.told[3], "refuse 2"));
}

TEST_CASE("an ending server refuses what is asked and asks nothing more") {
    Client client;
    Calls commands("approval", "not run");
    REQUIRE(client.questions.ask(commands, 1, about("a"), clock_now()));

    client.questions.close();

    CHECK(commands.told == std::vector<std::string>{"refuse 1: not run: the server is ending"});
    Result<void> refused = client.questions.ask(commands, 2, about("b"), clock_now());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::shutting_down);
}
