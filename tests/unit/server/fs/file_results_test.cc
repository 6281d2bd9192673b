#include "os/poller.h"
#include "server/fs/file_results.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using ew::ErrorKind;
using ew::files::Verb;
using ew::server::FileTask;
using ew::server::PatchFileReport;

struct Scene {
    ew::os::Poller poller;
    ew::test::OutboxPipe client;
    ew::server::FileTasks tasks;
    ew::server::FileHandles handles;
    ew::server::FileWatches watches{poller};
    ew::server::FileResults results{tasks, handles, watches, client.outbox()};

    FileTask& add(Verb verb) {
        ew::files::Request request;
        request.verb = verb;
        request.path = "/a";
        return tasks.add(std::move(request), std::nullopt);
    }
};

} // namespace

TEST_SUITE_BEGIN("server/fs/file_results");

TEST_CASE("a task that is finished is answered as it is, though it is refused later") {
    Scene scene;
    FileTask& task = scene.add(Verb::patch_apply);
    task.patch = 7;
    task.result.append(std::string("report"));
    scene.results.finish(task, {}, {}, {});

    scene.results.refuse(task, {ErrorKind::shutting_down, "the server is ending"});

    std::vector<PatchFileReport> reports = scene.results.take_reports();
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].patch == 7);
    REQUIRE(reports[0].report);
    CHECK(*reports[0].report == "report");
    CHECK(scene.tasks.is_empty());
}

TEST_CASE("a task that is not finished is refused with the reason") {
    Scene scene;
    FileTask& task = scene.add(Verb::write_file);
    task.reply.emplace(scene.client.outbox(), ew::json::Id{"7"});

    scene.results.refuse(task, {ErrorKind::shutting_down, "the server is ending"});

    CHECK(scene.client.read_all().find("the server is ending") != std::string::npos);
    CHECK(scene.tasks.is_empty());
}

TEST_CASE("a file whose descriptor did not arrive is not open") {
    Scene scene;
    FileTask& task = scene.add(Verb::open);
    task.handle = task.serial;
    task.handle_id = "name";
    scene.handles.add(task);

    scene.results.finish(task, {}, {}, {});

    REQUIRE(task.error);
    CHECK(task.error->kind == ErrorKind::limit);
    CHECK(scene.handles.allows("name"));
}

TEST_SUITE_END();
