#include "server/local/local_backend.h"
#include "server/process/cast.h"
#include "server/process/process_table.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <memory>
#include <string>
#include <string_view>

using namespace ew;
using namespace ew::server;

namespace {

const TimePoint start = TimePoint() + Millis(5000);

// A program on a terminal, whose output comes when the test says.
class Played {
public:
    explicit Played(core::OutputLimits limits = {})
        : process(*processes_.table().add("p", limits, local_, 0)) {
        process.local = std::make_unique<LocalProcess>();
        process.start.is_over = true;
        process.request.argv = {"top"};
        process.request.terminal = os::WindowSize{};
        process.request.environment = {{"TERM", "xterm"}};
        process.started_at = start;
        process.started_at_ms = 1'780'000'000'500;
    }

    void print(int at, std::string_view text) {
        now_ = start + Millis(at);
        (void)processes_.delivery().append(process, core::Stream::pty, text);
        while (process.log.has_undelivered()) {
            (void)process.log.next_undelivered();
            process.log.mark_delivered();
        }
    }

    void resize(int at, core::ScreenSize size) {
        process.sizes.note(process.log.end(), size, start + Millis(at));
    }

    std::string cast(protocol::CastFormat format = protocol::CastFormat::v3) {
        const protocol::CastResult result = cast_of(process, format);
        is_complete = result.complete;
        return result.cast;
    }

    bool is_complete = true;

private:
    os::Poller poller_;
    os::Poller bulk_poller_;
    test::OutboxPipe client_;
    TimePoint now_ = start;
    ProcessService processes_{{}, client_.outbox(), now_};
    LocalBackend local_{{}, processes_, {poller_, bulk_poller_}, os::Cookies::for_this_process()};

public:
    Process& process;
};

} // namespace

TEST_SUITE_BEGIN("server/cast");

TEST_CASE("a cast tells when output came, and when the size changed") {
    Played played;
    played.print(100, "one");
    played.print(103, " two"); // within a step
    played.resize(250, {30, 100});
    played.print(300, "three");
    played.resize(400, {24, 80});

    CHECK(
        played.cast() ==
        R"({"version":3,"term":{"cols":80,"rows":24,"type":"xterm"},"timestamp":1780000000,"command":"top"})"
        "\n[0.100, \"o\", \"one two\"]\n"
        "[0.150, \"r\", \"100x30\"]\n"
        "[0.050, \"o\", \"three\"]\n"
        "[0.100, \"r\", \"80x24\"]\n");
    CHECK(played.is_complete);
    CHECK(played.cast(protocol::CastFormat::v2).find("[0.300, \"o\", \"three\"]\n") !=
          std::string::npos);
}

TEST_CASE("a cast of a program that has ended ends with its status") {
    Played played;
    played.print(20, "x");
    played.process.exit.emplace();
    played.process.exit->code = 7;
    played.process.exit->usage.wall_ms = 50;
    played.process.exit_is_logged = true;

    CHECK(played.cast().ends_with("[0.030, \"x\", \"7\"]\n"));
}

TEST_CASE("a cast without its beginning begins with the oldest line that is kept, and says so") {
    Played played({.retained_bytes = 1000, .chunk_bytes = 250, .entries = 64});
    for (int i = 1; i <= 400; ++i)
        played.print(100 * i, "line\n");
    const std::string cast = played.cast();

    CHECK_FALSE(played.is_complete);
    CHECK(cast.find("\n[0.000, \"m\", \"1005 bytes of output before this are no longer kept\"]\n"
                    "[0.000, \"o\", \"line\\n\"]\n[0.100, \"o\", \"line\\n\"]\n") !=
          std::string::npos);
    CHECK(cast.find("\"timestamp\":1780000020,") != std::string::npos);
}

TEST_SUITE_END();
