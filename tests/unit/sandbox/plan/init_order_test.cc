#include "sandbox/init/landlock.h"
#include "sandbox/init/mount_table.h"
#include "sandbox/init/order_format.h"
#include "sandbox/init/order_reader.h"
#include "sandbox/plan/init_order.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace ew::sandbox;
namespace landlock = ew::sandbox::init::landlock;

namespace {

InitOrder some_order() {
    InitOrder order;
    order.programs = {"/usr/bin/true", "/bin/true"};
    order.argv = {"true", "", "a b"};
    order.environment = {"PATH=/bin", "EMPTY="};
    order.directory = "/work";
    order.script = "echo x";
    order.has_terminal = true;
    order.limits = {{RLIMIT_NOFILE, {10, 20}}, {RLIMIT_AS, {RLIM_INFINITY, RLIM_INFINITY}}};
    order.landlock = 7;
    order.writable = {"/tmp"};
    order.device_writable = {"/dev", "/proc"};
    order.expected = {{order_format::ExpectedKind::writable, "/tmp", 5, 6},
                      {order_format::ExpectedKind::own, "/run", 0, 0}};
    order.submounts = {"0:1 /"};
    order.checks_mounts = true;
    order.filter = {{0x20, 1, 2, 3}, {0x06, 0, 0, 0x7fff0000}};
    order.has_listener = true;
    return order;
}

// Mapped memory is aligned; the memory of a string need not be.
class Memory {
public:
    explicit Memory(std::string_view bytes) : words_(bytes.size() / 8 + 1), size_(bytes.size()) {
        std::memcpy(words_.data(), bytes.data(), bytes.size());
    }

    bool read() { return init::read_order(bytes(), size_, order); }

    unsigned char* bytes() { return reinterpret_cast<unsigned char*>(words_.data()); }

    bool holds(const char* text) {
        const auto* place = reinterpret_cast<const unsigned char*>(text);
        return place >= bytes() && place < bytes() + size_;
    }

    init::Order order = {};

private:
    std::vector<std::uint64_t> words_;
    std::size_t size_;
};

std::vector<std::string> texts_in(char* const* list) {
    std::vector<std::string> texts;
    for (; *list != nullptr; ++list)
        texts.emplace_back(*list);
    return texts;
}

bool is_inside(Memory& memory, char* const* list) {
    for (; *list != nullptr; ++list)
        if (!memory.holds(*list)) return false;
    return true;
}

bool is_read(std::string_view bytes) {
    return Memory(bytes).read();
}

template <class T>
std::string changed(std::string bytes, std::size_t place, T value) {
    if (place + sizeof value <= bytes.size())
        std::memcpy(bytes.data() + place, &value, sizeof value);
    return bytes;
}

} // namespace

TEST_CASE("an order is read as it was written") {
    Memory memory(encode(some_order()));

    REQUIRE(memory.read());

    const init::Order& order = memory.order;
    CHECK(texts_in(order.programs) == some_order().programs);
    CHECK(texts_in(order.argv) == some_order().argv);
    CHECK(texts_in(order.environment) == some_order().environment);
    CHECK(texts_in(order.writable) == some_order().writable);
    CHECK(texts_in(order.device_writable) == some_order().device_writable);
    CHECK(std::string_view(order.directory) == "/work");
    CHECK(std::string_view(order.script) == "echo x");
    CHECK(order.landlock == 7);
    CHECK(order.has_terminal);
    CHECK(order.is_first_process);
    CHECK(order.scopes_sockets_and_signals);
    CHECK(order.has_listener);
    CHECK(order.checks_mounts);
    CHECK_FALSE(order.may_lack_proc);
}

TEST_CASE("what an order expects to find is read as it was written") {
    Memory memory(encode(some_order()));

    REQUIRE(memory.read());

    const init::Order& order = memory.order;
    REQUIRE(order.expected_count == 2);
    CHECK(order.expected[0].kind == order_format::ExpectedKind::writable);
    CHECK(order.expected[0].device == 5);
    CHECK(order.expected[0].inode == 6);
    CHECK(order.expected[1].kind == order_format::ExpectedKind::own);
    CHECK(texts_in(order.expected_paths) == std::vector<std::string>{"/tmp", "/run"});
    CHECK(texts_in(order.submounts) == some_order().submounts);
}

TEST_CASE("an order that expects something of an unknown kind is refused") {
    InitOrder order = some_order();
    order.expected[1].kind = static_cast<order_format::ExpectedKind>(5);

    CHECK_FALSE(is_read(encode(order)));
}

