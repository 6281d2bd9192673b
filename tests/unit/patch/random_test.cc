// Random texts and edits: a patch that is written with enough context makes the edited text.
#include "support/patch_tree.h"
#include "support/random.h"
#include "support/testing.h"

#include <algorithm>
#include <string>
#include <vector>

using ew::Result;
using ew::test::Patched;
using ew::test::patched;
using ew::test::Random;

namespace {

using Lines = std::vector<std::string>;

// Some lines of the text, and those to stand there instead.
struct Replacement {
    std::size_t begin = 0;
    std::size_t end = 0;
    Lines lines = {};
};

std::string random_line(Random& random) {
    constexpr std::size_t different = 12; // few, so that many lines are there twice
    const std::size_t which = random.below(different);
    if (which == 0) return "";
    return std::string(random.below(3), ' ') + "line " + std::to_string(which);
}

Lines random_lines(Random& random, std::size_t most) {
    Lines lines(random.below(most + 1));
    std::generate(lines.begin(), lines.end(), [&] { return random_line(random); });
    return lines;
}

// In order, and with lines between them.
std::vector<Replacement> random_replacements(Random& random, std::size_t line_count) {
    std::vector<Replacement> replacements;
    std::size_t at = random.below(4);
    while (at < line_count && replacements.size() < 4) {
        const std::size_t end = std::min(line_count, at + random.below(4));
        replacements.push_back({at, end, random_lines(random, 3)});
        at = end + 1 + random.below(6);
    }
    return replacements;
}

bool stands_at(const Lines& file, const Lines& wanted, std::size_t at) {
    return at + wanted.size() <= file.size() &&
           std::equal(wanted.begin(), wanted.end(), file.begin() + static_cast<std::ptrdiff_t>(at));
}

std::size_t first_place(const Lines& file, const Lines& wanted, std::size_t from) {
    while (from <= file.size() && !stands_at(file, wanted, from))
        ++from;
    return from;
}

Lines part(const Lines& lines, std::size_t begin, std::size_t end) {
    return {lines.begin() + static_cast<std::ptrdiff_t>(begin),
            lines.begin() + static_cast<std::ptrdiff_t>(end)};
}

// How many lines must stand in front so that the first place from the cursor is the one meant. With
// all lines from the cursor on, it always is.
std::size_t context_for(const Lines& file, const Replacement& replacement, std::size_t cursor) {
    std::size_t context = replacement.begin == replacement.end ? 1 : 0;
    while (context < replacement.begin - cursor &&
           first_place(file, part(file, replacement.begin - context, replacement.end), cursor) !=
               replacement.begin - context)
        ++context;
    return std::min(context, replacement.begin - cursor);
}

struct Case {
    Lines before;
    Lines after = {};
    std::string patch = "*** Begin Patch\n*** Update File: f\n";
};

void append(std::string& patch, char kind, const Lines& lines) {
    for (const std::string& line : lines)
        patch.append(1, kind).append(line).append("\n");
}

Case random_case(Random& random) {
    Case scene = {.before = random_lines(random, 30)};
    scene.before.push_back(random_line(random)); // so that there is always a line with an end
    scene.before.push_back("first to last " + std::to_string(random.below(100)));
    std::size_t cursor = 0;
    for (const Replacement& replacement : random_replacements(random, scene.before.size())) {
        const std::size_t context = context_for(scene.before, replacement, cursor);
        if (context == 0 && replacement.begin == replacement.end) continue; // nothing to hold on to
        const Lines between = part(scene.before, cursor, replacement.begin);
        scene.after.insert(scene.after.end(), between.begin(), between.end());
        scene.after.insert(scene.after.end(), replacement.lines.begin(), replacement.lines.end());
        scene.patch += "@@\n";
        append(scene.patch, ' ',
               part(scene.before, replacement.begin - context, replacement.begin));
        append(scene.patch, '-', part(scene.before, replacement.begin, replacement.end));
        append(scene.patch, '+', replacement.lines);
        cursor = replacement.end;
    }
    const Lines rest = part(scene.before, cursor, scene.before.size());
    scene.after.insert(scene.after.end(), rest.begin(), rest.end());
    if (cursor == 0) scene.patch += "@@\n " + scene.before.front() + "\n"; // changes nothing
    scene.patch += "*** End Patch\n";
    return scene;
}

std::string joined(const Lines& lines, std::string_view end) {
    std::string text;
    for (const std::string& line : lines)
        text.append(line).append(end);
    return text;
}

void require_applies(const Case& scene, const std::string& patch, const std::string& before,
                     const std::string& after) {
    Result<Patched> result = patched(patch, {{"f", before}});
    INFO(scene.patch, "\nbefore:\n", before);
    if (!result) FAIL(result.error().message);
    REQUIRE(result->tree["f"] == after);
}

std::string with_crlf(const std::string& text) {
    std::string result;
    for (const char c : text)
        result.append(c == '\n' ? "\r\n" : std::string(1, c));
    return result;
}

std::string without_last(std::string text, std::size_t count) {
    text.resize(text.size() - std::min(count, text.size()));
    return text;
}

constexpr int rounds = 3000;

} // namespace

TEST_SUITE_BEGIN("patch/random");

TEST_CASE("a patch with enough context makes the edited text") {
    Random random(1);
    for (int round = 0; round < rounds; ++round) {
        const Case scene = random_case(random);
        require_applies(scene, scene.patch, joined(scene.before, "\n"), joined(scene.after, "\n"));
        require_applies(scene, with_crlf(scene.patch), joined(scene.before, "\n"),
                        joined(scene.after, "\n"));
    }
}

TEST_CASE("a file with CRLF keeps it") {
    Random random(2);
    for (int round = 0; round < rounds; ++round) {
        const Case scene = random_case(random);
        require_applies(scene, scene.patch, joined(scene.before, "\r\n"),
                        joined(scene.after, "\r\n"));
        require_applies(scene, with_crlf(scene.patch), joined(scene.before, "\r\n"),
                        joined(scene.after, "\r\n"));
    }
}

TEST_CASE("a file without a newline at its end keeps lacking it") {
    Random random(3);
    for (int round = 0; round < rounds; ++round) {
        const Case scene = random_case(random);
        require_applies(scene, scene.patch, without_last(joined(scene.before, "\n"), 1),
                        without_last(joined(scene.after, "\n"), 1));
        require_applies(scene, scene.patch, without_last(joined(scene.before, "\r\n"), 2),
                        without_last(joined(scene.after, "\r\n"), 2));
    }
}

TEST_SUITE_END();
