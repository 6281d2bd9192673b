#include "core/text/display.h"
#include "core/text/text.h"
#include "core/text/unicode.h"
#include "support/child_process.h"
#include "support/random.h"
#include "support/slow_utf8.h"
#include "support/testing.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using ew::core::has_invisible;
using ew::core::has_mixed_scripts;
using ew::core::shell_quoted;
using ew::core::visible;
using ew::test::encoded;

namespace {

std::string bytes_of(std::initializer_list<std::uint32_t> code_points) {
    std::string bytes;
    for (const std::uint32_t code_point : code_points)
        bytes += encoded(code_point);
    return bytes;
}

std::uint32_t number_in(std::string_view hex) {
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
    REQUIRE(parsed.ptr == hex.data() + hex.size());
    return number;
}

// What a visible text stands for, by its documented form alone.
std::string undone(std::string_view shown) {
    std::string bytes;
    while (!shown.empty()) {
        if (shown.front() != '\\') {
            bytes += shown.front();
            shown.remove_prefix(1);
            continue;
        }
        REQUIRE(shown.size() >= 2);
        std::size_t size = 2;
        switch (shown[1]) {
        case '\\': bytes += '\\'; break;
        case 'n': bytes += '\n'; break;
        case 'r': bytes += '\r'; break;
        case 't': bytes += '\t'; break;
        case 'x':
            size = 4;
            bytes += static_cast<char>(number_in(shown.substr(2, 2)));
            break;
        case 'u':
            size = shown.find('}') + 1;
            bytes += encoded(number_in(shown.substr(3, size - 4)));
            break;
        default: FAIL("no such escape");
        }
        shown.remove_prefix(size);
    }
    return bytes;
}

// What a script prints.
std::string output_of_bash(const std::string& script) {
    return ew::test::in_child([&] {
               ::dup2(STDERR_FILENO, STDOUT_FILENO);
               ::setenv("LC_ALL", "C", 1); // bash warns of a locale that the machine lacks
               return ::execl("/bin/bash", "bash", "-c", script.c_str(), nullptr) == 0;
           })
        .errors;
}

} // namespace

TEST_SUITE_BEGIN("core/display");

TEST_CASE("what shows itself stays as it is") {
    CHECK(visible("git commit -m 'Fix: it works' && echo $HOME | cat >\"a b\"") ==
          "git commit -m 'Fix: it works' && echo $HOME | cat >\"a b\"");
    CHECK(visible("Grüße, 日本語, Ελληνικά, кириллица, עברית, €, 😀") ==
          "Grüße, 日本語, Ελληνικά, кириллица, עברית, €, 😀");
}

TEST_CASE("controls are escapes") {
    CHECK(visible("a\nb\tc\rd") == "a\\nb\\tc\\rd");
    CHECK(visible("\x1b[2J\x07\x08") == "\\x1b[2J\\x07\\x08");
    CHECK(visible(std::string_view("\0", 1)) == "\\x00");
    CHECK(visible("\x7f") == "\\x7f");
    CHECK(visible(bytes_of({0x85, 0x9b})) == "\\u{85}\\u{9b}");
    CHECK(visible(bytes_of({0x2028, 0x2029})) == "\\u{2028}\\u{2029}");
}

TEST_CASE("a backslash is doubled, so that an escape cannot be imitated") {
    CHECK(visible("\\n") == "\\\\n");
    CHECK(visible("\\u{200b}") == "\\\\u{200b}");
}

TEST_CASE("what reorders text is an escape") {
    CHECK(visible(bytes_of({'a', 0x202e, 'b', 0x202c})) == "a\\u{202e}b\\u{202c}");
    for (const std::uint32_t control :
         {0x61cU, 0x200eU, 0x200fU, 0x202aU, 0x202bU, 0x202dU, 0x2066U, 0x2067U, 0x2068U, 0x2069U})
        CHECK(visible(encoded(control)).starts_with("\\u{"));
}

TEST_CASE("what has no width is an escape") {
    CHECK(visible(bytes_of({'r', 0x200b, 'm'})) == "r\\u{200b}m");
    for (const std::uint32_t nothing :
         {0xadU, 0x34fU, 0x180eU, 0x200cU, 0x200dU, 0x2060U, 0x2064U, 0xfeffU})
        CHECK(visible(encoded(nothing)).starts_with("\\u{"));
}

