#include "base/unique_fd.h"
#include "sandbox/gateway/proxy_talk.h"
#include "support/testing.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

using namespace ew::sandbox;
using ew::clock_now;
using ew::UniqueFd;
using State = ProxyTalk::State;

namespace {

// A talk about good.example:443, and the proxy's end of it.
struct Scene {
    Scene() {
        std::array<int, 2> ends = {};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) ==
                0);
        ours = UniqueFd(ends[0]);
        proxys = UniqueFd(ends[1]);
    }

    static ew::core::Proxy proxy() {
        ew::core::Proxy proxy;
        proxy.host = "proxy.example";
        proxy.port = 3128;
        proxy.authorization = "Basic c2VjcmV0";
        proxy.source = "HTTPS_PROXY";
        return proxy;
    }

    State go_on() { return talk.go_on(ours.get(), block); }

    State after(std::string_view answer) {
        REQUIRE(::write(proxys.get(), answer.data(), answer.size()) ==
                static_cast<ssize_t>(answer.size()));
        return go_on();
    }

    UniqueFd ours;
    UniqueFd proxys;
    std::array<char, 4096> block = {};
    ProxyTalk talk = ProxyTalk(proxy(), {"good.example", {}, 443}, clock_now());
};

} // namespace

TEST_SUITE_BEGIN("sandbox/gateway");

TEST_CASE("the request is sent at once, and the answer may come byte by byte") {
    Scene scene;
    CHECK(scene.go_on() == State::goes_on);
    CHECK_FALSE(scene.talk.has_to_write());
    std::array<char, 1000> sent = {};
    const ssize_t count = ::read(scene.proxys.get(), sent.data(), sent.size());
    REQUIRE(count > 0);
    CHECK(std::string_view(sent.data(), static_cast<std::size_t>(count)) ==
          "CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n"
          "Proxy-Authorization: Basic c2VjcmV0\r\n\r\n");

    constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n";
    for (const char& byte : answer.substr(0, answer.size() - 1))
        CHECK(scene.after({&byte, 1}) == State::goes_on);
    CHECK(scene.after("\nhello") == State::open);
    CHECK(scene.talk.take_rest() == "hello");
}

TEST_CASE("an answer that opens nothing is told with its status, and without a secret") {
    Scene scene;
    CHECK(scene.after("HTTP/1.1 407 who?\r\nX: secret\r\n\r\n") == State::refused);
    CHECK(scene.talk.refusal() ==
          "the proxy proxy.example:3128 (HTTPS_PROXY) answered with the status 407");
}

TEST_CASE(
    "an answer without an end is refused at its bound, and an end without an answer at once") {
    Scene endless;
    State state = endless.after("HTTP/1.1 200 OK\r\nX: ");
    for (int i = 0; i < 5 && state == State::goes_on; ++i)
        state = endless.after(std::string(4000, 'x'));
    CHECK(state == State::refused);

    Scene closed;
    closed.proxys.reset();
    CHECK(closed.go_on() == State::refused);
}

TEST_SUITE_END();
