#include "protocol/framing.h"
#include "server/connection/outbox.h"
#include "support/child_process.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <csignal>
#include <string>

using ew::protocol::Framing;
using ew::server::Lane;
using ew::test::OutboxPipe;

namespace {

// A message that a pipe cannot take at once.
std::string large(char letter) {
    return std::string(3 * OutboxPipe::pipe_size, letter);
}

std::string with_header(const std::string& message) {
    return "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n" + message;
}

} // namespace

TEST_SUITE_BEGIN("server/outbox");

TEST_CASE("messages of one lane go out in order, one a line") {
    OutboxPipe client;
    client.add(Lane::priority, "one");
    client.add(Lane::priority, "two");

    CHECK(client.read_all() == "one\ntwo\n");
}

TEST_CASE("with headers each message has its length before it") {
    OutboxPipe client;
    client.outbox().set_framing(Framing::headers);
    client.add(Lane::bulk, "one");
    client.add(Lane::bulk, "{\n2}");

    CHECK(client.read_all() == with_header("one") + with_header("{\n2}"));
}

TEST_CASE("priority messages go before bulk that has not begun") {
    OutboxPipe client;
    client.add(Lane::bulk, "bulk");
    client.add(Lane::priority, "answer");

    CHECK(client.read_all() == "answer\nbulk\n");
}

TEST_CASE("a priority message goes between two bulk messages, never into one") {
    for (const Framing framing : {Framing::lines, Framing::headers}) {
        OutboxPipe client;
        client.outbox().set_framing(framing);
        client.add(Lane::bulk, large('a'));
        client.add(Lane::bulk, large('b'));
        client.outbox().flush(); // the pipe now holds the beginning of the first

        client.add(Lane::priority, "answer");
        const std::string all = client.read_all();

        const bool has_headers = framing == Framing::headers;
        const auto framed = [&](const std::string& message) {
            return has_headers ? with_header(message) : message + "\n";
        };
        CHECK((all == framed(large('a')) + framed("answer") + framed(large('b'))));
    }
}

TEST_CASE("wherever a bulk message was interrupted, a priority message waits for its end") {
    for (std::size_t size = OutboxPipe::pipe_size - 3; size < OutboxPipe::pipe_size + 3; ++size) {
        OutboxPipe client;
        const std::string first(size, 'a');
        client.add(Lane::bulk, first);
        client.add(Lane::bulk, "b");
        client.outbox().flush();

        client.add(Lane::priority, "answer");
        const std::string all = client.read_all();

        CAPTURE(size);
        CHECK(all.starts_with(first + "\n"));
        CHECK((all.ends_with("\nanswer\nb\n") || all.ends_with("\nb\nanswer\n")));
    }
}

TEST_CASE("a priority message that was interrupted is finished before bulk") {
    OutboxPipe client;
    client.add(Lane::priority, large('p'));
    client.outbox().flush();

    client.add(Lane::bulk, "bulk");
    client.add(Lane::priority, "more");

    CHECK((client.read_all() == large('p') + "\nmore\nbulk\n"));
}

TEST_CASE("answers without end let bulk messages pass, each between two answers") {
    constexpr std::size_t share = ew::server::Outbox::answers_per_bulk_message;
    OutboxPipe client;
    const std::string answer(share / 2, 'p');
    client.add(Lane::bulk, "one");
    client.add(Lane::bulk, "two");
    for (int i = 0; i < 5; ++i)
        client.add(Lane::priority, answer);

    const std::string pair = answer + "\n" + answer + "\n";
    CHECK((client.read_all() == pair + "one\n" + pair + "two\n" + answer + "\n"));
}

TEST_CASE("a bulk message never overtakes an answer that came before it") {
    constexpr std::size_t share = ew::server::Outbox::answers_per_bulk_message;
    OutboxPipe client;
    client.add(Lane::priority, std::string(3 * share, 'p'));
    client.add(Lane::priority, "second");
    client.add(Lane::bulk, "bulk");
    client.add(Lane::priority, "third");

    CHECK(client.read_all().ends_with("p\nsecond\nthird\nbulk\n"));
}

TEST_CASE("what is unsent is known for each lane") {
    OutboxPipe client;
    client.add(Lane::bulk, "12345");
    client.add(Lane::priority, "123");

    CHECK(client.outbox().unsent(Lane::bulk) == 6);
    CHECK(client.outbox().unsent(Lane::priority) == 4);
    CHECK(client.outbox().has_unsent());

    client.outbox().flush();

    CHECK_FALSE(client.outbox().has_unsent());
    CHECK(client.outbox().bulk_sent() == client.outbox().bulk_queued());
}

TEST_CASE("a full pipe keeps the rest for later and nothing is lost") {
    OutboxPipe client;
    client.add(Lane::bulk, large('a'));

    client.outbox().flush();

    CHECK(client.outbox().has_unsent());
    CHECK_FALSE(client.outbox().client_is_gone());
    CHECK((client.read_all() == large('a') + "\n"));
}

TEST_CASE("a client that has gone takes everything, and nothing is kept for it") {
    const auto outcome = ew::test::in_child([] {
        ::signal(SIGPIPE, SIG_IGN);
        OutboxPipe client;
        client.add(Lane::bulk, "bulk");
        client.add(Lane::priority, "answer");
        client.leave();

        client.outbox().flush();
        client.add(Lane::bulk, "more");
        client.add(Lane::priority, "more");

        return client.outbox().client_is_gone() && !client.outbox().has_unsent() &&
               client.outbox().bulk_sent() == client.outbox().bulk_queued();
    });

    CHECK(outcome.is_true);
}

TEST_SUITE_END();
