#include "patch/parse.h"
#include "support/testing.h"

#include <string>
#include <variant>
#include <vector>

using namespace ew::patch;
using ew::Error;
using ew::ErrorKind;
using ew::Result;

namespace {

// A patch with these lines between the first and the last.
std::string patch_of(const std::string& body) {
    return "*** Begin Patch\n" + body + "*** End Patch\n";
}

Patch parsed(const std::string& text) {
    Result<Patch> patch = parse(text);
    if (!patch) FAIL(patch.error().message);
    return *patch;
}

Error error_of(const std::string& text) {
    Result<Patch> patch = parse(text);
    if (patch) FAIL("there is no error");
    return patch.error();
}

// The message, which must be about the params.
std::string complaint(const std::string& text) {
    const Error error = error_of(text);
    CHECK(error.kind == ErrorKind::invalid_params);
    return error.message;
}

template <class Change>
const Change& change_of(const Patch& patch, std::size_t index = 0) {
    REQUIRE(index < patch.changes.size());
    const Change* change = std::get_if<Change>(&patch.changes[index].change);
    REQUIRE(change != nullptr);
    return *change;
}

const Chunk& chunk_of(const Patch& patch, std::size_t index = 0) {
    const Update& update = change_of<Update>(patch);
    REQUIRE(index < update.chunks.size());
    return update.chunks[index];
}

// "-old,+new, context"
std::string lines_in(const Chunk& chunk) {
    std::string text;
    for (const Line& line : chunk.lines) {
        text += text.empty() ? "" : ",";
        text += line.kind == LineKind::context ? ' ' : line.kind == LineKind::added ? '+' : '-';
        text += line.text;
    }
    return text;
}

} // namespace

TEST_SUITE_BEGIN("patch/parse");

TEST_CASE("all kinds of changes stand in one patch") {
    const Patch patch = parsed(patch_of("*** Add File: a/new.txt\n+one\n+\n+two\n"
                                        "*** Delete File: old.txt\n"
                                        "*** Update File: b.txt\n*** Move to: c.txt\n"
                                        "@@ void f()\n before\n-old\n+new\n*** End of File\n"));

    REQUIRE(patch.changes.size() == 3);
    CHECK(patch.changes[0].path == "a/new.txt");
    CHECK(patch.changes[0].line == 2);
    CHECK(change_of<Addition>(patch, 0).contents == "one\n\ntwo\n");
    CHECK(patch.changes[1].path == "old.txt");
    CHECK(patch.changes[1].line == 6);
    CHECK(std::holds_alternative<Deletion>(patch.changes[1].change));
    const Update& update = change_of<Update>(patch, 2);
    CHECK(update.destination == "c.txt");
    REQUIRE(update.chunks.size() == 1);
    CHECK(update.chunks[0].contexts == std::vector<std::string>{"void f()"});
    CHECK(lines_in(update.chunks[0]) == " before,-old,+new");
    CHECK(update.chunks[0].is_at_end);
    CHECK(update.chunks[0].line == 9);
}

TEST_CASE("a file may be added without lines") {
    CHECK(change_of<Addition>(parsed(patch_of("*** Add File: empty\n"))).contents.empty());
}

TEST_CASE("only the first chunk may lack its marker") {
    const Patch patch = parsed(patch_of("*** Update File: a\n-x\n+y\n@@\n-z\n"));
    CHECK(lines_in(chunk_of(patch, 0)) == "-x,+y");
    CHECK(lines_in(chunk_of(patch, 1)) == "-z");
    CHECK(chunk_of(patch, 1).contexts.empty());

    CHECK(complaint(patch_of("*** Update File: a\n-x\n*** End of File\n-z\n")) ==
          "line 5: unexpected line `-z`: expected @@ or a header");
}

TEST_CASE("several context lines stand in front of one chunk") {
    const Patch patch = parsed(patch_of("*** Update File: a\n@@ class A\n@@   def f\n@@\n-x\n"));
    CHECK(chunk_of(patch).contexts == std::vector<std::string>{"class A", "  def f"});

    std::string many = "*** Update File: a\n";
    for (std::size_t i = 0; i <= most_contexts; ++i)
        many += "@@ x\n";
    CHECK(error_of(patch_of(many + "-x\n")).kind == ErrorKind::limit);
}

TEST_CASE("blanks and empty lines around the text and its markers are ignored") {
    const Patch patch = parsed("\n \n  *** Begin Patch \n  *** Delete File:  a b \t\n\n"
                               "\t*** Add File: c\n+x\n\t*** End Patch\t\n\n ");
    REQUIRE(patch.changes.size() == 2);
    CHECK(patch.changes[0].path == "a b");
    CHECK(patch.changes[0].line == 4);
    CHECK(patch.changes[1].path == "c");
}

