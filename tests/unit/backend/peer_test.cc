#include "backend/peer.h"
#include "backend/peer_messages.h"
#include "support/parsed.h"
#include "support/testing.h"

using namespace ew;
using ew::test::Parsed;
using namespace ew::backend;

namespace {

Peer peer_from(std::string_view json) {
    Parsed answer(json);
    Result<Peer> peer = peer_of(answer.value());
    REQUIRE(peer);
    return *peer;
}

} // namespace

TEST_SUITE("peer") {
    TEST_CASE("execward") {
        const Peer peer = peer_from(R"({"sessionId": "s", "serverInfo":
            {"name": "execward", "version": "1.2"}, "environmentInfo": {"shell":
            {"name": "zsh", "path": "/bin/zsh"}, "executorVersion": "1.2", "cwd": "file:///w%20x"}})");
        CHECK(peer.name == "execward");
        CHECK(peer.version == "1.2");
        CHECK(peer.is_execward);
        CHECK(peer.takes_uris);
        CHECK(peer.confines);
        CHECK(peer.directory == "/w x");
        CHECK(peer.shell.name == "zsh");
        CHECK(peer.shell.path == "/bin/zsh");
        CHECK(peer.path_text("/a b") == "file:///a%20b");
    }

    TEST_CASE("Codex's, now and before") {
        const Peer now = peer_from(R"({"sessionId": "s", "environmentInfo": {"executorVersion":
            "0.171.0", "cwd": "file:///w", "shell": {"name": "bash", "path": "/bin/bash"}}})");
        CHECK(!now.is_execward);
        CHECK(now.takes_uris);
        CHECK(now.confines);
        CHECK(now.version == "0.171.0");

        const Peer between = peer_from(R"({"environmentInfo": {"shell": {"path": "/bin/dash"},
            "cwd": "/w"}})");
        CHECK(!between.takes_uris);
        CHECK(!between.confines);
        CHECK(between.directory == "/w");
        CHECK(between.shell.name == "dash");

        const Peer first = peer_from("{}");
        CHECK(first.name == "exec-server");
        CHECK(!first.takes_uris);
        CHECK(!first.confines);
        CHECK(first.directory.empty());
        CHECK(first.shell.path == "/bin/sh");
        CHECK(first.path_text("/a b") == "/a b");
    }

    TEST_CASE("a shell that is no absolute path is not taken") {
        const Peer peer =
            peer_from(R"({"environmentInfo": {"shell": {"name": "x", "path": "x"}}})");
        CHECK(peer.shell.path == "/bin/sh");
    }

    TEST_CASE("no answer at all") {
        for (const std::string_view json :
             {"null", "[]", "3", R"({"serverInfo": 3})", R"({"environmentInfo": {"cwd": []}})"}) {
            Parsed answer(json);
            Result<Peer> peer = peer_of(answer.value());
            REQUIRE(!peer);
            CHECK(peer.error().kind == ErrorKind::environment_unavailable);
        }
        CHECK(!peer_of(nullptr));
    }

    TEST_CASE("an error keeps its kind if we know it") {
        Parsed known(R"({"code": -32603, "message": "no", "data": {"kind": "spawnNotFound",
            "hint": "look", "path": "cwd"}})");
        const Error error = error_of(known.value(), ErrorKind::spawn_failed);
        CHECK(error.kind == ErrorKind::spawn_not_found);
        CHECK(error.message == "no");
        CHECK(error.hint == "look");
        CHECK(error.path == "cwd");
        Parsed other(R"({"code": 1, "message": "no", "data": {"kind": "strange"}})");
        CHECK(error_of(other.value(), ErrorKind::spawn_failed).kind == ErrorKind::spawn_failed);
        Parsed bare(R"({"code": 1, "message": "no"})");
        CHECK(error_of(bare.value(), ErrorKind::spawn_failed).message == "no");
        Parsed nothing(R"("no")");
        CHECK(error_of(nothing.value(), ErrorKind::spawn_failed).kind == ErrorKind::spawn_failed);
    }

    TEST_CASE("an exit is read whatever it leaves out") {
        Parsed little(R"({"processId": "7", "seq": 3})");
        Result<PeerExited> exited = read_message<PeerExited>(little.value());
        REQUIRE(exited);
        CHECK(!exited->end.exit_code);
        Parsed much(R"({"processId": "7", "seq": 3, "exitCode": 2, "signal": "SIGHUP",
            "sandboxDenied": true, "denials": [{"kind": "file", "count": 2}], "denialCount": 2,
            "usage": {"wallMs": 1, "userMs": 2, "systemMs": 3, "peakRssBytes": 4}, "other": []})");
        exited = read_message<PeerExited>(much.value());
        REQUIRE(exited);
        CHECK(exited->end.exit_code == 2);
        CHECK(exited->end.signal == "SIGHUP");
        CHECK(exited->end.denials.size() == 1);
        CHECK(exited->end.usage->peak_rss_bytes == 4);
        Parsed wrong(R"({"processId": "7", "seq": -3})");
        CHECK(!read_message<PeerExited>(wrong.value()));
    }
}
