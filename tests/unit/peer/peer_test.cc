#include "peer/peer.h"
#include "peer/peer_messages.h"
#include "support/parsed.h"
#include "support/testing.h"

using namespace ew;
using ew::test::Parsed;
using namespace ew::peer;

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

    TEST_CASE("a directory that is no plain path counts as not told") {
        const auto directory = [](const std::string& cwd) {
            return peer_from(R"({"environmentInfo": {"cwd": ")" + cwd + R"("}})").directory;
        };
        CHECK(directory("/a//b/./c/") == "/a/b/c");
        CHECK(directory("/a/../../etc").empty());
        CHECK(directory("file:///a/%2e%2e/b").find("..") == std::string::npos);
        CHECK(directory("a").empty());
        CHECK(directory("").empty());
        CHECK(directory("/a\\u0000b").empty());
        CHECK(directory("/" + std::string(4095, 'a')).size() == 4096);
        CHECK(directory("/" + std::string(4096, 'a')).empty());
    }

    TEST_CASE("a shell of any length is not taken") {
        const auto shell = [](const std::string& name, const std::string& path) {
            return peer_from(R"({"environmentInfo": {"shell": {"name": ")" + name +
                             R"(", "path": ")" + path + R"("}}})")
                .shell;
        };
        CHECK(shell("x", "/" + std::string(4095, 'a')).path.size() == 4096);
        CHECK(shell("x", "/" + std::string(4096, 'a')).path == "/bin/sh");
        CHECK(shell(std::string(201, 'n'), "/bin/zsh").name == "zsh");
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

    TEST_CASE("names have a bound, each and together") {
        std::string list = R"(")" + std::string(199, 'x') + "\xc3\xa9" + R"(")";
        for (int i = 1; i < 64; ++i)
            list += R"(, "name")";
        Parsed all("{\"missing\": [" + list + "]}");
        Result<PeerStarted> started = read_message<PeerStarted>(all.value());
        REQUIRE(started);
        CHECK(started->missing.size() == 64);
        CHECK(started->missing.front() == std::string(199, 'x') + "…");
        CHECK(started->missing.back() == "name");
        Parsed more("{\"missing\": [" + list + R"(, "a", "b"]})");
        started = read_message<PeerStarted>(more.value());
        REQUIRE(started);
        CHECK(started->missing.size() == 64);
        CHECK(started->missing.back() == "and 3 more");
        Parsed limits(R"({"processId": "7", "seq": 3, "limitHits": [)" + list + R"(, "a", "b"]})");
        Result<PeerExited> exited = read_message<PeerExited>(limits.value());
        REQUIRE(exited);
        CHECK(exited->end.limit_hits.size() == 64);
        CHECK(exited->end.limit_hits.back() == "and 3 more");
    }

    TEST_CASE("what waits with an end has a bound") {
        const std::string text(100000, 'x');
        std::string denials =
            R"({"kind": ")" + text + R"(", "count": 1, "target": ")" + text + "\"}";
        for (int i = 1; i < 1000; ++i)
            denials += R"(, {"kind": "file", "count": 1})";
        Parsed much(R"({"chunks": [], "nextSeq": 1, "denials": [)" + denials +
                    R"(], "sandboxHint": ")" + text + R"(", "signal": ")" + text + "\"}");
        Result<PeerReadResult> result = read_message<PeerReadResult>(much.value());
        REQUIRE(result);
        CHECK(result->end.denials.size() == 256);
        CHECK(result->end.denial_count == 1000);
        CHECK(result->end.denials[0].kind.size() == 2000);
        CHECK(result->end.denials[0].target->size() == 2000);
        CHECK(result->end.sandbox_hint->size() == 2000);
        CHECK(result->end.signal->size() == 2000);
    }

    TEST_CASE("survivors are numbers that a process can have, and not too many") {
        std::string list = "0, -1, 2147483648, 9223372036854775807, 1, 2147483647";
        Parsed some("{\"survivors\": [" + list + "]}");
        Result<PeerTerminated> ended = read_message<PeerTerminated>(some.value());
        REQUIRE(ended);
        CHECK(ended->survivors == std::vector<std::int64_t>{1, 2147483647});
        for (int i = 0; i < 100; ++i)
            list += ", 7";
        Parsed many("{\"survivors\": [" + list + "]}");
        ended = read_message<PeerTerminated>(many.value());
        REQUIRE(ended);
        CHECK(ended->survivors.size() == 64);
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