TEST_CASE("a here-document around the patch is taken away") {
    const std::string inside = patch_of("*** Delete File: a\n");
    for (const char* beginning : {"<<EOF\n", "<<'EOF'\n", "<<\"EOF\"\n"}) {
        const Patch patch = parsed(beginning + inside + "EOF\n");
        REQUIRE(patch.changes.size() == 1);
        CHECK(patch.changes[0].line == 3);
    }
    CHECK(complaint("<<'EOF\"\n" + inside + "EOF\n").starts_with("line 1: the first line is"));
    CHECK(complaint("<<EOF\n" + inside + "EOT\n").starts_with("line 1: the first line is"));
    CHECK(complaint("<<EOF\n*** Begin Patch\nEOF\n").starts_with("line 1: the first line is"));
}

TEST_CASE("empty lines between chunks are no lines of them") {
    const Patch patch =
        parsed(patch_of("*** Update File: a\n\n@@\n-x\n*** End of File\n\n  \n@@\n-y\n"));
    CHECK(lines_in(chunk_of(patch, 0)) == "-x");
    CHECK(lines_in(chunk_of(patch, 1)) == "-y");
}

TEST_CASE("an empty line in a chunk is an empty context line") {
    CHECK(lines_in(chunk_of(parsed(patch_of("*** Update File: a\n-x\n\n+y\n z\n")))) ==
          "-x, ,+y, z");
    CHECK(lines_in(chunk_of(parsed(patch_of("*** Update File: a\n \n+y\n")))) == " ,+y");
}

TEST_CASE("an empty line behind nothing but added lines separates") {
    CHECK(lines_in(chunk_of(parsed(patch_of("*** Update File: a\n@@\n+x\n\n\n")))) == "+x");
    CHECK(lines_in(chunk_of(parsed(patch_of("*** Update File: a\n@@\n\n+x\n\n")))) == " ,+x, ");
}

TEST_CASE("CRLF ends lines of a patch as LF does") {
    const Patch patch = parsed("*** Begin Patch\r\n*** Add File: n\r\n+one\r\n+\r\n"
                               "*** Update File: a\r\n@@ f\r\n-x\r\n\r\n+y\r\n"
                               "*** End of File\r\n*** End Patch\r\n");
    CHECK(change_of<Addition>(patch).contents == "one\n\n");
    REQUIRE(patch.changes.size() == 2);
    const Chunk& chunk = change_of<Update>(patch, 1).chunks.front();
    CHECK(lines_in(chunk) == "-x, ,+y");
    CHECK(chunk.contexts == std::vector<std::string>{"f"});
    CHECK(chunk.is_at_end);
}

TEST_CASE("a file is added with CRLF if only its lines have it") {
    CHECK(change_of<Addition>(parsed(patch_of("*** Add File: a\n+x\r\n+y\n"))).contents ==
          "x\r\ny\n");
    CHECK(lines_in(chunk_of(parsed(patch_of("*** Update File: a\n-x\r\n+y\r\n")))) == "-x,+y");
}

TEST_CASE("what stands around a patch is refused") {
    CHECK(complaint("") == "line 1: the patch is empty: expected `*** Begin Patch`");
    CHECK(complaint(" \n\n") == "line 1: the patch is empty: expected `*** Begin Patch`");
    CHECK(complaint("\nbad\n*** End Patch") ==
          "line 2: the first line is `bad`: expected `*** Begin Patch`");
    CHECK(complaint("*** Begin Patch\n*** Delete File: a\nbad") ==
          "line 3: the last line is `bad`: expected `*** End Patch`");
    CHECK(complaint("*** Begin Patch") ==
          "line 1: the last line is `*** Begin Patch`: expected `*** End Patch`");
    CHECK(complaint(patch_of("*** Delete File: a\n*** End Patch\n")) ==
          "line 3: `*** End Patch` before the end of the patch");
}

TEST_CASE("a patch without changes has an error of its own") {
    for (const char* body : {"", "\n\n"}) {
        const Error error = error_of(patch_of(body));
        CHECK(error.message == "the patch is empty: it changes no file");
        CHECK_FALSE(error.hint.empty());
    }
}

TEST_CASE("a line that begins no change is refused") {
    const Error error = error_of(patch_of("*** Rename File: a\n"));
    CHECK(error.message ==
          "line 2: `*** Rename File: a` does not begin a change: expected `*** Add File:`, "
          "`*** Delete File:` or `*** Update File:` with a path");
    CHECK_FALSE(error.hint.empty());
    CHECK(complaint(patch_of("*** Add File: a\n+x\ny\n"))
              .starts_with("line 4: `y` does not begin a"));
    CHECK(complaint(patch_of("*** Add File: a\n+x\n\n+y\n"))
              .starts_with("line 5: `+y` does not begin a"));
    CHECK(complaint(patch_of("*** Delete File: a\n-x\n"))
              .starts_with("line 3: `-x` does not begin a"));
}

TEST_CASE("what a message quotes is visible and short") {
    const std::string message = complaint(patch_of("\x1b[31m" + std::string(5000, 'x') + "\n"));
    CHECK(message.starts_with("line 2: `\\x1b[31mxxx"));
    CHECK(message.size() < 400);
}

