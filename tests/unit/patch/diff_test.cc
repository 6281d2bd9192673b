#include "patch/diff.h"
#include "support/random.h"
#include "support/testing.h"

#include <ctime>
#include <string>

using ew::patch::DiffLimits;
using ew::patch::unified_diff;
using ew::test::Random;

namespace {

std::string diff(const std::string& before, const std::string& after, DiffLimits limits = {}) {
    return unified_diff(before, after, "old", "new", limits);
}

// Lines "1", "2", …
std::string numbers(int count) {
    std::string text;
    for (int i = 1; i <= count; ++i)
        text += std::to_string(i) + "\n";
    return text;
}

// One side of a diff that shows every line: ' ' and `kind`.
std::string side(const std::string& diff, char kind) {
    std::string text;
    std::size_t begin = diff.find("\n@@");
    if (begin == std::string::npos) return text;
    begin = diff.find('\n', begin + 1) + 1;
    while (begin < diff.size()) {
        const std::size_t end = diff.find('\n', begin) + 1;
        if (diff[begin] == ' ' || diff[begin] == kind)
            text += diff.substr(begin + 1, end - begin - 1);
        begin = end;
    }
    return text;
}

} // namespace

TEST_SUITE_BEGIN("patch/diff");

TEST_CASE("equal texts have no diff") {
    CHECK(diff("", "").empty());
    CHECK(diff("a\n", "a\n").empty());
}

TEST_CASE("a change is shown with the lines around it") {
    CHECK(diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n") ==
          "--- old\n+++ new\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
    CHECK(diff("1\n2\n3\n", "1\ntwo\n3\n", {.context = 0}) ==
          "--- old\n+++ new\n@@ -2,1 +2,1 @@\n-2\n+two\n");
}

TEST_CASE("changes far from each other are hunks of their own") {
    std::string after = numbers(20);
    after.replace(after.find("2\n"), 2, "two\n");
    after.replace(after.find("19\n"), 3, "");
    CHECK(diff(numbers(20), after) ==
          "--- old\n+++ new\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n"
          "@@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n 20\n");
}

TEST_CASE("an empty side names the line before it") {
    CHECK(diff("", "a\n") == "--- old\n+++ new\n@@ -0,0 +1,1 @@\n+a\n");
    CHECK(diff("a\n", "") == "--- old\n+++ new\n@@ -1,1 +0,0 @@\n-a\n");
}

TEST_CASE("a missing newline at the end is told") {
    CHECK(diff("a", "a\n") ==
          "--- old\n+++ new\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST_CASE("lines are made visible") {
    CHECK(diff("", "\x1b[2J\xff\r\n") == "--- old\n+++ new\n@@ -0,0 +1,1 @@\n+\\x1b[2J\\xff\n");
}

TEST_CASE("few changes in a large text are found, wherever they are") {
    std::string after = numbers(200'000);
    after.replace(after.find("\n7\n"), 3, "\nseven\n");
    after.replace(after.find("\n199990\n"), 8, "\n");
    CHECK(diff(numbers(200'000), after, {.context = 0}) ==
          "--- old\n+++ new\n@@ -7,1 +7,1 @@\n-7\n+seven\n@@ -199990,1 +199989,0 @@\n-199990\n");
}

TEST_CASE("texts with nothing in common are replaced, in bounded time") {
    std::string before;
    std::string after;
    for (int i = 0; i < 20'000; ++i) {
        before += "a" + std::to_string(i) + "\n";
        after += "b" + std::to_string(i) + "\n";
    }
    const std::string all = diff(before, after);
    CHECK(side(all, '-') == before);
    CHECK(side(all, '+') == after);

    // Two kinds of lines in random order: many short equal runs.
    Random random(1);
    std::string one;
    std::string other;
    for (int i = 0; i < 200'000; ++i) {
        one += random.below(2) == 0 ? "x\n" : "y\n";
        other += random.below(2) == 0 ? "x\n" : "y\n";
    }
    const std::clock_t begin = std::clock();
    (void)diff(one, other);                            // must end
    CHECK(std::clock() - begin < 20 * CLOCKS_PER_SEC); // of the processor, however busy it is
}

TEST_CASE("a long diff ends early and says so") {
    const std::string cut = diff("", numbers(1000), {.most_bytes = 100});
    CHECK(cut.size() < 200);
    CHECK(cut.starts_with("--- old\n+++ new\n@@ -0,0 +1,1000 @@\n+1\n"));
    CHECK(cut.ends_with("\n… more than 100 bytes\n"));
    CHECK(diff("", std::string(1000, 'x'), {.most_bytes = 100}) ==
          "--- old\n+++ new\n@@ -0,0 +1,1 @@\n… more than 100 bytes\n");
}

TEST_CASE("texts with too many lines are not compared") {
    CHECK(diff("", std::string(1'000'001, '\n')) ==
          "--- old\n+++ new\n… more than 1000000 lines\n");
}

TEST_CASE("both sides of a diff are the texts") {
    Random random(7);
    for (int round = 0; round < 2000; ++round) {
        const auto text = [&] {
            std::string lines;
            for (std::size_t i = random.below(12); i > 0; --i)
                lines += std::string(1, static_cast<char>('a' + random.below(3))) + "\n";
            return lines;
        };
        const std::string before = text();
        const std::string after = text();
        const std::string all = diff(before, after, {.context = 100});
        if (before == after) continue;
        CHECK(side(all, '-') == before);
        CHECK(side(all, '+') == after);
    }
}

TEST_SUITE_END();