TEST_CASE("variation selectors and tag characters are escapes") {
    CHECK(visible(bytes_of({'a', 0xfe0f})) == "a\\u{fe0f}");
    CHECK(visible(encoded(0xe0100)) == "\\u{e0100}");
    CHECK(visible(bytes_of({0xe0001, 0xe0041, 0xe007f})) == "\\u{e0001}\\u{e0041}\\u{e007f}");
}

TEST_CASE("blanks other than the space are escapes") {
    CHECK(visible(bytes_of({'a', 0xa0, 'b'})) == "a\\u{a0}b");
    for (const std::uint32_t blank : {0x115fU, 0x1160U, 0x1680U, 0x2000U, 0x200aU, 0x202fU, 0x205fU,
                                      0x2800U, 0x3000U, 0x3164U, 0xffa0U})
        CHECK(visible(encoded(blank)).starts_with("\\u{"));
}

TEST_CASE("what has no meaning, or only a private one, is an escape") {
    CHECK(visible(encoded(0x378)) == "\\u{378}");       // unassigned
    CHECK(visible(encoded(0xe000)) == "\\u{e000}");     // private use
    CHECK(visible(encoded(0x10fffd)) == "\\u{10fffd}"); // private use
    CHECK(visible(encoded(0xfdd0)) == "\\u{fdd0}");     // noncharacter
    CHECK(visible(encoded(0x1ffff)) == "\\u{1ffff}");   // noncharacter
}

TEST_CASE("punctuation that looks like what a shell reads is an escape") {
    CHECK(visible(bytes_of({'a', 0x37e, 'b'})) == "a\\u{37e}b");         // ;
    CHECK(visible(bytes_of({0x2215, 'e', 't', 'c'})) == "\\u{2215}etc"); // slash
    CHECK(visible(bytes_of({0x2010, 'r', 'f'})) == "\\u{2010}rf");       // hyphen
}

TEST_CASE("marks are shown on letters only") {
    const std::string acute = encoded(0x301);

    CHECK(visible("e" + acute) == "e" + acute);
    CHECK(visible(acute + "e") == "\\u{301}e");
    CHECK(visible("/" + acute) == "/\\u{301}");
    CHECK(visible(" " + acute) == " \\u{301}");
    CHECK(visible("\n" + acute) == "\\n\\u{301}");
    CHECK(visible("\\" + acute) == "\\\\\\u{301}");
}

TEST_CASE("marks that cover a letter, or are piled up, are escapes") {
    CHECK(visible(bytes_of({'a', 0x338})) == "a\\u{338}");
    CHECK(visible(bytes_of({'a', 0x20dd})) == "a\\u{20dd}");
    const std::string acute = encoded(0x301);
    const std::string four = acute + acute + acute + acute;
    CHECK(visible("a" + four + acute + acute) == "a" + four + "\\u{301}\\u{301}");
}

TEST_CASE("invalid bytes are escapes of bytes") {
    CHECK(visible("a\xff\x62") == "a\\xffb");
    CHECK(visible("\xe2\x82") == "\\xe2\\x82");
    CHECK(visible("\xed\xa0\x80") == "\\xed\\xa0\\x80");
}

TEST_CASE("every code point can be told from what is shown") {
    for (std::uint32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
        if (ew::test::is_surrogate(code_point)) continue;
        const std::string bytes = encoded(code_point);
        const std::string shown = visible(bytes);
        if (shown != bytes) REQUIRE(undone(shown) == bytes);
    }
}

TEST_CASE("any bytes can be told from what is shown, and that shows itself") {
    ew::test::Random random(2);
    for (int round = 0; round < 20000; ++round) {
        std::string bytes;
        for (std::size_t size = random.below(8); size > 0; --size)
            bytes += random.below(2) == 0
                         ? std::string(1, static_cast<char>(random.below(256)))
                         : encoded(static_cast<std::uint32_t>(random.below(0xd800)));

        const std::string shown = visible(bytes);

        REQUIRE(undone(shown) == bytes);
        REQUIRE_FALSE(has_invisible(shown));
        REQUIRE(shown.find('\n') == std::string::npos);
    }
}

TEST_CASE("only newlines, tabs and backslashes are escapes that hide nothing") {
    CHECK_FALSE(has_invisible("a\n\tb\\"));
    CHECK_FALSE(has_invisible("Grüße"));
    CHECK(has_invisible("a\rb"));
    CHECK(has_invisible(encoded(0x200b)));
    CHECK(has_invisible("\xff"));
}

