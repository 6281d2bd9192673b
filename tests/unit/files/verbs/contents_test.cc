#include "files/wire.h"
#include "json/base64.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <string>

using namespace ew;
using namespace ew::files;
using test::carried_out;
using test::Outcome;
using test::request_for;

namespace {

std::string content_of(const Outcome& outcome) {
    REQUIRE(outcome.message().empty());
    const std::optional<std::string> bytes = json::decode_base64(outcome.text);
    REQUIRE(bytes.has_value());
    return *bytes;
}

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        text[i] = static_cast<char>(i * 7 + i / 251);
    return text;
}

Outcome block_of(int file, std::uint64_t offset, std::uint64_t length) {
    Request request = request_for(Verb::read_block, "");
    request.offset = offset;
    request.length = length;
    return carried_out(request, {file});
}

Outcome put_block(int file, std::uint64_t offset, std::string data) {
    Request request = request_for(Verb::write_block, "");
    request.offset = offset;
    request.data = std::move(data);
    return carried_out(request, {file});
}

UniqueFd open_new(const std::string& path, int flags = O_RDWR) {
    UniqueFd file(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(file.get() >= 0);
    return file;
}

} // namespace

TEST_CASE("a file is read whole, whatever its size, as one base64 text") {
    const test::TempDirectory directory;
    constexpr std::size_t piece = 144 << 10; // of which one frame is made
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3},
                                   piece - 1, piece, piece + 1, 3 * piece + 2}) {
        CAPTURE(size);
        const std::string text = pattern(size);
        const std::string path = directory.write("file", text);
        CHECK(content_of(carried_out(request_for(Verb::read_file, path))) == text);
    }
}

TEST_CASE("files that say they are empty are read to their end") {
    const std::string status =
        content_of(carried_out(request_for(Verb::read_file, "/proc/self/status")));
    CHECK(status.find("Name:") != std::string::npos);
}

TEST_CASE("content beyond the longest is refused with the size, and what to use instead") {
    const test::TempDirectory directory;
    const UniqueFd file = open_new(directory.path("file"));
    REQUIRE(::ftruncate(file.get(), static_cast<off_t>(longest_content)) == 0);
    CHECK(carried_out(request_for(Verb::read_file, directory.path("file"))).message().empty());
    REQUIRE(::ftruncate(file.get(), static_cast<off_t>(longest_content + 1)) == 0);
    const Outcome outcome = carried_out(request_for(Verb::read_file, directory.path("file")));
    CHECK(outcome.failed_as(Trouble::limit));
    CHECK(outcome.message().find(std::to_string(longest_content)) != std::string::npos);
    CHECK(outcome.message().find("fs/readBlock") != std::string::npos);
    CHECK(carried_out(request_for(Verb::open, directory.path("file"))).message().empty());
}

TEST_CASE("only regular files are read and opened, links to them too") {
    const test::TempDirectory directory;
    directory.write("file", "text");
    directory.make("directory");
    REQUIRE(::symlink("file", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("missing", directory.path("nowhere").c_str()) == 0);
    REQUIRE(::symlink("loop", directory.path("loop").c_str()) == 0);
    for (const Verb verb : {Verb::read_file, Verb::open}) {
        CHECK(carried_out(request_for(verb, directory.path("link"))).message().empty());
        CHECK(carried_out(request_for(verb, directory.path("directory")))
                  .failed_as(Trouble::wrong_kind));
        CHECK(carried_out(request_for(verb, "/dev/null")).failed_as(Trouble::wrong_kind));
        CHECK(carried_out(request_for(verb, directory.path("nowhere")))
                  .failed_as(Trouble::not_found));
        CHECK(carried_out(request_for(verb, directory.path("missing")))
                  .failed_as(Trouble::not_found));
        CHECK(carried_out(request_for(verb, directory.path("loop"))).failed_as(Trouble::other));
        CHECK(
            carried_out(request_for(verb, directory.path("file/inner"))).failed_as(Trouble::other));
    }
}

TEST_CASE("without links none is read through, at the end or before") {
    const test::TempDirectory directory;
    directory.write("real/file", "text");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("real/file", directory.path("end").c_str()) == 0);
    Request request = request_for(Verb::read_file, directory.path("real/file"));
    request.follows_links = false;
    CHECK(content_of(carried_out(request)) == "text");
    for (const char* const name : {"link/file", "end"}) {
        request.path = directory.path(name);
        const Outcome outcome = carried_out(request);
        CHECK(outcome.failed_as(Trouble::wrong_kind));
        CHECK(outcome.message().find("symbolic link") != std::string::npos);
    }
}

