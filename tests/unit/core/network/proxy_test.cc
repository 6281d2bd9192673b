#include "core/network/proxy.h"
#include "support/testing.h"

using namespace ew::core;
using ew::Result;

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;
using State = ProxyAnswer::State;

Destination there(std::string_view host, std::uint16_t port = https_port) {
    return {std::string(host), read_internet(host), port};
}

std::string way(const Proxies& proxies, std::string_view host, std::uint16_t port = https_port) {
    const Proxy* const proxy = proxies.way_to(there(host, port));
    return proxy == nullptr ? "direct" : proxy->text();
}

Proxies with_exceptions(std::string_view exceptions) {
    return proxies_of("http://proxy.example:3128",
                      Environment{{"NO_PROXY", std::string(exceptions)}});
}

} // namespace

TEST_SUITE_BEGIN("core/network");

TEST_CASE("a proxy is read from a URL, with the port of HTTP where none is written") {
    Result<Proxy> whole = read_proxy("http://Proxy.Example:3128/");
    REQUIRE(whole);
    CHECK(whole->host == "proxy.example");
    CHECK(whole->port == 3128);
    CHECK(whole->authorization.empty());
    CHECK(!whole->address);

    Result<Proxy> bare = read_proxy("proxy");
    REQUIRE(bare);
    CHECK(bare->port == http_port);

    Result<Proxy> address = read_proxy("HTTP://[2001:db8::1]:8080");
    REQUIRE(address);
    CHECK(address->address);
    CHECK(address->text() == "the proxy [2001:db8::1]:8080 ()");
}