TEST_CASE("an update without chunks is refused, unless the file moves") {
    CHECK(complaint(patch_of("*** Delete File: b\n*** Update File: a\n")) ==
          "line 3: the update of `a` has no lines");
    CHECK(complaint(patch_of("*** Update File: a\n*** Delete File: b\n")) ==
          "line 2: the update of `a` has no lines");

    const Update update =
        change_of<Update>(parsed(patch_of("*** Update File: a\n*** Move to: b\n")));
    CHECK(update.destination == "b");
    CHECK(update.chunks.empty());
}

TEST_CASE("a chunk without lines is refused") {
    CHECK(complaint(patch_of("*** Update File: a\n@@\n")) == "line 3: the chunk has no lines");
    CHECK(complaint(patch_of("*** Update File: a\n-x\n@@ f\n*** End of File\n")) ==
          "line 4: the chunk has no lines");
}

TEST_CASE("an unexpected line in an update is refused") {
    CHECK(complaint(patch_of("*** Update File: a\nx\n")) ==
          "line 3: unexpected line `x`: expected one that begins with a blank, + or -");
    CHECK(complaint(patch_of("*** Update File: a\n@@\nx\n")) ==
          "line 4: unexpected line `x`: expected one that begins with a blank, + or -");
    CHECK(complaint(patch_of("*** Update File: a\n@@\n-x\ny\n")) ==
          "line 5: unexpected line `y`: expected @@ or a header");
    CHECK(complaint(patch_of("*** Update File: a\n@@f\n-x\n")) ==
          "line 3: unexpected line `@@f`: expected one that begins with a blank, + or -");
}

TEST_CASE("a path that cannot be one is refused") {
    CHECK(complaint(patch_of("*** Add File: \n+x\n")) == "line 2: the path is empty");
    CHECK(complaint(patch_of("*** Update File: a\n*** Move to:\n-x\n")) ==
          "line 3: the path is empty");
    CHECK(complaint(patch_of(std::string("*** Delete File: a\0b\n", 21))) ==
          "line 2: there is a NUL in the path `a\\x00b`");
    CHECK(complaint(patch_of("*** Delete File: " + std::string(longest_path + 1, 'x') + "\n")) ==
          "line 2: the path has more than 4095 bytes");
    CHECK(parse(patch_of("*** Delete File: " + std::string(longest_path, 'x') + "\n")));
}

TEST_CASE("no path is named twice") {
    const std::string update = "*** Update File: a\n-x\n";
    CHECK(complaint(patch_of(update + update)) == "line 4: `a` is changed here and by line 2");
    CHECK(complaint(patch_of("*** Delete File: a\n*** Add File: a\n+x\n")) ==
          "line 3: `a` is changed here and by line 2");
    CHECK(complaint(patch_of("*** Add File: ./a\n*** Delete File: a\n")) ==
          "line 3: `a` is changed here and by line 2");
    CHECK(complaint(patch_of("*** Delete File: /d/a\n*** Delete File: /d//./a/\n")) ==
          "line 3: `/d//./a/` is changed here and by line 2");
    CHECK(complaint(patch_of("*** Add File: b\n*** Update File: a\n*** Move to: b\n-x\n")) ==
          "line 4: `b` is changed here and by line 2");
    CHECK(complaint(patch_of("*** Update File: a\n*** Move to: b\n-x\n*** Delete File: b\n")) ==
          "line 5: `b` is changed here and by line 3");
    CHECK(parse(patch_of("*** Delete File: a\n*** Delete File: /a\n*** Delete File: b/a\n")));
}

TEST_CASE("a file that is moved to itself stays") {
    const Update update =
        change_of<Update>(parsed(patch_of("*** Update File: a\n*** Move to: ./a\n-x\n")));
    CHECK(update.destination.empty());
}

TEST_CASE("sizes have limits") {
    const auto is_limit = [](const std::string& text) {
        return error_of(text).kind == ErrorKind::limit;
    };
    const std::string added = "*** Add File: a\n+";
    CHECK(is_limit(patch_of(added + std::string(longest_patch, 'x') + "\n")));
    CHECK(is_limit(patch_of(added + std::string(300'000, '\n'))));

    std::string files;
    for (std::size_t i = 0; i < most_changes; ++i)
        files += "*** Delete File: " + std::to_string(i) + "\n";
    CHECK(parsed(patch_of(files)).changes.size() == most_changes);
    CHECK(is_limit(patch_of(files + "*** Delete File: x\n")));

    std::string chunks = "*** Update File: a\n";
    for (std::size_t i = 0; i < most_chunks; ++i)
        chunks += "@@\n-x\n";
    CHECK(parse(patch_of(chunks)));
    CHECK(is_limit(patch_of(chunks + "@@\n-x\n")));
}

TEST_SUITE_END();
