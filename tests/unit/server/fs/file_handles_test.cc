#include "os/io.h"
#include "server/fs/file_handles.h"
#include "support/testing.h"

#include <string>
#include <utility>
#include <vector>

namespace {

using ew::ErrorKind;
using ew::UniqueFd;
using ew::files::Verb;
using ew::server::FileHandles;
using ew::server::FileTask;

FileTask task(std::uint64_t serial, Verb verb, std::uint64_t handle) {
    ew::files::Request request;
    request.verb = verb;
    FileTask result(serial, std::move(request));
    result.handle = handle;
    return result;
}

FileTask opening(Verb verb) {
    FileTask result = task(1, verb, 1);
    result.request.path = "/tmp/file";
    result.handle_id = "name";
    return result;
}

std::vector<UniqueFd> two_descriptors() {
    ew::Result<ew::os::Pipe> pipe = ew::os::make_pipe();
    REQUIRE(pipe);
    std::vector<UniqueFd> result;
    result.push_back(std::move(pipe->read));
    result.push_back(std::move(pipe->write));
    return result;
}

// With a file that is to be replaced and whose handle is open.
FileHandles replacing() {
    FileHandles handles;
    const FileTask open = opening(Verb::open_replace);
    handles.add(open);
    ew::files::Done done;
    done.path = "token";
    REQUIRE(handles.keep_open(open, done, two_descriptors()));
    return handles;
}

} // namespace

TEST_SUITE_BEGIN("server/fs/file_handles");

TEST_CASE("a name is taken from the request to open a file until the request to close it") {
    FileHandles handles;
    handles.add(opening(Verb::open));

    ew::Result<void> again = handles.allows("name");
    REQUIRE_FALSE(again);
    CHECK(again.error().kind == ErrorKind::handle_exists);

    handles.free_name("name");
    CHECK(handles.allows("name"));
    CHECK_FALSE(handles.find("name"));
}

TEST_CASE("a file is not at hand before it is open") {
    FileHandles handles;
    handles.add(opening(Verb::open));
    FileTask read = task(2, Verb::read_block, 1);

    ew::Result<std::vector<int>> descriptors = handles.descriptors_for(read);

    REQUIRE_FALSE(descriptors);
    CHECK(descriptors.error().kind == ErrorKind::unknown_handle);
}

TEST_CASE("what is opened to be replaced is written and committed, and not read") {
    const FileHandles handles = replacing();
    FileTask read = task(2, Verb::read_block, 1);
    FileTask write = task(3, Verb::write_block, 1);
    FileTask commit = task(4, Verb::commit, 1);

    CHECK_FALSE(handles.descriptors_for(read));
    CHECK(handles.descriptors_for(write)->size() == 1);
    CHECK(handles.descriptors_for(commit)->size() == 2);
    CHECK(commit.request.path == "token");
}

TEST_CASE("a file of which a block was not written is not put in its place") {
    FileHandles handles = replacing();
    handles.note_failure(task(2, Verb::write_block, 1), {ErrorKind::disk_full, "no room"});
    FileTask commit = task(3, Verb::commit, 1);

    ew::Result<std::vector<int>> descriptors = handles.descriptors_for(commit);

    REQUIRE_FALSE(descriptors);
    CHECK(descriptors.error().kind == ErrorKind::disk_full);
    CHECK(descriptors.error().message.find("'/tmp/file' was left as it was") == 0);
}

TEST_CASE("a file that could not be opened frees its name") {
    FileHandles handles;
    const FileTask open = opening(Verb::open);
    handles.add(open);

    handles.note_failure(open, {ErrorKind::not_found, "no such file"});

    CHECK(handles.allows("name"));
}

TEST_SUITE_END();
