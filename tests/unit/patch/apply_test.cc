#include "patch/apply.h"
#include "support/patch_tree.h"
#include "support/testing.h"

#include <string>
#include <vector>

using namespace ew::patch;
using ew::Error;
using ew::ErrorKind;
using ew::Result;
using ew::test::patched;

namespace {

Result<ew::test::Patched> updated(const std::string& chunks, const std::string& before) {
    return patched("*** Begin Patch\n*** Update File: f\n" + chunks + "*** End Patch\n",
                   {{"f", before}});
}

std::string after(const std::string& chunks, const std::string& before) {
    Result<ew::test::Patched> result = updated(chunks, before);
    if (!result) return "error: " + result.error().message;
    return result->tree["f"];
}

std::vector<ChunkMatch> matches(const std::string& chunks, const std::string& before) {
    Result<ew::test::Patched> result = updated(chunks, before);
    if (!result) FAIL(result.error().message);
    return result->matches["f"];
}

MatchLevel level(const std::string& chunks, const std::string& before) {
    return matches(chunks, before).at(0).level;
}

Error error_of(const std::string& chunks, const std::string& before) {
    Result<ew::test::Patched> result = updated(chunks, before);
    if (result) FAIL("there is no error");
    return result.error();
}

} // namespace

TEST_SUITE_BEGIN("patch/apply");

TEST_CASE("lines are removed, added and kept where they match") {
    CHECK(after(" a\n-b\n+B\n c\n", "x\na\nb\nc\n") == "x\na\nB\nc\n");
    CHECK(after("@@\n-a\n@@\n-c\n+C\n+D\n", "a\nb\nc\n") == "b\nC\nD\n");
    CHECK(after("-a\n", "a\n").empty());
    CHECK(after(" a\n", "a\n") == "a\n");
}

TEST_CASE("it tells where each chunk matched") {
    const std::vector<ChunkMatch> found =
        matches("@@\n b\n-c\n@@\n-e \n+E\n@@\n+z\n", "a\nb\nc\nd\ne\n");
    REQUIRE(found.size() == 3);
    CHECK(found[0].line == 2);
    CHECK(found[0].level == MatchLevel::exact);
    CHECK(found[1].line == 5);
    CHECK(found[1].level == MatchLevel::trailing_blanks);
    CHECK(found[2].line == 6);
    CHECK(found[2].level == MatchLevel::exact);
}

TEST_CASE("of several exact places the first behind the last chunk counts") {
    CHECK(after("-a\n+1\n", "a\na\na\n") == "1\na\na\n");
    CHECK(after("@@\n-a\n+1\n@@\n-a\n+2\n", "a\na\na\n") == "1\n2\na\n");
    CHECK(after("@@ x\n-a\n+1\n", "a\nx\na\n") == "a\nx\n1\n");
}

TEST_CASE("each level is told, and kept lines keep their bytes") {
    CHECK(after(" a\n-b\n+c\n", "a \t\nb\n") == "a \t\nc\n");
    CHECK(level(" a\n-b\n+c\n", "a \t\nb\n") == MatchLevel::trailing_blanks);
    CHECK(after(" a\n-b\n+c\n", "\ta\n\tb\n") == "\ta\n\tc\n");
    CHECK(level(" a\n-b\n+c\n", "\ta\n\tb\n") == MatchLevel::both_ends);
    CHECK(after(" \"a-b\"\n-b\n+c\n", "“a–b”\nb\n") == "“a–b”\nc\n");
    CHECK(level(" \"a-b\"\n-b\n+c\n", "“a–b”\nb\n") == MatchLevel::folded);
    CHECK(level("@@ f\n-b\n", "  f\nb\n") == MatchLevel::both_ends);
    CHECK(level("@@ f\n-b\n", "f\nb \n") == MatchLevel::trailing_blanks);
}

TEST_CASE("lines that match only loosely in several places are refused, with the places") {
    const Error error = error_of("-a\n+b\n", "\ta\nx\n  a\n a\n");
    CHECK(error.kind == ErrorKind::invalid_params);
    CHECK(error.message == "line 3: the file has these lines only if blanks at both ends of lines "
                           "are disregarded, and then in 3 places: at lines 1, 3, 4");
    CHECK_FALSE(error.hint.empty());
    std::string many;
    for (int i = 0; i < 20; ++i)
        many += " a\n";
    CHECK(error_of("-a\n", many)
              .message.ends_with("in 20 places: at lines 1, 2, 3, 4, 5 and 15 more"));

    // Only what is behind the last chunk can be meant.
    CHECK(after("@@\n-x\n@@\n-a\n+b\n", " a\nx\n a\n") == " a\n b\n");
}