TEST_CASE("limits and the filter of an order are read as they were written") {
    Memory memory(encode(some_order()));

    REQUIRE(memory.read());

    const init::Order& order = memory.order;
    REQUIRE(order.limit_count == 2);
    CHECK(order.limits[0].resource == RLIMIT_NOFILE);
    CHECK(order.limits[0].soft == 10);
    CHECK(order.limits[0].hard == 20);
    CHECK(order.limits[1].hard == RLIM_INFINITY);
    REQUIRE(order.filter_length == 2);
    CHECK(order.filter[0].code == 0x20);
    CHECK(order.filter[0].jf == 2);
    CHECK(order.filter[1].k == 0x7fff0000);
}

TEST_CASE("an order with nothing but a program is read, and says no to everything else") {
    InitOrder sent;
    sent.programs = {"/bin/true"};
    sent.argv = {"true"};
    sent.is_first_process = false;
    sent.scopes_sockets_and_signals = false;
    Memory memory(encode(sent));

    REQUIRE(memory.read());

    const init::Order& order = memory.order;
    CHECK(texts_in(order.environment).empty());
    CHECK(texts_in(order.writable).empty());
    CHECK(order.limit_count == 0);
    CHECK(order.filter_length == 0);
    CHECK_FALSE(order.has_terminal);
    CHECK_FALSE(order.is_first_process);
    CHECK_FALSE(order.scopes_sockets_and_signals);
    CHECK_FALSE(order.has_listener);
    CHECK_FALSE(order.checks_mounts);
    CHECK(order.expected_count == 0);
    CHECK(texts_in(order.submounts).empty());
}

TEST_CASE("there is room for a shell before the arguments of an order") {
    Memory memory(encode(some_order()));
    REQUIRE(memory.read());
    char shell[] = "/bin/sh";

    memory.order.argv[-1] = shell;

    CHECK(texts_in(memory.order.argv - 1) ==
          std::vector<std::string>{"/bin/sh", "true", "", "a b"});
    CHECK(texts_in(memory.order.programs) == some_order().programs);
}

TEST_CASE("an order that ends early is refused wherever it ends") {
    const std::string bytes = encode(some_order());

    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(is_read(std::string_view(bytes).substr(0, size)));
    CHECK(is_read(bytes));
}

