#include "core/network/dns.h"
#include "sandbox/gateway/resolver.h"
#include "support/testing.h"

using namespace ew::core;
using ew::sandbox::answer_to;
using namespace std::string_literals;

namespace {

std::string name_bytes(std::string_view name) {
    std::string bytes;
    for (std::size_t begin = 0; begin < name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        bytes += static_cast<char>(end - begin);
        bytes += name.substr(begin, end - begin);
        begin = end + 1;
    }
    return bytes + '\0';
}

std::string query(std::string_view name, char type, char type_class = 1) {
    return "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s + name_bytes(name) + '\0' + type +
           '\0' + type_class;
}

constexpr char a = 1;
constexpr char ptr = 12;
constexpr char aaaa = 28;

int code_of(const std::string& answer) {
    return answer[3] & 0xf;
}

int answers_in(const std::string& answer) {
    return answer[7];
}

} // namespace

TEST_SUITE_BEGIN("core/network");

TEST_CASE("a name gets an address that stands for it, and the address leads back to the name") {
    NameTable names;
    const std::string answer = answer_to(query("Example.ORG", a), names);
    const std::optional<Internet> address = names.address_of("example.org");

    REQUIRE(address);
    CHECK(answer.substr(0, 2) == "\x12\x34");
    CHECK(answers_in(answer) == 1);
    CHECK(answer.ends_with(std::string(address->begin() + 12, address->end())));
    const std::string reverse = std::to_string((*address)[15]) + "." +
                                std::to_string((*address)[14]) + "." +
                                std::to_string((*address)[13]) + ".198.in-addr.arpa";
    CHECK(answer_to(query(reverse, ptr), names).ends_with(name_bytes("example.org")));
}

TEST_CASE("other types have no data, and other names do not exist") {
    NameTable names;
    for (const int type : {28, 65, 33, 16, 15, 2, 6, 5, 255}) {
        const std::string answer = answer_to(query("example.org", static_cast<char>(type)), names);
        CHECK(code_of(answer) == 0);
        CHECK(answers_in(answer) == 0);
    }
    CHECK(code_of(answer_to(query("1.2.0.192.in-addr.arpa", ptr), names)) == 3);
    CHECK(code_of(answer_to(query("2130706433", a), names)) == 3);
    CHECK(code_of(answer_to(query("a b.org", a), names)) == 3);
    CHECK(code_of(answer_to(query("", a), names)) == 3);
    CHECK(code_of(answer_to(query("example.org", a, 3), names)) == 5);
    CHECK(answer_to(query("db.localhost", a), names).ends_with("\x7f\0\0\x01"s));
    CHECK(answers_in(answer_to(query("localhost", aaaa), names)) == 0);
}

TEST_CASE("a table that is full is told, and not emptied") {
    NameTable names;
    for (std::size_t i = 0; i < NameTable::most; ++i)
        (void)names.address_of("n" + std::to_string(i));
    CHECK(code_of(answer_to(query("new.example.org", a), names)) == 2);
    CHECK(answers_in(answer_to(query("n0", a), names)) == 1);
}

TEST_CASE("what is no query gets no answer") {
    NameTable names;
    const std::string good = query("example.org", a);
    for (std::size_t size = 0; size < good.size(); ++size)
        CHECK(answer_to(good.substr(0, size), names).empty());
    std::string response = good;
    response[2] = '\x81';
    CHECK(answer_to(response, names).empty());
    std::string two = good;
    two[5] = 2;
    CHECK(answer_to(two, names).empty());
    std::string compressed = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\0\1\0\1"s;
    CHECK(answer_to(compressed, names).empty());
    CHECK(answer_to(query(std::string(63, 'a') + "." + std::string(63, 'a') + "." +
                              std::string(63, 'a') + "." + std::string(63, 'a') + ".a",
                          a),
                    names)
              .empty());
    CHECK(!answer_to(good + "\0\0\x29\x10\0\0\0\0\0\0\0"s, names).empty()); // EDNS
}

TEST_CASE("a label with a dot or a NUL in it is no name of a host") {
    NameTable names;
    const std::string head = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s;
    CHECK(code_of(answer_to(head + "\x0b"s + "example.org\0\0\1\0\1"s, names)) == 3);
    CHECK(code_of(answer_to(head + "\x03"s + "a\0b\0\0\1\0\1"s, names)) == 3);
}
