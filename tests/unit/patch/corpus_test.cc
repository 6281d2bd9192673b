// Plays the cases of tests/patches/ (see the README there).
#include "json/base64.h"
#include "support/parsed.h"
#include "support/patch_tree.h"
#include "support/testing.h"
#include "test_places.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

using ew::Result;
using ew::test::Parsed;
using ew::test::Patched;
using ew::test::Tree;
using simdjson::dom::element;

namespace {

std::vector<std::filesystem::path> case_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(EXECWARD_SOURCE_DIR "/tests/patches"))
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

std::string contents_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool has(element scene, const char* member) {
    return scene.at_key(member).error() == simdjson::SUCCESS;
}

std::string string_in(element value) {
    std::string_view text;
    REQUIRE(value.get(text) == simdjson::SUCCESS);
    return std::string(text);
}

element member(element scene, const char* name) {
    element value;
    REQUIRE(scene.at_key(name).get(value) == simdjson::SUCCESS);
    return value;
}

std::string patch_in(element scene) {
    simdjson::dom::array lines;
    if (member(scene, "patch").get(lines) != simdjson::SUCCESS)
        return string_in(member(scene, "patch"));
    std::string patch;
    for (const element line : lines)
        patch += string_in(line) + "\n";
    return patch;
}

std::string bytes_in(element file) {
    if (!file.is_object()) return string_in(file);
    const std::optional<std::string> bytes =
        ew::json::decode_base64(string_in(member(file, "base64")));
    REQUIRE(bytes);
    return *bytes;
}

Tree tree_in(element files) {
    simdjson::dom::object object;
    REQUIRE(files.get(object) == simdjson::SUCCESS);
    Tree tree;
    for (const auto [path, file] : object)
        tree[std::string(path)] = bytes_in(file);
    return tree;
}

std::string shown(const std::vector<ew::patch::ChunkMatch>& matches) {
    constexpr std::array names = {"exact", "trailingBlanks", "bothEnds", "folded", "canonical"};
    std::string text;
    for (const ew::patch::ChunkMatch& match : matches)
        text +=
            std::to_string(match.line) + " " + names[static_cast<std::size_t>(match.level)] + "\n";
    return text;
}

std::string shown(element matches) {
    simdjson::dom::array array;
    REQUIRE(matches.get(array) == simdjson::SUCCESS);
    std::string text;
    for (const element match : array) {
        std::uint64_t line = 0;
        REQUIRE(member(match, "line").get(line) == simdjson::SUCCESS);
        text += std::to_string(line) + " " + string_in(member(match, "level")) + "\n";
    }
    return text;
}

void check_matches(element scene, Patched& result) {
    simdjson::dom::object files;
    REQUIRE(member(scene, "matches").get(files) == simdjson::SUCCESS);
    for (const auto [path, matches] : files)
        CHECK(shown(result.matches[std::string(path)]) == shown(matches));
}

void play(element scene) {
    Result<Patched> result = ew::test::patched(patch_in(scene), tree_in(member(scene, "before")));
    if (has(scene, "error")) {
        REQUIRE_FALSE(result);
        const std::string part = string_in(member(scene, "error"));
        INFO(result.error().message);
        CHECK(result.error().message.find(part) != std::string::npos);
        return;
    }
    if (!result) FAIL(result.error().message);
    CHECK(result->tree == tree_in(member(scene, "after")));
    if (has(scene, "matches")) check_matches(scene, *result);
}

} // namespace

TEST_SUITE_BEGIN("patch/corpus");

TEST_CASE("each patch of the corpus makes what it is said to make") {
    const std::vector<std::filesystem::path> files = case_files();
    CHECK(files.size() >= 60);
    for (const std::filesystem::path& file : files) {
        INFO(file.filename().string());
        Parsed parsed(contents_of(file));
        REQUIRE(parsed.is_json());
        play(parsed.element());
    }
}

TEST_SUITE_END();