TEST_CASE("words that need no quotes have none") {
    CHECK(shell_quoted({"git", "log", "--format=%h", "HEAD~1"}) == "git log --format=%h 'HEAD~1'");
    CHECK(shell_quoted({"ls", "-la", "/usr/bin", "a_b,c:d@e+f"}) == "ls -la /usr/bin a_b,c:d@e+f");
    CHECK(shell_quoted({}) == "");
}

TEST_CASE("what a shell would read as something else is quoted") {
    CHECK(shell_quoted({"echo", "", "a b", "$HOME", "a;b", "*"}) ==
          "echo '' 'a b' '$HOME' 'a;b' '*'");
    CHECK(shell_quoted({"echo", "it's"}) == "echo 'it'\\''s'");
    CHECK(shell_quoted({"A=b", "c=d"}) == "'A=b' c=d");
    CHECK(shell_quoted({"if", "if"}) == "'if' if");
    CHECK(shell_quoted({"echo", "=ls", "{a,b}", "!x"}) == "echo '=ls' '{a,b}' '!x'");
}

TEST_CASE("what does not show itself is quoted with escapes of bytes") {
    CHECK(shell_quoted({"echo", "a\nb"}) == "echo $'a\\nb'");
    CHECK(shell_quoted({"echo", "it's\t\\!"}) == "echo $'it\\'s\\t\\\\\\x21'");
    CHECK(shell_quoted({encoded(0x202e) + "a"}) == "$'\\xe2\\x80\\xaea'");
    CHECK(shell_quoted({"\xff"}) == "$'\\xff'");
    CHECK(shell_quoted({"naïve"}) == "'naïve'");
}

TEST_CASE("bash reads the quoted words as they were") {
    ew::test::Random random(3);
    const std::vector<std::string> pieces = {"a",
                                             " ",
                                             "'",
                                             "\"",
                                             "\\",
                                             "$",
                                             "`",
                                             "!",
                                             "#",
                                             "~",
                                             "*",
                                             "\n",
                                             "\t",
                                             "\x1b",
                                             "\x7f",
                                             "\xff",
                                             "=",
                                             "-",
                                             "0",
                                             "é",
                                             encoded(0x200b),
                                             encoded(0x301),
                                             "{",
                                             "}",
                                             "(",
                                             ";",
                                             "&",
                                             "\r"};
    std::string script;
    std::string expected;
    for (int round = 0; round < 400; ++round) {
        std::vector<std::string> argv = {"printf", "%s\\0"};
        std::string word;
        for (std::size_t size = random.below(6); size > 0; --size)
            word += pieces[random.below(pieces.size())];
        argv.push_back(word);
        script += shell_quoted(argv) + "\n";
        expected += word + std::string(1, '\0');
    }

    CHECK(output_of_bash(script) == expected);
}

TEST_CASE("letters of two scripts in one word are noticed") {
    CHECK(has_mixed_scripts("раypal")); // the first two are Cyrillic
    CHECK(has_mixed_scripts("cat /etc/pαsswd"));
    CHECK(has_mixed_scripts("αж"));
    CHECK_FALSE(has_mixed_scripts("paypal"));
    CHECK_FALSE(has_mixed_scripts("кириллица"));
    CHECK_FALSE(has_mixed_scripts("/tmp/проект/file_имя"));
    CHECK_FALSE(has_mixed_scripts("naïve 日本語abc 5µm"));
}

TEST_CASE("characters that look like ASCII are told, of whatever script they are") {
    for (const char* text :
         {"ɡit push", "gitɑ", "gıt", "ꓲs", "սs", "ցit", "Ꮭs", "𝓰it", "ｇit", "ⅼs", "˗rf", "x։y",
          "С=1", "аbc", "/home/х", "ѕсоре", "rm –rf", "ls〳etc"}) {
        CAPTURE(std::string(text));
        CHECK((has_mixed_scripts(text) || has_invisible(text)));
    }
    for (const char* text :
         {"don’t", "“quoted”", "pages 10–20 – and more", "документ", "Größe", "café", "wait…",
          "a × b", "日本語", "αβγ", "git commit -m 'Исправить ошибку'"}) {
        CAPTURE(std::string(text));
        CHECK_FALSE(has_mixed_scripts(text));
    }
}

TEST_SUITE_END();
