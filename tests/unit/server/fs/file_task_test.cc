#include "server/fs/file_task.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using ew::files::Verb;
using ew::server::FileTask;
using ew::server::must_wait;

FileTask task(Verb verb, const std::string& path, const std::string& other = "") {
    ew::files::Request request;
    request.verb = verb;
    request.path = path;
    request.other_path = other;
    return {1, std::move(request)};
}

FileTask block(Verb verb, std::uint64_t handle) {
    FileTask result = task(verb, "");
    result.handle = handle;
    return result;
}

} // namespace

TEST_CASE("reading requests never wait for each other") {
    CHECK_FALSE(must_wait(task(Verb::read_file, "/a"), task(Verb::read_file, "/a")));
    CHECK_FALSE(must_wait(task(Verb::walk, "/a"), task(Verb::metadata, "/a/b")));
}

TEST_CASE("what writes and what looks at the same path keep their order") {
    CHECK(must_wait(task(Verb::read_file, "/a/b"), task(Verb::write_file, "/a/b")));
    CHECK(must_wait(task(Verb::write_file, "/a/b"), task(Verb::read_file, "/a/b")));
    CHECK(must_wait(task(Verb::remove, "/a"), task(Verb::write_file, "/a/b")));
    CHECK(must_wait(task(Verb::write_file, "/a/b/c"), task(Verb::create_directory, "/a/b")));
}

TEST_CASE("paths that only begin alike are different places") {
    CHECK_FALSE(must_wait(task(Verb::write_file, "/a/bc"), task(Verb::write_file, "/a/b")));
    CHECK_FALSE(must_wait(task(Verb::remove, "/ab"), task(Verb::write_file, "/a/b")));
}

TEST_CASE("a copy keeps its order with both of its paths") {
    const FileTask copy = task(Verb::copy, "/from/x", "/to/y");

    CHECK(must_wait(copy, task(Verb::write_file, "/from/x")));
    CHECK(must_wait(task(Verb::read_file, "/to/y/z"), copy));
    CHECK_FALSE(must_wait(task(Verb::read_file, "/to/z"), copy));
}

TEST_CASE("requests of one handle keep their order, those of two do not wait") {
    CHECK(must_wait(block(Verb::read_block, 7), block(Verb::read_block, 7)));
    CHECK_FALSE(must_wait(block(Verb::write_block, 8), block(Verb::write_block, 7)));
}

TEST_CASE("what comes after the close of a replaced file sees the new content") {
    FileTask close = task(Verb::commit, "", "/srv/f");
    close.handle = 7;

    CHECK(must_wait(task(Verb::read_file, "/srv/f"), close));
    CHECK_FALSE(must_wait(task(Verb::read_file, "/srv/g"), close));
}