TEST_CASE("user and password of a proxy become a header, and are in no text about it") {
    // RFC 7617, 2: the example of "Aladdin".
    Result<Proxy> proxy = read_proxy("http://Aladdin:open%20sesame@proxy.example:3128");
    REQUIRE(proxy);
    CHECK(proxy->authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    CHECK(proxy->text().find("sesame") == std::string::npos);
    CHECK(connect_request(*proxy, there("good.example")) ==
          "CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n"
          "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n");
    Result<Proxy> with_at = read_proxy("http://me:p@ss@proxy.example:3128");
    REQUIRE(with_at);
    CHECK(with_at->host == "proxy.example");
    CHECK(without_password("http://me:p@ss@proxy.example:3128") == "http://***@proxy.example:3128");
    CHECK(without_password("me:p://ss@proxy.example") == "***@proxy.example");
    CHECK(without_password("http://proxy.example:3128") == "http://proxy.example:3128");
}

TEST_CASE("what is no proxy of HTTP is refused without telling what it holds") {
    for (const char* text :
         {"socks5h://me:secret@proxy.example:1080", "https://me:secret@proxy.example:443",
          "secret://proxy.example", "http://me:secret@", "http://me:secret@proxy.example:0",
          "http://me:secret@proxy.example:99999", "http://me:secret@proxy.example:3128/secret",
          "http://me%zz:secret@proxy.example:1", "http://[proxy.example]:1", "http://[::1:1",
          "http://pro xy:1", "http://me%3Ayou:secret@proxy.example:1", "http://1.2.3:80"}) {
        Result<Proxy> read = read_proxy(text);
        REQUIRE_MESSAGE(!read, text);
        if (std::string_view(text).starts_with("secret")) continue;
        CHECK(read.error().message.find("secret") == std::string::npos);
        CHECK(read.error().message.find("example") == std::string::npos);
    }
    CHECK(read_proxy("socks5h://proxy.example:1080").error().message ==
          "proxies of the scheme socks5h are not supported");
    CHECK(read_proxy("me:secret@x://proxy").error().message == "its scheme is not http");
}

TEST_CASE("variables decide by port as they do for curl, small letters first") {
    const Proxies none = proxies_of("", {});
    CHECK(way(none, "good.example") == "direct");

    const Environment both = {{"HTTPS_PROXY", "http://large:1"},
                              {"https_proxy", "http://small:2"},
                              {"HTTP_PROXY", "http://plain:3"}};
    CHECK(way(proxies_of("", both), "good.example") == "the proxy small:2 (https_proxy)");
    CHECK(way(proxies_of("", both), "good.example", 22) == "the proxy small:2 (https_proxy)");
    CHECK(way(proxies_of("", both), "good.example", 80) == "the proxy plain:3 (HTTP_PROXY)");

    const Environment all = {{"ALL_PROXY", "http://all:4"}, {"https_proxy", ""}};
    CHECK(way(proxies_of("", all), "good.example") == "direct");
    CHECK(way(proxies_of("", all), "good.example", 80) == "the proxy all:4 (ALL_PROXY)");
}

TEST_CASE("the setting counts before the variables, and off takes none") {
    const Environment environment = {{"https_proxy", "http://small:2"}};

    CHECK(way(proxies_of("off", environment), "good.example") == "direct");
    const Proxies set = proxies_of("http://set:5", environment);
    CHECK(way(set, "good.example", 80) == "the proxy set:5 (confinement.network_proxy)");
    CHECK(way(set, "good.example", 22) == "the proxy set:5 (confinement.network_proxy)");
}

TEST_CASE("a proxy that cannot be used is not left out") {
    const Proxies proxies = proxies_of("", Environment{{"ALL_PROXY", "socks5://proxy:1080"}});
    const Proxy* const proxy = proxies.way_to(there("good.example"));
    REQUIRE(proxy != nullptr);
    CHECK(proxy->trouble == "proxies of the scheme socks5 are not supported");
    CHECK(proxy->text() == "the proxy of ALL_PROXY");
    CHECK(proxies.on_port(1080).empty());
}

TEST_CASE("names and addresses without a proxy are compared as curl does") {
    const Proxies names = with_exceptions("Corp.example, .inner.example other.example.");
    for (const char* host :
         {"corp.example", "a.corp.example", "inner.example", "b.inner.example", "other.example"})
        CHECK_MESSAGE(way(names, host) == "direct", host);
    for (const char* host : {"xcorp.example", "example", "corp.example.net", "192.0.2.7"})
        CHECK_MESSAGE(way(names, host) != "direct", host);

    const Proxies blocks = with_exceptions("192.0.2.0/24,10.1.2.3/8,[2001:db8::1],198.51.100.7");
    for (const char* host : {"192.0.2.200", "10.200.0.1", "2001:db8::1", "198.51.100.7"})
        CHECK_MESSAGE(way(blocks, host) == "direct", host);
    for (const char* host : {"192.0.3.1", "11.0.0.1", "2001:db8::2", "198.51.100.70", "10.example"})
        CHECK_MESSAGE(way(blocks, host) != "direct", host);

    CHECK(way(with_exceptions("*"), "good.example") == "direct");
    CHECK(way(with_exceptions("*,x"), "good.example") != "direct");
    for (const char* nothing : {"", " , ", ".", "192.0.2.0/33", "192.0.2.0/", "/8"})
        CHECK_MESSAGE(way(with_exceptions(nothing), "192.0.2.1") != "direct", nothing);
    const Environment small_first = {{"NO_PROXY", "good.example"}, {"no_proxy", "x.example"}};
    CHECK(way(proxies_of("http://p:1", small_first), "good.example") != "direct");
}

TEST_CASE("no proxy is asked for its own loopback") {
    const Proxies proxies = with_exceptions("");
    CHECK(way(proxies, "localhost") == "direct");
    CHECK(way(proxies, "a.localhost", http_port) == "direct");
    CHECK(way(proxies, "notlocalhost") != "direct");
}

TEST_CASE("variables about proxies are known by their end") {
    for (const char* name : {"HTTPS_PROXY", "http_proxy", "No_Proxy", "npm_config_https_proxy"})
        CHECK_MESSAGE(is_proxy_variable(name), name);
    for (const char* name : {"GOPROXY", "PROXY_URL", "PATH", ""})
        CHECK_MESSAGE(!is_proxy_variable(name), name);
}

TEST_CASE("the answer of a proxy ends at the empty line, and what follows is not its own") {
    const std::string head = "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n";
    const ProxyAnswer answer = read_proxy_answer(head + "SSH-2.0\r\n\r\n");
    CHECK(answer.state == State::whole);
    CHECK(answer.status == 200);
    CHECK(answer.size == head.size());
    for (std::size_t size = 0; size < head.size(); ++size)
        CHECK(read_proxy_answer(head.substr(0, size)).state == State::incomplete);

    const ProxyAnswer bare = read_proxy_answer("HTTP/1.0 407\n\n");
    CHECK(bare.state == State::whole);
    CHECK(bare.status == 407);
    CHECK(bare.size == 14);
}

TEST_CASE("what is no answer of HTTP, or too long, is broken at once") {
    for (const char* text : {"S", "HTTP/2", "HTTP/1.1 20x", "HTTP/1.1  200",
                             "HTTP/1.1 2000 x\r\n\r\n", "ICY 200 OK\r\n\r\n"})
        CHECK_MESSAGE(read_proxy_answer(text).state == State::broken, text);
    std::string text = "HTTP/1.1 200 OK\r\nX: ";
    text += std::string(longest_proxy_answer - text.size() - 1, 'x');
    CHECK(read_proxy_answer(text).state == State::incomplete);
    CHECK(read_proxy_answer(text + "x").state == State::broken);
    CHECK(read_proxy_answer(text + "xx\r\n\r\n").state == State::broken);
}

TEST_SUITE_END();
