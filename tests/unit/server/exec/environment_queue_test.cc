#include "server/exec/environment_queue.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <string>
#include <utility>
#include <vector>

using namespace ew;
using namespace ew::server;

namespace {

class Client {
public:
    void wait(std::string id, std::string environment, std::uint64_t connection) {
        QueuedCall call = {Reply(pipe_.outbox(), {std::move(id)}), {}, std::move(environment)};
        queue.add(std::move(call), connection);
    }

    // The ids of the calls that go on after this news.
    std::string taken(std::string environment, std::uint64_t connection) {
        std::string ids;
        for (QueuedCall& call : queue.take({std::move(environment), connection, {}})) {
            ids += call.reply.id().json;
            call.reply.send_null();
        }
        return ids;
    }

    std::string sent() { return pipe_.read_all(); }

private:
    test::OutboxPipe pipe_;

public:
    EnvironmentQueue queue;
};

} // namespace

TEST_SUITE_BEGIN("server/environment_queue");

TEST_CASE("news of an environment is for the calls that wait for it") {
    Client client;
    client.wait("1", "a", 1);
    client.wait("2", "b", 2);
    client.wait("3", "a", 1);

    CHECK(client.taken("a", 1) == "13");
    CHECK(client.queue.size() == 1);
    CHECK(client.taken("a", 1).empty());
}

TEST_CASE("a call that waits for a later connection stays") {
    Client client;
    client.wait("1", "a", 1);
    client.wait("2", "a", 3);

    CHECK(client.taken("a", 2) == "1");
    CHECK(client.taken("a", 3) == "2");
}

TEST_CASE("each wait for a connection is a try") {
    Client client;
    client.wait("1", "a", 1);
    std::vector<QueuedCall> calls = client.queue.take({"a", 1, {}});
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].tries == 1);

    client.queue.add(std::move(calls[0]), 2);

    calls = client.queue.take({"a", 2, {}});
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].tries == 2);
}

TEST_CASE("a cancelled call is answered, and the others go on") {
    Client client;
    client.wait("1", "a", 1);
    client.wait("2", "a", 1);

    CHECK_FALSE(client.queue.cancel({"3"}));
    CHECK(client.queue.cancel({"1"}));

    CHECK(client.sent().find("\"id\":1,\"error\":{") != std::string::npos);
    CHECK(client.taken("a", 1) == "2");
}
