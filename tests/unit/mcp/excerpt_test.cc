#include "mcp/excerpt.h"
#include "support/testing.h"

#include <fmt/format.h>

#include <string>

using ew::mcp::escaped_size;
using ew::mcp::Excerpt;
using ew::mcp::last_line;
using ew::mcp::plain;
using ew::mcp::shorten;

TEST_SUITE_BEGIN("mcp/excerpt");

TEST_CASE("escape sequences and control characters do not reach the model") {
    CHECK(plain("\x1b[1;31mred\x1b[0m") == "red");
    CHECK(plain("\x1b]0;title\x07text\x1b]8;;u\x1b\\link") == "textlink");
    CHECK(plain("\x1b(Ba\x1b=b\x1b") == "ab");
    CHECK(plain("a\x01\x7f\tb\n") == "a\tb\n");
    CHECK(plain("\x1b[") == "");
    CHECK(plain("caf\xc3\xa9\b\b.") == "ca.");
}

TEST_CASE("of a line that was written over, the last text stays") {
    CHECK(plain("10%\r50%\r100%\n") == "100%\n");
    CHECK(plain("one\r\ntwo\r\n") == "one\ntwo\n");
    CHECK(plain("one\r\r\ntwo\r") == "one\ntwo");
}

TEST_CASE("a text that fits stays as it is") {
    CHECK(shorten("abc", 3, 0).text == "abc");
    CHECK(shorten("abc", 3, 7).omitted_bytes == 7);
}

TEST_CASE("what is shown and what is said to be missing are the whole") {
    std::string whole;
    for (int i = 0; i < 5000; ++i)
        whole += fmt::format("line {} \xc3\xa9\"\n", i);
    for (const std::size_t most : {40U, 1000U, 14000U}) {
        const Excerpt excerpt = shorten(whole, most, 5);
        const std::size_t mark = excerpt.text.find("\n[…");
        const std::size_t end = excerpt.text.find("…]\n") + std::string("…]\n").size();
        const std::string head = excerpt.text.substr(0, mark);
        const std::string tail = excerpt.text.substr(end);

        CHECK(whole.starts_with(head));
        CHECK(whole.ends_with(tail));
        CHECK(head.size() + tail.size() + excerpt.omitted_bytes == whole.size() + 5);
        CHECK(escaped_size(head) + escaped_size(tail) <= most);
    }
}

TEST_CASE("a character is never cut") {
    const std::string euros = [] {
        std::string text;
        for (int i = 0; i < 100; ++i)
            text += "\xe2\x82\xac";
        return text;
    }();
    for (std::size_t most = 10; most < 60; ++most) {
        const std::string text = shorten(euros, most, 0).text;
        const std::size_t mark = text.find("\n[");
        CHECK(mark % 3 == 0);
        CHECK((text.size() - text.find("]\n") - 2) % 3 == 0);
    }
}

TEST_CASE("the last line is the last one that is not blank") {
    CHECK(last_line("a\nb\n\n  \n") == "b");
    CHECK(last_line("50%\r60%") == "60%");
    CHECK(last_line("\n \n") == "");
}

TEST_SUITE_END();
