#include "files/wire.h"
#include "support/testing.h"

#include <limits>
#include <string>
#include <string_view>

using namespace ew;
using namespace ew::files;

namespace {

constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();

Request full_request() {
    Request request;
    request.verb = Verb::walk;
    request.path = "/srv/\xff name";
    request.other_path = "/srv/other";
    request.paths = {"/a", "", "/b\n"};
    request.stand_ins = {"/srv/.git"};
    request.follows_links = false;
    request.recursive = true;
    request.force = true;
    request.offset = highest;
    request.length = 7;
    request.walk = {1, 2, 3, true, true};
    request.data = std::string("a\0b", 3);
    request.token = "0123";
    request.expected = "digest";
    return request;
}

Done full_done() {
    Done done;
    done.is_file = true;
    done.is_truncated = true;
    done.exists = true;
    done.size = highest;
    done.created_at_ms = std::numeric_limits<std::int64_t>::min();
    done.modified_at_ms = -1;
    done.path = "/x\xfe";
    done.places = {{-1, ""}, {7, "name"}};
    return done;
}

} // namespace

TEST_CASE("a request is what it was") {
    const Request sent = full_request();
    const std::string text = encode(sent);
    REQUIRE(size_of_request(text) == text.size());
    const std::optional<Request> got = decode_request(text);
    REQUIRE(got.has_value());
    CHECK(encode(*got) == text);
    CHECK(got->verb == sent.verb);
    CHECK(got->path == sent.path);
    CHECK(got->other_path == sent.other_path);
    CHECK(got->paths == sent.paths);
    CHECK(got->stand_ins == sent.stand_ins);
    CHECK(got->follows_links == sent.follows_links);
    CHECK(got->recursive == sent.recursive);
    CHECK(got->force == sent.force);
    CHECK(got->offset == sent.offset);
    CHECK(got->length == sent.length);
    CHECK(got->walk.max_depth == 1);
    CHECK(got->walk.max_directories == 2);
    CHECK(got->walk.max_entries == 3);
    CHECK(got->walk.follows_directory_links);
    CHECK(got->walk.prunes_hidden_directories);
    CHECK(got->data == sent.data);
    CHECK(got->token == sent.token);
    CHECK(got->expected == sent.expected);
}

TEST_CASE("a request that is cut anywhere is none") {
    const std::string text = encode(full_request());
    for (std::size_t size = 0; size < text.size(); ++size) {
        const std::string cut = text.substr(0, size);
        CAPTURE(size);
        CHECK_FALSE(size_of_request(cut).has_value());
        CHECK_FALSE(decode_request(cut).has_value());
    }
    CHECK(size_of_request(text + "more") == text.size());
    CHECK_FALSE(decode_request(text + "more").has_value());
}

// The length in front fits, and what it holds ends too early.
TEST_CASE("a request whose last values are missing is none") {
    const std::string text = encode(full_request());
    for (std::size_t size = 0; size + sizeof(std::uint32_t) < text.size(); ++size) {
        const auto length = static_cast<std::uint32_t>(size);
        std::string cut(reinterpret_cast<const char*>(&length), sizeof length);
        cut += text.substr(sizeof length, size);
        CAPTURE(size);
        CHECK_FALSE(decode_request(cut).has_value());
    }
}

TEST_CASE("a request of a verb that is none is refused") {
    std::string text = encode(full_request());
    text[sizeof(std::uint32_t)] = static_cast<char>(static_cast<int>(Verb::patch_apply) + 1);
    CHECK_FALSE(decode_request(text).has_value());
}

TEST_CASE("a request longer than any is known by its length") {
    const std::string length = "\xff\xff\xff\xff";
    CHECK(size_of_request(length).has_value());
}

TEST_CASE("the largest content is a request that is taken") {
    Request request;
    request.verb = Verb::write_file;
    request.path = "/x";
    request.data = std::string(longest_content, 'x');
    const std::string text = encode(request);
    CHECK(size_of_request(std::string_view(text).substr(0, 4096)) == std::nullopt);
    CHECK(size_of_request(text) == text.size());
}

TEST_CASE("frames are taken one after the other") {
    const std::string buffered = encode_frame(FrameKind::text, "abc") +
                                 encode_frame(FrameKind::entries, "") +
                                 encode_frame(FrameKind::done, std::string(longest_frame, 'x'));
    std::string_view rest = buffered;
    for (const FrameKind kind : {FrameKind::text, FrameKind::entries, FrameKind::done}) {
        CHECK_FALSE(is_garbage(rest));
        const std::optional<Frame> frame = first_frame(rest);
        REQUIRE(frame.has_value());
        CHECK(frame->kind == kind);
        rest.remove_prefix(static_cast<std::size_t>(frame->size));
    }
    CHECK(rest.empty());
    CHECK_FALSE(first_frame(rest).has_value());
    CHECK_FALSE(is_garbage(rest));
}