TEST_CASE("added lines stand behind their context line, or at the end") {
    CHECK(after("@@ a\n+b\n", "a\nc\n") == "a\nb\nc\n");
    CHECK(after("@@\n+b\n", "a\nc\n") == "a\nc\nb\n");
    CHECK(after("+b\n", "a\n\n") == "a\n\nb\n");
    CHECK(after("@@ a\n+b\n*** End of File\n", "a\nc\n") == "a\nc\nb\n");
    CHECK(after("@@ c\n+b\n", "a\nc\n") == "a\nc\nb\n");
    CHECK(after("+a\n+b\n", "") == "a\nb\n");
    CHECK(matches("@@ a\n+b\n", "a\nc\n").at(0).line == 2);
}

TEST_CASE("chunks behind one that adds at the end are still looked for in front of it") {
    CHECK(after("@@\n+z\n@@\n-a\n+b\n@@\n+zz\n", "a\nc\n") == "b\nc\nz\nzz\n");
    CHECK(after("@@ a\n+1\n@@\n-c\n+2\n", "a\nc\n") == "a\n1\n2\n");
}

TEST_CASE("context lines are looked for one behind the other") {
    const std::string file = "class A\n  f\n    x\nclass B\n  g\n    x\n  f\n    x\n";
    CHECK(after("@@ class B\n@@   f\n-    x\n+    y\n", file) ==
          "class A\n  f\n    x\nclass B\n  g\n    x\n  f\n    y\n");
    CHECK(after("@@ class B\n+  h\n", file) ==
          "class A\n  f\n    x\nclass B\n  h\n  g\n    x\n  f\n    x\n");
}

TEST_CASE("a context line that may be several is settled by the lines of the chunk, or refused") {
    const std::string file = "A\n  f\n    x\nB\n  f\n    y\n";
    CHECK(after("@@ f\n-    y\n+    z\n", file) == "A\n  f\n    x\nB\n  f\n    z\n");
    CHECK(
        after("@@ f\n-    x\n", "  f\n    x\n f\n    x\n") ==
        "error: line 3: the file has `f` only if blanks at both ends of lines are disregarded, and "
        "then in 2 places: at lines 1, 3");
    CHECK(
        after("@@ f\n+x\n", file) ==
        "error: line 3: the file has `f` only if blanks at both ends of lines are disregarded, and "
        "then in 2 places: at lines 2, 5");
    CHECK(after("@@ f\n+x\n", "f\na\nf\n") == "f\nx\na\nf\n"); // exact: the first
}

TEST_CASE("a chunk may begin with its own context line") {
    CHECK(after("@@ f\n f\n-x\n+y\n", "a\nf\nx\n") == "a\nf\ny\n");
    CHECK(matches("@@ f\n f\n-x\n", "a\nf\nx\n").at(0).line == 2);
}

TEST_CASE("the end of the file is tried first, then the rest") {
    CHECK(after("-a\n+b\n*** End of File\n", "a\nx\na\n") == "a\nx\nb\n");
    CHECK(after("-a\n+b\n*** End of File\n", "a\na\nx\n") == "b\na\nx\n");
    CHECK(after(" a\n+b\n*** End of File\n", "a\nx\na \n") == "a\nx\na \nb\n");
    CHECK(after("@@\n-a\n@@\n-a\n*** End of File\n", "a\n").starts_with("error: line 5: "));
}

TEST_CASE("empty lines at the end of a chunk may be separators") {
    CHECK(after("-a\n+b\n\n\n", "a\nc\n") == "b\nc\n");
    CHECK(after("-a\n+b\n\n", "a\nc\na\n\nd\n") == "a\nc\nb\n\nd\n"); // but lines of the file first
    CHECK(after("-a\n+b\n\n\n\n\n\n\n", "a\nc\n").starts_with("error: "));
}

TEST_CASE("an empty line behind the last newline can be meant at the end only") {
    CHECK(after("-a\n-\n+b\n+\n", "x\na\n") == "x\nb\n");
    CHECK(after("-a\n-\n", "x\na\n") == "x\n");
    CHECK(after("-a\n-\n", "a\nx\n").starts_with("error: "));
    CHECK(after("-a\n-\n+b\n", "x\na\n") == "x\nb\n");
}

TEST_CASE("added lines end like their neighbours") {
    CHECK(after("-a\n+b\n+c\n", "a\r\nx\r\n") == "b\r\nc\r\nx\r\n");
    CHECK(after(" a\n+b\n", "a\r\nx\n") == "a\r\nb\r\nx\n");
    CHECK(after("+n\n a\n", "a\r\nx\n") == "n\r\na\r\nx\n");
    CHECK(after("-a\n-b\n+A\n+B\n+C\n", "a\r\nb\nc\r\n") == "A\r\nB\nC\nc\r\n");
    CHECK(after("-a\r\n+b\r\n", "a\nx\n") == "b\nx\n");
    CHECK(after("+b\n", "a\r\n") == "a\r\nb\r\n");
    CHECK(after(" a\n-b\n+B\n", "a\r\nb\n") == "a\r\nB\n");
}

