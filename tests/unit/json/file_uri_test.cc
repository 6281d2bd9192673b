#include "json/file_uri.h"
#include "json/writer.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using ew::json::path_from_text;

namespace {

std::string written(std::string_view path) {
    ew::ByteBuffer out;
    ew::json::write_file_uri(out, path);
    const std::string_view quoted = out.view();
    return std::string(quoted.substr(1, quoted.size() - 2));
}

} // namespace

TEST_SUITE_BEGIN("json/file_uri");

TEST_CASE("an absolute path stands for itself") {
    CHECK(path_from_text("/srv/a b/%41/../x") == "/srv/a b/%41/../x");
    CHECK(path_from_text("/") == "/");
}

TEST_CASE("a file URI of this host names a path") {
    CHECK(path_from_text("file:///srv/work") == "/srv/work");
    CHECK(path_from_text("file://localhost/srv/work") == "/srv/work");
    CHECK(path_from_text("file:/srv/work") == "/srv/work");
    CHECK(path_from_text("FILE://LocalHost/srv") == "/srv");
    CHECK(path_from_text("file:///") == "/");
}

TEST_CASE("percent escapes stand for bytes, in either case and of any value but NUL") {
    CHECK(path_from_text("file:///a%20b%2fc%C3%a9") == "/a b/c\xc3\xa9");
    CHECK(path_from_text("file:///%ff") == "/\xff");
    CHECK_FALSE(path_from_text("file:///a%00b").has_value());
}

TEST_CASE("a broken escape is refused") {
    for (const std::string_view text :
         {"file:///%", "file:///%4", "file:///%4g", "file:///%g4", "file:///a%%"}) {
        CAPTURE(text);
        CHECK_FALSE(path_from_text(text).has_value());
    }
}

TEST_CASE("dot segments and double slashes are folded") {
    CHECK(path_from_text("file:///a/./b/../c") == "/a/c");
    CHECK(path_from_text("file:///../../a") == "/a");
    CHECK(path_from_text("file:///a/..") == "/");
    CHECK(path_from_text("file:///a//b/") == "/a/b");
    CHECK(path_from_text("file:///a/...") == "/a/...");
}

TEST_CASE("what is no path of this machine is refused") {
    for (const std::string_view text :
         {"", "srv/work", "./srv", "~", "file:", "file:srv", "file://", "file://host/x",
          "file://localhostx/x", "file://localhost", "http:///x", "file:///x?q", "file:///x#f",
          "fil:///x"}) {
        CAPTURE(text);
        CHECK_FALSE(path_from_text(text).has_value());
    }
    CHECK_FALSE(path_from_text(std::string_view("/a\0b", 4)).has_value());
}

TEST_CASE("a written URI escapes everything but letters, digits and a few marks") {
    CHECK(written("/srv/My-work_1.x~") == "file:///srv/My-work_1.x~");
    CHECK(written("/a b\"\\\n#?%") == "file:///a%20b%22%5C%0A%23%3F%25");
    CHECK(written("/caf\xc3\xa9") == "file:///caf%C3%A9");
}

TEST_CASE("every byte but NUL survives the way through a URI") {
    std::string path = "/";
    for (int value = 1; value < 256; ++value)
        if (value != '/' && value != '.') path += static_cast<char>(value);

    CHECK(path_from_text(written(path)) == path);
}

TEST_SUITE_END();
