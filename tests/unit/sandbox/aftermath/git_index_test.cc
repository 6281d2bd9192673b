#include "sandbox/aftermath/git_index.h"
#include "support/testing.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace ew;
using namespace ew::sandbox;

namespace {

constexpr std::uint32_t file = 0100644;
constexpr std::uint32_t gitlink = 0160000;
constexpr std::uint32_t directory = 0040000;

std::string number(std::uint32_t value, int size) {
    std::string bytes;
    for (int at = size - 1; at >= 0; --at)
        bytes.push_back(static_cast<char>(value >> (8 * at) & 0xff));
    return bytes;
}

std::string head(std::uint32_t version, std::uint32_t count) {
    return "DIRC" + number(version, 4) + number(count, 4);
}

std::string fixed_part(std::uint32_t mode, std::size_t id_size, std::uint16_t flags) {
    std::string bytes(24, 't');
    bytes += number(mode, 4) + std::string(12, 's') + std::string(id_size, 'i');
    return bytes + number(flags, 2);
}

std::string entry(std::uint32_t mode, std::string_view path, std::size_t id_size = 20) {
    std::string bytes = fixed_part(mode, id_size, static_cast<std::uint16_t>(path.size()));
    bytes.append(path);
    bytes.append(8 - bytes.size() % 8, '\0');
    return bytes;
}

// `size` is that of the whole path; it begins with what is left of the last one.
std::string entry_4(std::uint32_t mode, std::uint16_t size, std::uint8_t stripped,
                    std::string_view rest) {
    std::string bytes = fixed_part(mode, 20, size);
    bytes.push_back(static_cast<char>(stripped));
    bytes.append(rest);
    bytes.push_back('\0');
    return bytes;
}

std::string extension(std::string_view name, std::string_view data) {
    return std::string(name) + number(static_cast<std::uint32_t>(data.size()), 4) +
           std::string(data);
}

const std::string checksum(20, 'c');

using Paths = std::vector<std::string>;

} // namespace

TEST_CASE("the submodules in an index are found, in every version of it") {
    const std::string two = head(2, 3) + entry(file, "a") + entry(gitlink, "lib/b") +
                            entry(gitlink, "longer/path") + extension("TREE", "x") + checksum;
    const std::string four = head(4, 3) + entry_4(file, 5, 0, "lib/a") +
                             entry_4(gitlink, 5, 1, "b") + entry_4(gitlink, 1, 5, "c") + checksum;

    CHECK(read_git_index(two, 20)->gitlinks == Paths{"lib/b", "longer/path"});
    CHECK(read_git_index(four, 20)->gitlinks == Paths{"lib/b", "c"});
}

TEST_CASE("an entry with more flags has its path behind them") {
    std::string bytes = fixed_part(gitlink, 20, 0x4002) + number(0, 2) + "ab";
    bytes.append(8 - bytes.size() % 8, '\0');

    CHECK(read_git_index(head(3, 1) + bytes + checksum, 20)->gitlinks == Paths{"ab"});
}

TEST_CASE("an index with the longer object ids is understood with their size only") {
    const std::string bytes = head(2, 1) + entry(gitlink, "sub", 32) + std::string(32, 'c');

    CHECK(read_git_index(bytes, 32)->gitlinks == Paths{"sub"});
    const std::optional<GitIndex> wrong = read_git_index(bytes, 20);
    CHECK((!wrong || wrong->gitlinks != Paths{"sub"}));
}

TEST_CASE("directories that an index leaves out, and the index that it shares, are told") {
    const std::string bytes = head(2, 1) + entry(directory, "d/") + extension("sdir", "") +
                              extension("link", std::string(20, '\xab') + "more") + checksum;

    const GitIndex index = *read_git_index(bytes, 20);

    CHECK(index.sparse_directories == Paths{"d/"});
    CHECK(index.shared.size() == 40);
    CHECK(index.shared.starts_with("abab"));
}

TEST_CASE("what is no index is not understood, wherever it ends") {
    const std::string good =
        head(2, 2) + entry(file, "a") + entry(gitlink, "b") + extension("TREE", "data") + checksum;

    CHECK_FALSE(read_git_index("", 20));
    CHECK_FALSE(read_git_index(head(5, 0) + checksum, 20));
    CHECK_FALSE(read_git_index(head(2, 0) + extension("evil", "") + checksum, 20));
    CHECK_FALSE(read_git_index(head(4, 1) + entry_4(gitlink, 1, 3, "x") + checksum, 20));
    // git would see the path "a" here, and the next entry at another place.
    CHECK_FALSE(read_git_index(
        head(2, 1) + fixed_part(file, 20, 1) + "abcdef" + std::string(4, '\0') + checksum, 20));
    CHECK_FALSE(read_git_index(head(2, 0xffffffff) + entry(file, "a") + checksum, 20));
    for (std::size_t size = 0; size < good.size(); ++size) {
        const std::optional<GitIndex> index = read_git_index(good.substr(0, size), 20);
        CHECK((!index || index->gitlinks.size() <= 1));
    }
}