TEST_CASE("a frame that is cut anywhere is not there yet, and no garbage") {
    const std::string frame = encode_frame(FrameKind::failed, "abcdef");
    for (std::size_t size = 0; size < frame.size(); ++size) {
        CAPTURE(size);
        CHECK_FALSE(first_frame(std::string_view(frame).substr(0, size)).has_value());
        CHECK_FALSE(is_garbage(std::string_view(frame).substr(0, size)));
    }
}

TEST_CASE("what is no frame is garbage") {
    CHECK(is_garbage(std::string(1, static_cast<char>(static_cast<int>(FrameKind::failed) + 1))));
    CHECK(is_garbage(encode_frame(FrameKind::text, std::string(longest_frame + 1, 'x'))));
    CHECK_FALSE(first_frame(encode_frame(FrameKind::text, std::string(longest_frame + 1, 'x')))
                    .has_value());
}

TEST_CASE("entries and problems are taken in their order") {
    std::string body;
    append(body, Entry{"one", true, false});
    append(body, Entry{"", false, true});
    std::string_view rest = body;
    const std::optional<Entry> first = take_entry(rest);
    const std::optional<Entry> second = take_entry(rest);
    REQUIRE((first && second));
    CHECK(first->name == "one");
    CHECK(first->is_directory);
    CHECK_FALSE(first->is_file);
    CHECK(second->name.empty());
    CHECK(second->is_file);
    CHECK_FALSE(take_entry(rest).has_value());

    std::string problems;
    append(problems, Problem{"/x", "No such file or directory"});
    rest = problems;
    const std::optional<Problem> problem = take_problem(rest);
    REQUIRE(problem.has_value());
    CHECK(problem->path == "/x");
    CHECK(problem->message == "No such file or directory");
    CHECK(rest.empty());
}

TEST_CASE("entries and problems that are cut anywhere are none") {
    std::string entry;
    append(entry, Entry{"one", true, false});
    for (std::size_t size = 0; size < entry.size(); ++size) {
        std::string_view cut = std::string_view(entry).substr(0, size);
        CAPTURE(size);
        CHECK_FALSE(take_entry(cut).has_value());
        CHECK(cut.size() == size); // nothing is taken
    }
    std::string problem;
    append(problem, Problem{"/x", "no"});
    for (std::size_t size = 0; size < problem.size(); ++size) {
        std::string_view cut = std::string_view(problem).substr(0, size);
        CAPTURE(size);
        CHECK_FALSE(take_problem(cut).has_value());
    }
}

TEST_CASE("the end of an answer is what it was") {
    const Done sent = full_done();
    const std::optional<Done> got = decode_done(encode_done(sent));
    REQUIRE(got.has_value());
    CHECK_FALSE(got->is_directory);
    CHECK(got->is_file);
    CHECK_FALSE(got->is_link);
    CHECK(got->is_truncated);
    CHECK_FALSE(got->is_end);
    CHECK(got->exists);
    CHECK(got->size == sent.size);
    CHECK(got->created_at_ms == sent.created_at_ms);
    CHECK(got->modified_at_ms == sent.modified_at_ms);
    CHECK(got->path == sent.path);
    CHECK(got->places == sent.places);

    const std::optional<Failed> failed =
        decode_failed(encode_failed({Trouble::no_space, "/x: full", "remove some"}));
    REQUIRE(failed.has_value());
    CHECK(failed->trouble == Trouble::no_space);
    CHECK(failed->message == "/x: full");
    CHECK(failed->hint == "remove some");
}

TEST_CASE("the end of an answer that is cut anywhere, or too long, is none") {
    const std::string done = encode_done(full_done());
    for (std::size_t size = 0; size < done.size(); ++size) {
        CAPTURE(size);
        CHECK_FALSE(decode_done(std::string_view(done).substr(0, size)).has_value());
    }
    CHECK_FALSE(decode_done(done + 'x').has_value());

    std::string failed = encode_failed({Trouble::other, "/x: no"});
    for (std::size_t size = 0; size < failed.size(); ++size) {
        CAPTURE(size);
        CHECK_FALSE(decode_failed(std::string_view(failed).substr(0, size)).has_value());
    }
    CHECK_FALSE(decode_failed(failed + 'x').has_value());
    failed[0] = static_cast<char>(static_cast<int>(Trouble::other) + 1);
    CHECK_FALSE(decode_failed(failed).has_value());
}