TEST_CASE("a missing newline at the end stays missing") {
    CHECK(after("-a\n+b\n", "x\na") == "x\nb");
    CHECK(after("-x\n+y\n", "x\na") == "y\na");
    CHECK(after("+b\n", "a") == "a\nb");
    CHECK(after("+b\n", "x\r\na") == "x\r\na\r\nb");
    CHECK(after(" x\n-a\n", "x\na") == "x");
    CHECK(after(" x\n-a\n", "x\r\na") == "x");
    CHECK(after("-a\n", "a").empty());
    CHECK(after(" a\n+\n", "a") == "a\n"); // an empty line at the end is what a newline makes
    CHECK(after("-a\n+b\n", "x\na\n") == "x\nb\n");
}

TEST_CASE("files are bytes") {
    const std::string binary("\xff\xfe\0x\n", 5);
    CHECK(after("-b\n+c\n", binary + "b\n" + binary) == binary + "c\n" + binary);
    CHECK(after(" a\n-b\n+c\n", "a \xff\nb\n").starts_with("error: "));
    CHECK(after("-caf\xe9\n+caf\xc3\xa9\n", "caf\xe9 \n") == "caf\xc3\xa9\n");
}

TEST_CASE("a byte order mark stays, and need not be in the patch") {
    CHECK(after("-a\n+b\n", "\xef\xbb\xbf"
                            "a\n") == "\xef\xbb\xbf"
                                      "b\n");
    CHECK(level("-a\n+b\n", "\xef\xbb\xbf"
                            "a\n") == MatchLevel::exact);
    CHECK(after("-\xef\xbb\xbf"
                "a\n+b\n",
                "\xef\xbb\xbf"
                "a\n") == "b\n");
}

TEST_CASE("lines that are not there are quoted, with the nearest line") {
    const Error error = error_of("@@\n-x\n@@\n int f(int a)\n-\t\x1b\n", "x\nint f(int b)\n");
    CHECK(error.kind == ErrorKind::invalid_params);
    CHECK(error.message ==
          "line 5: from line 2 of the file on, these lines are not there together: "
          "`int f(int a)`, `\\t\\x1b`");
    CHECK(error.hint == "the line most like `int f(int a)` is line 2: `int f(int b)`; copy lines "
                        "exactly as they are");
    CHECK(error_of("-1\n-2\n-3\n-4\n-5\n-6\n-7\n", "x\n").message.ends_with("`5` and 2 more"));
    CHECK(error_of("-abc\n", "x\n").hint ==
          "read the file again, and copy lines exactly as they are");
}

TEST_CASE("chunks that are out of order are told so") {
    CHECK(
        error_of("@@\n-b\n@@\n-a\n", "a\nb\n").hint.starts_with("they are at line 1, before that"));
}

TEST_CASE("a context line that is not there is quoted") {
    const Error error = error_of("@@ class C\n-a\n", "class D\na\n");
    CHECK(error.message == "line 3: from line 1 of the file on, no line is `class C`, as @@ says");
    CHECK(error.hint.starts_with("the line most like `class C` is line 1"));
    CHECK(error_of("@@ -1,2 +1,2 @@\n-a\n", "a\n").hint.starts_with("do not give line numbers"));
}

TEST_CASE("files have limits") {
    CHECK(error_of("+a\n", std::string(largest_file + 1, 'x')).kind == ErrorKind::limit);
    CHECK(error_of("+a\n", std::string(most_file_lines + 1, '\n')).kind == ErrorKind::limit);
    CHECK(after("+a\n", std::string(most_file_lines, '\n')).size() == most_file_lines + 2);
}

TEST_CASE("many chunks in a large file reach a limit and not the end of patience") {
    std::string chunks;
    for (std::size_t i = 0; i < most_chunks; ++i)
        chunks += "@@\n-x\n";
    CHECK(error_of(chunks, std::string(most_file_lines - 1, '\n') + "x\n").kind ==
          ErrorKind::invalid_params);

    std::string lines;
    for (std::size_t i = 0; i < most_chunks; ++i)
        lines += "x\n";
    CHECK(error_of(chunks, lines + std::string(900'000, '\n')).kind == ErrorKind::limit);
    CHECK(after(chunks, lines).empty());
}

TEST_SUITE_END();
