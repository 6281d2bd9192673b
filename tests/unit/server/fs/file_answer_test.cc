#include "server/fs/file_answer.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using ew::files::Frame;
using ew::files::FrameKind;
using ew::files::Verb;
using ew::server::FileTask;

FileTask task(Verb verb) {
    ew::files::Request request;
    request.verb = verb;
    return {1, std::move(request)};
}

void take(FileTask& task, FrameKind kind, const std::string& body) {
    CHECK(ew::server::take_frame(task, Frame{kind, body, 0}));
}

std::string text(const FileTask& task) {
    return std::string(task.result.view());
}

std::string entries(std::initializer_list<ew::files::Entry> list) {
    std::string body;
    for (const ew::files::Entry& entry : list)
        ew::files::append(body, entry);
    return body;
}

} // namespace

TEST_CASE("the pieces of a file become one base64 text") {
    FileTask read = task(Verb::read_file);

    take(read, FrameKind::text, "YWJj");
    take(read, FrameKind::text, "ZA==");
    ew::server::finish_result(read, {});

    CHECK(text(read) == R"({"dataBase64":"YWJjZA=="})");
}

TEST_CASE("an empty file, directory and walk have results too") {
    FileTask read = task(Verb::read_file);
    FileTask list = task(Verb::read_directory);
    FileTask walk = task(Verb::walk);

    ew::server::finish_result(read, {});
    ew::server::finish_result(list, {});
    ew::server::finish_result(walk, {});

    CHECK(text(read) == R"({"dataBase64":""})");
    CHECK(text(list) == R"({"entries":[]})");
    CHECK(text(walk) == R"({"entries":[],"errors":[],"truncated":false})");
}

TEST_CASE("entries that come in two frames are one list") {
    FileTask list = task(Verb::read_directory);

    take(list, FrameKind::entries, entries({{"a", true, false}, {"b\"", false, true}}));
    take(list, FrameKind::entries, entries({{"\xff", false, false}}));
    ew::server::finish_result(list, {});

    CHECK(text(list) == R"({"entries":[{"fileName":"a","isDirectory":true,"isFile":false},)"
                        R"({"fileName":"b\"","isDirectory":false,"isFile":true},)"
                        "{\"fileName\":\"\xef\xbf\xbd\",\"isDirectory\":false,\"isFile\":false}]}");
}

TEST_CASE("a walk tells what it could not look at, and that it was cut short") {
    FileTask walk = task(Verb::walk);
    std::string problems;
    ew::files::append(problems, ew::files::Problem{"/r/x", "Permission denied"});
    ew::files::Done done;
    done.is_truncated = true;

    take(walk, FrameKind::entries, entries({{"/r/d", true, false}, {"/r/f g", false, true}}));
    take(walk, FrameKind::problems, problems);
    ew::server::finish_result(walk, done);

    CHECK(text(walk) == R"({"entries":[{"path":"file:///r/d","kind":"directory"},)"
                        R"({"path":"file:///r/f%20g","kind":"file"}],)"
                        R"("errors":[{"path":"file:///r/x","message":"Permission denied"}],)"
                        R"("truncated":true})");
}

TEST_CASE("a block says whether the file ends with it") {
    FileTask block = task(Verb::read_block);
    ew::files::Done done;
    done.is_end = true;

    take(block, FrameKind::text, "YQ==");
    ew::server::finish_result(block, done);

    CHECK(text(block) == R"({"chunk":"YQ==","eof":true})");
}

TEST_CASE("what was refused in a sandbox says so") {
    const ew::files::Failed refused = {ew::files::Trouble::read_only, "/x: Read-only file system"};

    CHECK(ew::server::error_of(refused, true).hint.find("sandbox") != std::string::npos);
    CHECK(ew::server::error_of(refused, false).hint.empty());
    CHECK(ew::server::error_of({ew::files::Trouble::not_found, "x"}, true).hint.empty());
}
