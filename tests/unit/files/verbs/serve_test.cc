#include "base/unique_fd.h"
#include "files/verbs/serve.h"
#include "files/wire.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

using namespace ew;
using namespace ew::files;

namespace {

struct Served {
    int status = -1;
    std::size_t answers = 0;
};

// What comes of `text` and then the end.
Served served(const std::string& text, bool is_single = false,
              const std::vector<int>& descriptors = {}) {
    std::array<int, 2> sockets = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
    const UniqueFd ours(sockets[0]);
    UniqueFd theirs(sockets[1]);
    Served result;
    std::thread server([&] {
        result.status = serve(theirs.get(), is_single);
        theirs.reset();
    });
    if (!text.empty()) test::detail::send_request(ours.get(), text, descriptors);
    REQUIRE(::shutdown(ours.get(), SHUT_WR) == 0);
    std::string answer;
    std::vector<UniqueFd> received;
    while (test::detail::receive(ours.get(), answer, received)) {}
    server.join();
    std::string_view rest = answer;
    while (const std::optional<Frame> frame = first_frame(rest)) {
        result.answers += frame->kind >= FrameKind::done ? 1 : 0;
        rest.remove_prefix(static_cast<std::size_t>(frame->size));
    }
    CHECK(rest.empty());
    return result;
}

std::string look(const std::string& path) {
    return encode(test::request_for(Verb::metadata, path));
}

} // namespace

TEST_CASE("a file process ends well where the requests do") {
    const Served none = served("");
    CHECK(none.status == 0);
    CHECK(none.answers == 0);
    const Served one = served(look("/"));
    CHECK(one.status == 0);
    CHECK(one.answers == 1);
    const Served single = served(look("/missing"), true);
    CHECK(single.status == 0);
    CHECK(single.answers == 1);
}

TEST_CASE("a file process does one request after the other") {
    std::array<int, 2> sockets = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
    UniqueFd ours(sockets[0]);
    const UniqueFd theirs(sockets[1]);
    int status = -1;
    std::thread server([&] { status = serve(theirs.get(), false); });
    for (int i = 0; i < 3; ++i) {
        test::detail::send_request(ours.get(), look("/"), {});
        std::string answer;
        std::vector<UniqueFd> received;
        while (!first_frame(answer) && test::detail::receive(ours.get(), answer, received)) {}
        CHECK(first_frame(answer).has_value());
    }
    ours.reset();
    server.join();
    CHECK(status == 0);
}

TEST_CASE("what is no request ends a file process, without an answer") {
    const std::string whole = look("/");
    for (const std::string& text :
         {whole.substr(0, 1), whole.substr(0, whole.size() - 1), whole + "x",
          std::string("\xff\xff\xff\xff"), std::string(4, '\0'), std::string(200, '\xff')}) {
        const Served result = served(text);
        CAPTURE(text.size());
        CHECK(result.status == 1);
        CHECK(result.answers == 0);
    }
}

TEST_CASE("a request with too few or too many descriptors is none") {
    const test::TempDirectory directory;
    directory.write("file", "text");
    const UniqueFd file(::open(directory.path("file").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(served(look("/"), false, {file.get()}).status == 1);
    CHECK(served(encode(test::request_for(Verb::read_block, ""))).status == 1);
    const std::string block = encode(test::request_for(Verb::read_block, ""));
    CHECK(served(block, false, {file.get(), file.get()}).status == 1);
    CHECK(served(block, false, {file.get()}).status == 0);
}

// A client that has gone must not end the process by SIGPIPE, nor keep it.
TEST_CASE("nobody need take the answer") {
    const test::TempDirectory directory;
    directory.write("file", std::string(8 << 20, 'x'));
    std::array<int, 2> sockets = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
    UniqueFd ours(sockets[0]);
    const UniqueFd theirs(sockets[1]);
    std::thread server([&] { (void)serve(theirs.get(), false); });
    test::detail::send_request(
        ours.get(), encode(test::request_for(Verb::read_file, directory.path("file"))), {});
    ours.reset();
    server.join();
}