// To look at a pipe must not be what its other end waits for.
TEST_CASE("a pipe is not opened, by no operation on files") {
    const test::TempDirectory directory;
    const std::string path = directory.path("pipe");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const UniqueFd writer(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(::write(writer.get(), "text", 4) == 4);
    for (const Verb verb :
         {Verb::read_file, Verb::open, Verb::write_file, Verb::open_replace, Verb::copy}) {
        Request request = request_for(verb, path);
        request.other_path = directory.path("copy");
        request.data = "new";
        CHECK(carried_out(request).failed_as(Trouble::wrong_kind));
    }
    char text[16] = {};
    CHECK(::read(reader.get(), text, sizeof text) == 4);
}

TEST_CASE("blocks end where the file does, and only fewer bytes say so") {
    const test::TempDirectory directory;
    const std::string text = pattern(1000);
    directory.write("file", text);
    const Outcome opened = carried_out(request_for(Verb::open, directory.path("file")));
    REQUIRE(opened.message().empty());
    REQUIRE(opened.descriptors.size() == 1);
    const int file = opened.descriptors[0].get();
    CHECK((::fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY);

    Outcome block = block_of(file, 0, 1000);
    CHECK(content_of(block) == text);
    CHECK_FALSE(block.done->is_end);
    block = block_of(file, 0, 1001);
    CHECK(content_of(block) == text);
    CHECK(block.done->is_end);
    block = block_of(file, 300, 7);
    CHECK(content_of(block) == text.substr(300, 7));
    CHECK_FALSE(block.done->is_end);
    for (const std::uint64_t offset :
         {std::uint64_t{1000}, std::uint64_t{1} << 40, std::numeric_limits<std::uint64_t>::max()}) {
        block = block_of(file, offset, 10);
        CHECK(content_of(block).empty());
        CHECK(block.done->is_end);
    }
}

TEST_CASE("the longest block is one base64 text too") {
    const test::TempDirectory directory;
    const std::string text = pattern(longest_block + 10);
    directory.write("file", text);
    const UniqueFd file(::open(directory.path("file").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(content_of(block_of(file.get(), 5, longest_block)) == text.substr(5, longest_block));
}

TEST_CASE("blocks are written where they belong, with holes between") {
    const test::TempDirectory directory;
    const UniqueFd file = open_new(directory.path("file"));
    CHECK(put_block(file.get(), 6, "end").message().empty());
    CHECK(put_block(file.get(), 0, "abc").message().empty());
    CHECK(put_block(file.get(), 3, "").message().empty());
    CHECK(directory.read("file") == std::string("abc\0\0\0end", 9));
}

TEST_CASE("what no file can hold is a limit, what is not open for it another error") {
    const test::TempDirectory directory;
    const UniqueFd file = open_new(directory.path("file"));
    for (const std::uint64_t offset :
         {std::numeric_limits<std::uint64_t>::max(),
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - 1)})
        CHECK(put_block(file.get(), offset, "x").failed_as(Trouble::limit));
    CHECK(directory.read("file").empty());
    const UniqueFd reader(::open(directory.path("file").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(put_block(reader.get(), 0, "x").failed_as(Trouble::other));
}
