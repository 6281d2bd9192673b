#include "server/session/session.h"
#include "support/testing.h"

#include <string>

using ew::ErrorKind;
using ew::protocol::InitializeParams;
using ew::server::Session;
using Phase = ew::server::Session::Phase;

namespace {

InitializeParams from(const std::string& name) {
    InitializeParams params;
    params.client_name = name;
    return params;
}

} // namespace

TEST_SUITE_BEGIN("server/session");

TEST_CASE("a connection is ready after initialize and initialized") {
    Session session({}, 1);
    CHECK(session.check_ready().error().kind == ErrorKind::not_initialized);

    CHECK(session.initialize(from("me")));
    CHECK(session.check_ready().error().kind == ErrorKind::not_initialized);

    session.note_initialized();
    CHECK(session.check_ready());
}

TEST_CASE("initialized before initialize changes nothing") {
    Session session({}, 1);

    session.note_initialized();

    CHECK(session.phase() == Phase::new_connection);
}

TEST_CASE("a second initialize is refused") {
    Session session({}, 1);
    CHECK(session.initialize(from("me")));

    CHECK(session.initialize(from("me")).error().kind == ErrorKind::invalid_request);
}

TEST_CASE("a client has to say who it is, by name or by info") {
    Session session({}, 1);
    ew::Result<ew::protocol::InitializeResult> nameless = session.initialize({});
    REQUIRE_FALSE(nameless);
    CHECK(nameless.error().path == "clientName");

    InitializeParams params;
    params.client_info.emplace().name = "me";
    CHECK(session.initialize(params));
}

TEST_CASE("a session to resume is unknown, and the client may begin a new one") {
    ew::server::SessionSetup setup;
    setup.config.database = ":memory:";
    Session session(setup, 1);
    InitializeParams params = from("me");
    params.resume_session_id = "session-1";
    CHECK(session.initialize(params).error().kind == ErrorKind::unknown_session);

    CHECK(session.initialize(from("me")));
}

TEST_CASE("after shutdown nothing is served") {
    Session session({}, 1);
    CHECK(session.initialize(from("me")));
    session.note_initialized();

    session.shut_down();

    CHECK(session.check_ready().error().kind == ErrorKind::shutting_down);
}

TEST_CASE("session ids are random unless tests want to know them") {
    Session known({}, true);
    CHECK(known.initialize(from("me"))->session_id == "session-1");

    Session first({}, false);
    Session second({}, false);
    const std::string first_id = first.initialize(from("me"))->session_id;
    CHECK(first_id.size() == 36);
    CHECK(first_id != second.initialize(from("me"))->session_id);
}

TEST_CASE("what the client said about itself is kept") {
    Session session({}, 1);
    InitializeParams params = from("me");
    params.process_id = 4711;
    params.capabilities.emplace().extensions = true;

    CHECK(session.initialize(params));

    CHECK(session.client_process() == 4711);
    CHECK(session.wants_extensions());
}

TEST_CASE("the environment names places that exist in the form of absolute paths") {
    const Session session({}, 1);

    CHECK(session.environment().cwd.native.starts_with('/'));
    CHECK(session.environment().shell.path.starts_with('/'));
    CHECK(session.environment().temp_dir.native.starts_with('/'));
    CHECK(session.environment().platform_os == "linux");
}

TEST_SUITE_END();
