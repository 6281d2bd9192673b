#include "core/network/client_hello.h"
#include "support/testing.h"

using namespace ew::core;
using namespace std::string_literals;
using State = ClientHello::State;

namespace {

std::string number(std::size_t value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i)
        text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
}

std::string counted(const std::string& text, int bytes) {
    return number(text.size(), bytes) + text;
}

std::string name_extension(const std::string& name) {
    return number(0, 2) + counted(counted('\0' + counted(name, 2), 2), 2);
}

std::string message(const std::string& extensions) {
    const std::string body = "\x03\x03"s + std::string(32, 'r') + counted("id", 1) +
                             counted("\x13\x01", 2) + counted("\0"s, 1) + counted(extensions, 2);
    return "\x01"s + counted(body, 3);
}

std::string records(const std::string& message, std::size_t size) {
    std::string text;
    for (std::size_t at = 0; at < message.size(); at += size)
        text += "\x16\x03\x01"s + counted(message.substr(at, size), 2);
    return text;
}

const std::string grease = number(0x1a1a, 2) + counted("", 2);

} // namespace

TEST_SUITE_BEGIN("core/network");

TEST_CASE("the name of the server is found, however the message is cut into records") {
    const std::string hello = message(grease + name_extension("example.org"));
    for (const std::size_t size : {1, 2, 3, 5, 50, 16384}) {
        const ClientHello read = read_client_hello(records(hello, size));
        CHECK(read.state == State::whole);
        CHECK(read.server_name == "example.org");
    }
}

TEST_CASE("a part of a message is a part, and never something else") {
    const std::string all = records(message(name_extension("example.org")), 20);
    for (std::size_t size = 0; size < all.size(); ++size)
        CHECK(read_client_hello(all.substr(0, size)).state == State::incomplete);
}

TEST_CASE("a message without the name has none, and other bytes are no TLS") {
    CHECK(read_client_hello(records(message(grease), 100)).state == State::whole);
    CHECK(read_client_hello(records(message(grease), 100)).server_name.empty());
    CHECK(read_client_hello("GET / HTTP/1.1\r\n").state == State::other);
    CHECK(read_client_hello("\x16\x01\x00\x00\x00\x00"s).state == State::other);
    CHECK(read_client_hello("\x16\x01\x00\x00\x08\x02"s).state == State::other);
    CHECK(read_client_hello("\x15\x01\x00\x01\x00"s).state == State::other);
    CHECK(read_client_hello("SSH-2.0").state == State::other);
}

TEST_CASE("servers take any version in a record, and some take other records first") {
    for (const char version : {'\x01', '\x02', '\x04', '\x7f'}) {
        std::string hello = records(message(name_extension("example.org")), 100);
        hello[1] = version;
        CHECK(read_client_hello(hello).server_name == "example.org");
    }
    const std::string hello = records(message(name_extension("example.org")), 100);
    for (const std::string& first :
         {"\x15\x03\x01\x00\x02\x01\x5a"s, "\x15\x01\x01\x00\x02\x01\x5a"s,
          "\x14\x03\x03\x00\x01\x01"s, "\x17\x03\x03\x00\x00"s})
        CHECK(read_client_hello(first + hello).state == State::broken);
}

TEST_CASE("a message that two readers could read differently is broken") {
    const std::string one = name_extension("example.org");
    const std::string two_names =
        number(0, 2) +
        counted(counted("\0"s + counted("a.org", 2) + '\0' + counted("b.org", 2), 2), 2);
    for (const std::string& extensions :
         {one + name_extension("other.org"), two_names, name_extension(""),
          number(0, 2) + counted("", 2), one + "\0\0\xff"s, "\0\0\0"s,
          number(0, 2) + counted(counted("\0"s + counted("a.org", 2), 2) + "x", 2)})
        CHECK(read_client_hello(records(message(extensions), 100)).state == State::broken);
    std::string alert = records(message(one), 30);
    alert[35] = '\x15'; // the second record is of another kind
    CHECK(read_client_hello(alert).state == State::broken);
    CHECK(read_client_hello("\x16\x03\x01\x00\x00"s).state == State::broken);
    CHECK(read_client_hello("\x16\x03\x01\xff\xff"s).state == State::broken);
    CHECK(read_client_hello("\x16\x03\x01\x00\x01\x02"s).state == State::broken);
    CHECK(read_client_hello("\x16\x03\x01\x00\x04\x01\xff\xff\xff"s).state == State::broken);
}