TEST_CASE("an order with a wrong size is refused though it says so itself") {
    const std::string bytes = encode(some_order());
    constexpr std::size_t size_place = offsetof(order_format::Header, size);

    CHECK_FALSE(is_read(bytes + '\0'));
    for (std::uint64_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(is_read(changed(bytes, size_place, size).substr(0, size)));
}

TEST_CASE("an order of another build is refused") {
    const std::string bytes = encode(some_order());

    CHECK_FALSE(is_read(changed(bytes, offsetof(order_format::Header, magic), std::uint64_t{1})));
    CHECK_FALSE(is_read(changed(bytes, offsetof(order_format::Header, version), 999u)));
    CHECK_FALSE(is_read(changed(bytes, offsetof(order_format::Header, flags), 0xffffu)));
}

TEST_CASE("an order without a program or with a filter that is too long is refused") {
    InitOrder order = some_order();
    order.programs.clear();
    CHECK_FALSE(is_read(encode(order)));

    order = some_order();
    order.argv.clear();
    CHECK_FALSE(is_read(encode(order)));

    order = some_order();
    order.filter.resize(4097);
    CHECK_FALSE(is_read(encode(order)));
}

TEST_CASE("an order that wants a listener without a filter is refused") {
    InitOrder order = some_order();
    order.filter.clear();

    CHECK_FALSE(is_read(encode(order)));
}

TEST_CASE("counts that are too large for the order are refused") {
    const std::string bytes = encode(some_order());

    for (const std::size_t place :
         {offsetof(order_format::Header, limits), offsetof(order_format::Header, filter),
          offsetof(order_format::Header, programs), offsetof(order_format::Header, argv),
          offsetof(order_format::Header, environment), offsetof(order_format::Header, writable),
          offsetof(order_format::Header, device_writable), offsetof(order_format::Header, expected),
          offsetof(order_format::Header, submounts)}) {
        CHECK_FALSE(is_read(changed(bytes, place, ~0u)));
        CHECK_FALSE(is_read(changed(bytes, place, 0x10000000u)));
        CHECK_FALSE(is_read(changed(bytes, place, 7u)));
    }
}

TEST_CASE("whatever byte of an order is damaged, nothing outside it is named") {
    const std::string bytes = encode(some_order());

    for (std::size_t place = 0; place < bytes.size(); ++place) {
        for (const int value : {0x00, 0x01, 0x7f, 0xff}) {
            Memory memory(changed(bytes, place, static_cast<unsigned char>(value)));
            if (!memory.read()) continue;
            CHECK(is_inside(memory, memory.order.programs));
            CHECK(is_inside(memory, memory.order.argv));
            CHECK(is_inside(memory, memory.order.environment));
            CHECK(is_inside(memory, memory.order.writable));
            CHECK(is_inside(memory, memory.order.device_writable));
            CHECK(is_inside(memory, memory.order.expected_paths));
            CHECK(is_inside(memory, memory.order.submounts));
            CHECK(memory.holds(memory.order.directory));
            CHECK(memory.holds(memory.order.script));
        }
    }
}

TEST_CASE("an older Landlock is asked only for what it knows") {
    CHECK(landlock::attributes_size(1) == 8);
    CHECK(landlock::attributes_size(3) == 8);
    CHECK(landlock::attributes_size(4) == 16);
    CHECK(landlock::attributes_size(5) == 16);
    CHECK(landlock::attributes_size(6) == sizeof(landlock::RulesetAttributes));
    CHECK((landlock::write_rights(1) & (landlock::refer | landlock::truncate)) == 0);
    CHECK((landlock::write_rights(2) & landlock::refer) != 0);
    CHECK((landlock::write_rights(2) & landlock::truncate) == 0);
    CHECK((landlock::write_rights(3) & landlock::truncate) != 0);
}

TEST_CASE("Landlock never takes reading or executing away") {
    constexpr std::uint64_t free =
        landlock::execute | landlock::read_file | landlock::read_directory;

    for (unsigned abi = 1; abi <= 9; ++abi) {
        CHECK((landlock::write_rights(abi) & free) == 0);
        CHECK((landlock::content_rights(abi) & ~landlock::file_rights) == 0);
    }
}

TEST_CASE("a line of the table of mounts is taken apart") {
    init::MountLine line;

    REQUIRE(init::parse_mount("36 35 98:7 /mnt1 /a\\040b rw,noatime master:1 shared:2 - ext3 "
                              "/dev/root rw,errors=continue",
                              line));

    CHECK(line.id == 36);
    CHECK(line.major == 98);
    CHECK(line.minor == 7);
    CHECK(line.source == "98:7 /mnt1");
    CHECK(line.path == "/a\\040b");
    CHECK(line.type == "ext3");
    CHECK_FALSE(line.is_read_only);
}

TEST_CASE("only the options of a mount itself tell that it is read-only") {
    const auto is_read_only = [](std::string_view options) {
        init::MountLine line;
        REQUIRE(init::parse_mount("1 2 0:3 / /x " + std::string(options), line));
        return line.is_read_only;
    };

    CHECK(is_read_only("ro - tmpfs none rw"));
    CHECK(is_read_only("ro,nosuid - tmpfs none rw"));
    CHECK_FALSE(is_read_only("rw,nosuid - tmpfs none ro"));
    CHECK_FALSE(is_read_only("rootcontext=x - tmpfs none ro"));
}

TEST_CASE("what is no line of the table of mounts is refused, wherever a line is cut") {
    const std::string_view line = "36 35 98:7 /mnt1 /a rw shared:2 - ext3 /dev/root rw";
    init::MountLine mount;

    for (std::size_t size = 0; size <= line.find("ext3"); ++size)
        CHECK_FALSE(init::parse_mount(line.substr(0, size), mount));
    for (const char* wrong : {"x 1 0:3 / /x rw - tmpfs n rw", "1 1 03 / /x rw - tmpfs n rw",
                              "1 1 0:x / /x rw - tmpfs n rw", "1 1 0:3 / x rw - tmpfs n rw",
                              "99999999999999999999 1 0:3 / /x rw - tmpfs n rw"})
        CHECK_FALSE(init::parse_mount(wrong, mount));
}

TEST_CASE("octal numbers in a path of the table of mounts become what they stand for") {
    const auto plain = [](std::string text) {
        text.resize(init::unescape(text, text.data()));
        return text;
    };

    CHECK(plain("/a\\040b\\134c\\012") == "/a b\\c\n");
    CHECK(plain("\\04") == "\\04");
    CHECK(plain("\\048") == "\\048");
    CHECK(plain("") == "");
}

TEST_CASE("a path is within a directory only at the border of a name") {
    CHECK(init::is_within("/a/b", "/a"));
    CHECK(init::is_within("/a", "/a"));
    CHECK(init::is_within("/a", "/"));
    CHECK_FALSE(init::is_within("/ab", "/a"));
    CHECK_FALSE(init::is_within("/", "/a"));
}
