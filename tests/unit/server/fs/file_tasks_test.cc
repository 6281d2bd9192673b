#include "server/fs/file_tasks.h"
#include "support/testing.h"

#include <optional>
#include <string>
#include <utility>

namespace {

using ew::files::Verb;
using ew::server::FileTask;
using ew::server::FileTasks;

ew::files::Request request(Verb verb, const std::string& path) {
    ew::files::Request request;
    request.verb = verb;
    request.path = path;
    return request;
}

FileTask& add(FileTasks& tasks, Verb verb, const std::string& path) {
    return tasks.add(request(verb, path), std::nullopt);
}

ew::files::Request writing(std::size_t bytes) {
    ew::files::Request result = request(Verb::write_file, "/a");
    result.data = std::string(bytes, 'x');
    return result;
}

} // namespace

TEST_SUITE_BEGIN("server/fs/file_tasks");

TEST_CASE("a task waits for those of its place that came before it, and for no others") {
    FileTasks tasks;
    const FileTask& first = add(tasks, Verb::write_file, "/a");
    const FileTask& elsewhere = add(tasks, Verb::write_file, "/b");
    const FileTask& second = add(tasks, Verb::read_file, "/a");

    CHECK_FALSE(tasks.must_wait(first));
    CHECK_FALSE(tasks.must_wait(elsewhere));
    CHECK(tasks.must_wait(second));

    tasks.remove(first.serial);
    CHECK_FALSE(tasks.must_wait(second));
}

TEST_CASE("requests are refused when as many wait as may") {
    FileTasks tasks;
    for (std::size_t i = 0; i < FileTasks::most; i++)
        REQUIRE(tasks.add_request(writing(0), std::nullopt));

    ew::Result<FileTask*> refused = tasks.add_request(writing(0), std::nullopt);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ew::ErrorKind::limit);

    tasks.remove(tasks.all().front().serial);
    CHECK(tasks.add_request(writing(0), std::nullopt));
}

TEST_CASE("the bytes of a request count until it is answered") {
    FileTasks tasks;
    ew::Result<FileTask*> large = tasks.add_request(writing(FileTasks::most_bytes), std::nullopt);
    REQUIRE(large);

    CHECK_FALSE(tasks.add_request(writing(1), std::nullopt));

    tasks.remove((*large)->serial);
    CHECK(tasks.add_request(writing(1), std::nullopt));
}

TEST_CASE("when results are too large together, only the largest goes on") {
    FileTasks tasks;
    FileTask& large = add(tasks, Verb::read_file, "/a");
    FileTask& small = add(tasks, Verb::read_file, "/b");
    large.result.append(std::string(FileTasks::most_result_bytes - 1, 'x'));
    CHECK(tasks.may_grow(small.serial));

    small.result.append(std::string("x"));
    CHECK_FALSE(tasks.may_grow(small.serial));
    CHECK(tasks.may_grow(large.serial));
}

TEST_SUITE_END();
