#include "server/environment/pending_requests.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <string>

using ew::ErrorKind;
using ew::Millis;
using ew::TimePoint;
using ew::server::PendingRequest;
using ew::server::PendingRequests;
using ew::server::Reply;
using ew::test::OutboxPipe;
using Kind = ew::server::PendingRequest::Kind;

namespace {

constexpr TimePoint start{};

PendingRequest due_at(Kind kind, int milliseconds) {
    return {kind, 7, {}, start + Millis(milliseconds)};
}

PendingRequest forwarded(OutboxPipe& client, std::string id) {
    PendingRequest request = {Kind::forwarded};
    request.reply.emplace(client.outbox(), ew::json::Id{std::move(id)});
    return request;
}

} // namespace

TEST_SUITE_BEGIN("server/pending requests");

TEST_CASE("an answer finds its request once") {
    PendingRequests requests;
    const std::uint64_t read = requests.add({Kind::read, 3});
    const std::uint64_t write = requests.add({Kind::write, 4});
    CHECK(read != write);

    const std::optional<PendingRequest> taken = requests.take(read);
    REQUIRE(taken);
    CHECK(taken->kind == Kind::read);
    CHECK(taken->process == 3);
    CHECK(!requests.take(read));
    CHECK(requests.size() == 1);
}

TEST_CASE("a request whose answer does not matter is not kept, and takes an id") {
    PendingRequests requests;
    const std::uint64_t first = requests.add({Kind::unwatched, 3});

    CHECK(requests.size() == 0);
    CHECK(requests.add({Kind::read}) == first + 1);
}

TEST_CASE("what is due is taken out in the order in which it was asked") {
    PendingRequests requests;
    (void)requests.add(due_at(Kind::read, 20));
    (void)requests.add(due_at(Kind::terminate, 10));
    (void)requests.add(due_at(Kind::probe, 30));
    CHECK(requests.next_deadline() == start + Millis(10));
    CHECK(requests.take_due(start + Millis(9)).empty());

    const std::vector<PendingRequest> due = requests.take_due(start + Millis(20));
    REQUIRE(due.size() == 2);
    CHECK(due[0].kind == Kind::read);
    CHECK(due[1].kind == Kind::terminate);
    CHECK(requests.has_probe());
    CHECK(requests.next_deadline() == start + Millis(30));
}

TEST_CASE("the late answer to a start still finds it") {
    PendingRequests requests;
    const std::uint64_t id = requests.add(due_at(Kind::start, 10));

    CHECK(requests.take_due(start + Millis(10)).size() == 1);
    CHECK(requests.take_due(start + Millis(10)).empty()); // it is given up once
    CHECK(!requests.next_deadline());
    const std::optional<PendingRequest> late = requests.take(id);
    REQUIRE(late);
    CHECK(late->process == 7);
}

TEST_CASE("deadlines are put off, but not brought forward") {
    PendingRequests requests;
    (void)requests.add(due_at(Kind::read, 10));
    (void)requests.add({Kind::write});

    requests.postpone(start + Millis(50));
    CHECK(requests.next_deadline() == start + Millis(50));
    requests.postpone(start + Millis(40));
    CHECK(requests.next_deadline() == start + Millis(50));
}

TEST_CASE("a client may cancel what was passed on for it") {
    OutboxPipe client;
    PendingRequests requests;
    (void)requests.add({Kind::read});
    (void)requests.add(forwarded(client, "8"));

    CHECK(!requests.cancel({"9"}));
    CHECK(requests.cancel({"8"}));
    CHECK(!requests.cancel({"8"}));
    CHECK(client.read_all().find("\"kind\":\"cancelled\"") != std::string::npos);
    CHECK(requests.size() == 1);
}

TEST_CASE("when the connection ends all clients get its error") {
    OutboxPipe client;
    PendingRequests requests;
    (void)requests.add({Kind::start, 7});
    (void)requests.add(forwarded(client, "8"));

    requests.fail_all({ErrorKind::environment_lost, "it is lost"});

    CHECK(client.read_all().find("it is lost") != std::string::npos);
    CHECK(requests.size() == 0);
}

TEST_SUITE_END();
