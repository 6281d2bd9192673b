#include "protocol/process_output.h"
#include "server/local/local_backend.h"
#include "server/process/process_table.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

using namespace ew;
using namespace ew::server;

namespace {

const TimePoint start = clock_now();

// A program on this machine that has printed what the test says, and a client that reads it.
class Reader {
public:
    Reader() : process(*processes_.table().add("p", {}, local_, 0)) {
        process.local = std::make_unique<LocalProcess>();
        process.start.is_over = true;
    }

    void print(std::string_view text) {
        (void)processes_.delivery().append(process, core::Stream::out, text);
        now = now + Millis(1);
    }

    Result<void> read(const protocol::ReadParams& params) {
        ReadQueue::Waiting waiting = {Reply(client_.outbox(), {"1"}), params,
                                      deadline_after(now, params.wait_ms.value_or(60'000))};
        Result<void> begun = process.reads.begin_watch(process, waiting);
        if (begun)
            process.reads.add(std::move(waiting));
        else
            waiting.reply.send_null();
        return begun;
    }

    // Returns the waitEnd of the answer, or an empty text while there is none.
    std::string end() {
        process.reads.wake(process, now, client_.outbox());
        const std::string sent = client_.read_all();
        const std::size_t at = sent.find("\"waitEnd\":");
        return at == std::string::npos ? "" : sent.substr(at + 10, sent.size() - at - 13);
    }

    TimePoint now = start;

private:
    os::Poller poller_;
    os::Poller bulk_poller_;
    test::OutboxPipe client_;
    ProcessService processes_{{}, client_.outbox(), now};
    LocalBackend local_{{}, processes_, {poller_, bulk_poller_}, os::Cookies::for_this_process()};

public:
    Process& process;
};

protocol::ReadParams until(const protocol::Until& what) {
    protocol::ReadParams params;
    params.process_id = "p";
    params.until = what;
    return params;
}

protocol::Until text(std::string wanted) {
    protocol::Until until;
    until.pattern = protocol::UntilPattern{std::move(wanted), {}};
    return until;
}

} // namespace

TEST_SUITE_BEGIN("server/read_queue");

TEST_CASE("a text ends the wait, also in two pieces, and other output does not") {
    Reader reader;
    REQUIRE(reader.read(until(text("ready"))));
    reader.print("it is rea");
    CHECK(reader.end().empty());
    reader.print("dy now");

    CHECK(reader.end() == R"({"reason":"pattern","match":{"text":"ready","line":1,"offset":6}})");
    CHECK(reader.process.reads.size() == 0);
}

TEST_CASE("output counts from where the answer begins, or from where the request says") {
    Reader reader;
    reader.print("once\n");
    reader.process.log.cut_all();
    protocol::ReadParams params = until(text("once"));
    params.after_seq = 1;
    REQUIRE(reader.read(params));
    CHECK(reader.end().empty());
    params.until->from = 0;
    REQUIRE(reader.read(params));

    CHECK(reader.end() == R"({"reason":"pattern","match":{"text":"once","line":1,"offset":0}})");
}

TEST_CASE("silence ends a wait after output, and time ends any") {
    Reader reader;
    protocol::Until quiet;
    quiet.quiet_ms = 100;
    protocol::ReadParams params = until(quiet);
    params.wait_ms = 1000;
    REQUIRE(reader.read(params));
    CHECK(reader.process.reads.next_deadline(reader.process) == start + Millis(1000));
    reader.print("x");
    CHECK(reader.process.reads.next_deadline(reader.process) == start + Millis(100));
    CHECK(reader.end().empty());
    reader.now = start + Millis(100);
    CHECK(reader.end() == R"({"reason":"quiet"})");

    params.until = text("never");
    REQUIRE(reader.read(params));
    reader.now = start + Millis(1100);
    CHECK(reader.end() == R"({"reason":"time"})");
}

TEST_CASE("the end of the program ends a wait, unless its last output does") {
    Reader reader;
    REQUIRE(reader.read(until(text("last"))));
    REQUIRE(reader.read(until(text("never"))));
    reader.print("last words");
    reader.process.exit.emplace();
    reader.process.exit_is_logged = true;

    CHECK(reader.end().find(R"("reason":"pattern")") != std::string::npos);
    REQUIRE(reader.read(until(text("never"))));
    CHECK(reader.end() == R"({"reason":"exit"})");
}

TEST_CASE("only some requests with until may wait for one process") {
    Reader reader;
    for (std::size_t i = 0; i < ReadQueue::most_watching; ++i)
        REQUIRE(reader.read(until(text("never"))));

    CHECK(reader.read(until(text("never"))).error().kind == ErrorKind::limit);
    CHECK(reader.process.reads.cancel({"1"}));
    CHECK(reader.read(until(text("never"))));
    reader.now = start + Millis(60'000);
    CHECK_FALSE(reader.end().empty());
}

TEST_CASE("what cannot be looked for is refused with the member that is wrong") {
    Reader reader;
    protocol::Until both = text("a");
    both.pattern->regex = "b";

    CHECK(reader.read(until(both)).error().path == "until.pattern");
    CHECK(reader.read(until(text(""))).error().path == "until.pattern.text");
}

TEST_SUITE_END();
