#include "peer/peer_messages.h"
#include "protocol/envelope.h"
#include "server/environment/remote_reports.h"
#include "server/environment/remote_start.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <csignal>
#include <cstdint>
#include <string>

using namespace ew;
using namespace ew::server;
using ew::peer::PeerEnd;
using ew::peer::PeerStarted;
using ew::protocol::Confinement;
using ew::protocol::Enforcement;
using ew::protocol::SandboxType;

namespace {

RemoteStart order_with(Enforcement enforcement) {
    RemoteStart order;
    order.environment = "box";
    order.sandbox.emplace().enforcement = enforcement;
    return order;
}

Error start_error_from(std::string_view json) {
    test::Parsed answer(json);
    protocol::Message message;
    message.is_error = true;
    message.params = answer.value();
    return start_error("make", message);
}

} // namespace

TEST_SUITE_BEGIN("server/remote reports");

TEST_CASE("a number is all of its text") {
    CHECK(number_in("12") == 12);
    CHECK(number_in("18446744073709551615") == UINT64_MAX);
    for (const std::string_view text : {"", "a", "12a", " 12", "-1", "18446744073709551616"})
        CHECK(!number_in(text));
}

TEST_CASE("a whole sandbox satisfies every order") {
    const RemoteStart order = order_with(Enforcement::require);
    const Confinement told = confinement_told({"linuxSeccomp", {}}, order);

    CHECK(told.type == SandboxType::linux_seccomp);
    CHECK(!confinement_error(told, order));
}

TEST_CASE("a sandbox of another kind is one, an unknown one is none") {
    const RemoteStart order = order_with(Enforcement::require);

    CHECK(confinement_told({"macosSeatbelt", {}}, order).type == SandboxType::linux_seccomp);
    CHECK(confinement_told({"none", {}}, order).type == SandboxType::none);
    CHECK(confinement_told({"paper", {}}, order).type == SandboxType::none);
    CHECK(confinement_told({}, order).type == SandboxType::none);
}

TEST_CASE("less than what was required is an error that names what is missing") {
    const RemoteStart order = order_with(Enforcement::require);
    const auto error_of = [&](const PeerStarted& started) {
        return confinement_error(confinement_told(started, order), order).value_or(Error{});
    };

    CHECK(error_of({"none", {}}).kind == ErrorKind::sandbox_unavailable);
    CHECK(error_of({"linuxSeccomp", {"network"}}).message.find("(missing: network)") !=
          std::string::npos);
}

TEST_CASE("an order that asks for the best there is takes what there is") {
    const RemoteStart order = order_with(Enforcement::best_effort);
    const Confinement told = confinement_told({"linuxSeccomp", {"network"}}, order);

    CHECK(told.missing.size() == 1);
    CHECK(!confinement_error(told, order));
    CHECK(!confinement_error(confinement_told({}, order), order));
}

TEST_CASE("without an order nothing is confined, whatever the server says") {
    const Confinement told = confinement_told({"linuxSeccomp", {"network"}}, {});

    CHECK(told.type == SandboxType::none);
    CHECK(told.missing.empty());
}

TEST_CASE("a code that no program can end with is no success") {
    PeerEnd end;
    CHECK(exit_told(end, 5, false).code == -1);
    end.exit_code = std::int64_t{1} << 32;
    CHECK(exit_told(end, 5, false).code == -1);
    end.exit_code = 3;
    CHECK(exit_told(end, 5, false).code == 3);
}

TEST_CASE("the wall time is ours as long as the server tells none") {
    PeerEnd end;
    CHECK(exit_told(end, 5, false).usage.wall_ms == 5);
    CHECK(!exit_told(end, 5, false).is_usage_known);

    end.usage.emplace().wall_ms = 4;
    CHECK(exit_told(end, 5, false).usage.wall_ms == 4);
    CHECK(exit_told(end, 5, false).is_usage_known);
}

TEST_CASE("signals have the names of this system") {
    PeerEnd end;
    end.signal = "SIGTERM";
    CHECK(exit_told(end, 0, false).signal == SIGTERM);
    end.signal = "SIGNOTHING";
    CHECK(exit_told(end, 0, false).signal == 0);
}

TEST_CASE("a hint of the sandbox is told if one was asked for") {
    PeerEnd end;
    end.sandbox_denied = true;
    CHECK(!exit_told(end, 0, false).sandbox_hint);
    CHECK(exit_told(end, 0, true).sandbox_hint);

    end.denials.emplace_back(); // they say more
    CHECK(!exit_told(end, 0, true).sandbox_hint);
    end.sandbox_hint = "a line";
    CHECK(exit_told(end, 0, true).sandbox_hint == "a line");
}

TEST_CASE("an error of a start names the program, and the path as exec/command does") {
    const Error error = start_error_from(R"({"message": "no such file", "data": {"path": "cwd"}})");
    CHECK(error.kind == ErrorKind::spawn_failed);
    CHECK(error.message == "cannot start 'make': no such file");
    CHECK(error.path == "workdir");

    CHECK(start_error_from(R"({"message": "make: not found", "data": {"path": "argv"}})").message ==
          "make: not found");
    CHECK(start_error_from(R"({"message": "make: not found", "data": {"path": "argv"}})")
              .path.empty());
}

TEST_SUITE_END();
