#include "protocol/process.h"
#include "server/connection/reply.h"
#include "support/child_process.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <csignal>
#include <string>
#include <utility>

using ew::ErrorKind;
using ew::server::Reply;
using ew::test::OutboxPipe;

TEST_SUITE_BEGIN("server/reply");

TEST_CASE("an answer carries the id and the result") {
    OutboxPipe client;
    Reply(client.outbox(), {"7"}).send(ew::protocol::TerminateResult{true, {}});

    CHECK(client.read_all() == "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"running\":true}}\n");
}

TEST_CASE("an answer may be null or empty") {
    OutboxPipe client;
    Reply(client.outbox(), {R"("a")"}).send_null();
    Reply(client.outbox(), {"8"}).send(ew::protocol::Empty{});

    CHECK(client.read_all() == "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":null}\n"
                               "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n");
}

TEST_CASE("a failure is answered as an error") {
    OutboxPipe client;
    Reply(client.outbox(), {"7"}).fail({ErrorKind::not_running, "it has ended"});

    CHECK(client.read_all() ==
          "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":\"it has ended\","
          "\"data\":{\"kind\":\"notRunning\"}}}\n");
}

TEST_CASE("a reply that was moved is answered once, by its new owner") {
    OutboxPipe client;
    {
        Reply first(client.outbox(), {"7"});
        Reply second = std::move(first);
        second.send_null();
    }

    CHECK(client.read_all() == "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}\n");
}

TEST_CASE("a reply that was forgotten is answered as a bug, and logged") {
    const auto outcome = ew::test::in_child([] {
        OutboxPipe client;
        { const Reply forgotten(client.outbox(), {"7"}); }
        return client.read_all().find("\"id\":7,\"error\":{\"code\":-32603") != std::string::npos;
    });

    CHECK(outcome.is_true);
    CHECK(outcome.errors == "execward: error reply: a request was dropped without an answer\n");
}

TEST_CASE("answering twice is a bug that ends the program") {
    const auto outcome = ew::test::in_child([] {
        OutboxPipe client;
        Reply reply(client.outbox(), {"7"});
        reply.send_null();
        reply.send_null();
        return true;
    });

    CHECK(outcome.signal == SIGABRT);
}

TEST_SUITE_END();
