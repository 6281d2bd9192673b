#include "core/screen/screen.h"
#include "mcp/resource_list.h"
#include "protocol/exec_list.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using namespace ew;
using namespace ew::mcp;

namespace {

protocol::ExecProcessInfo process(bool tty) {
    protocol::ExecProcessInfo info;
    info.process_id = "1000";
    info.argv = {"top"};
    info.tty = tty;
    info.state = protocol::ExecProcessState::running;
    return info;
}

bool lists(const std::string& list, std::string_view part) {
    return list.find(part) != std::string::npos;
}

} // namespace

TEST_SUITE_BEGIN("mcp/resource_list");

TEST_CASE("each resource of a process is found by its URI") {
    for (const ResourceKind kind : every_kind) {
        const auto name = resource_named(uri_of("1000", kind));
        REQUIRE(name);
        CHECK(name->process == "1000");
        CHECK(name->kind == kind);
    }
}

TEST_CASE("no other URI is one of a process") {
    for (const std::string_view uri :
         {"", "file:///etc/passwd", "execward://process/", "execward://process/output",
          "execward://process//output", "execward://process/1/2/screen", "execward://process/1",
          "execward://process/1/screens", "execward://process/1/Cast", "http://process/1/cast"})
        CHECK_MESSAGE(!resource_named(uri), uri);
}

TEST_CASE("a terminal has a cast, and a screen where there is the library") {
    const std::string terminal = resource_list({process(true)});
    CHECK(lists(terminal, R"("uri":"execward://process/1000/output")"));
    CHECK(lists(terminal, R"("uri":"execward://process/1000/cast")"));
    CHECK(lists(terminal, R"("mimeType":"application/x-asciicast")"));
    CHECK(lists(terminal, "/screen") == core::Screen::is_available());
    CHECK(lists(template_list(), "/screen") == core::Screen::is_available());

    const std::string pipes = resource_list({process(false)});
    CHECK(lists(pipes, "/output"));
    CHECK_FALSE(lists(pipes, "/cast"));
    CHECK_FALSE(lists(pipes, "/screen"));
}

TEST_SUITE_END();
