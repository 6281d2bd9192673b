#include "files/wire.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace ew;
using namespace ew::files;
using test::carried_out;
using test::Outcome;
using test::request_for;

namespace {

constexpr WalkOptions all = {deepest_walk, most_walk_directories, most_walk_entries, false, false};

Outcome walked(const std::string& path, const WalkOptions& options) {
    Request request = request_for(Verb::walk, path);
    request.walk = options;
    return carried_out(request);
}

// Without the directory in front, in the order of the answer.
std::vector<std::string> names_of(const Outcome& outcome, const std::string& top) {
    std::vector<std::string> names;
    for (const Entry& entry : outcome.entries) {
        REQUIRE(entry.name.starts_with(top + '/'));
        names.push_back(entry.name.substr(top.size() + 1));
    }
    return names;
}

using Names = std::vector<std::string>;

void make_tree(const test::TempDirectory& directory) {
    directory.write("b/c/deep", "");
    directory.write("b/file", "");
    directory.write("a", "");
    directory.write(".hidden/file", "");
}

} // namespace

TEST_CASE("a walk goes breadth first, each directory in the order of its names") {
    const test::TempDirectory directory;
    make_tree(directory);
    const Outcome outcome = walked(directory.path(), all);
    CHECK(outcome.message().empty());
    CHECK(names_of(outcome, directory.path()) ==
          Names{".hidden", "a", "b", ".hidden/file", "b/c", "b/file", "b/c/deep"});
    CHECK_FALSE(outcome.done->is_truncated);
    CHECK(outcome.problems.empty());
}

TEST_CASE("hidden directories are left out where that is wanted, hidden files are not") {
    const test::TempDirectory directory;
    make_tree(directory);
    directory.write("b/.file", "");
    WalkOptions options = all;
    options.prunes_hidden_directories = true;
    CHECK(names_of(walked(directory.path(), options), directory.path()) ==
          Names{"a", "b", "b/.file", "b/c", "b/file", "b/c/deep"});
}

TEST_CASE("the depth of a walk is kept exactly") {
    const test::TempDirectory directory;
    directory.write("1/2/3/file", "");
    WalkOptions options = all;
    const std::vector<Names> wanted = {
        {"1"}, {"1", "1/2"}, {"1", "1/2", "1/2/3"}, {"1", "1/2", "1/2/3", "1/2/3/file"}};
    for (std::size_t depth = 0; depth < wanted.size(); ++depth) {
        options.max_depth = depth;
        CHECK(names_of(walked(directory.path(), options), directory.path()) == wanted[depth]);
    }
}

TEST_CASE("the entries of a walk are kept exactly, and what is cut is told") {
    const test::TempDirectory directory;
    make_tree(directory); // seven entries
    WalkOptions options = all;
    for (std::uint64_t most = 0; most <= 8; ++most) {
        options.max_entries = most;
        const Outcome outcome = walked(directory.path(), options);
        CAPTURE(most);
        CHECK(outcome.entries.size() == std::min<std::uint64_t>(most, 7));
        CHECK(outcome.done->is_truncated == (most < 7));
    }
}

TEST_CASE("the directories of a walk are kept exactly, and what is cut is told") {
    const test::TempDirectory directory;
    make_tree(directory); // four directories, the top included
    WalkOptions options = all;
    const std::vector<std::size_t> wanted = {0, 3, 4, 6, 7, 7};
    for (std::size_t most = 0; most < wanted.size(); ++most) {
        options.max_directories = most;
        const Outcome outcome = walked(directory.path(), options);
        CAPTURE(most);
        CHECK(outcome.entries.size() == wanted[most]);
        CHECK(outcome.done->is_truncated == (most < 4));
    }
}

TEST_CASE("a walk follows links to directories only where that is wanted, and once") {
    const test::TempDirectory directory;
    directory.write("real/file", "");
    REQUIRE(::symlink("real", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("..", directory.path("real/up").c_str()) == 0);
    CHECK(names_of(walked(directory.path(), all), directory.path()) == Names{"real", "real/file"});
    WalkOptions options = all;
    options.follows_directory_links = true;
    const Outcome outcome = walked(directory.path(), options);
    CHECK_FALSE(outcome.done->is_truncated);
    const Names names = names_of(outcome, directory.path());
    CHECK(std::ranges::count(names, "link/file") + std::ranges::count(names, "real/file") == 1);
}

TEST_CASE("a walk of a file has no entries, one of what is missing fails") {
    const test::TempDirectory directory;
    directory.write("file", "");
    const Outcome outcome = walked(directory.path("file"), all);
    CHECK(outcome.message().empty());
    CHECK(outcome.entries.empty());
    CHECK(walked(directory.path("missing"), all).failed_as(Trouble::not_found));
}

TEST_CASE("a directory is read with kinds, of links of what they lead to") {
    const test::TempDirectory directory;
    directory.write("file", "");
    directory.make("directory");
    REQUIRE(::symlink("directory", directory.path("link").c_str()) == 0);
    REQUIRE(::symlink("missing", directory.path("nowhere").c_str()) == 0);
    REQUIRE(::mkfifo(directory.path("pipe").c_str(), 0600) == 0);
    Outcome outcome = carried_out(request_for(Verb::read_directory, directory.path()));
    REQUIRE(outcome.message().empty());
    std::ranges::sort(outcome.entries, {}, &Entry::name);
    std::string told;
    for (const Entry& entry : outcome.entries)
        told += entry.name + (entry.is_directory ? "/" : entry.is_file ? "" : "?") + ' ';
    CHECK(told == "directory/ file link/ nowhere? pipe? ");
}

TEST_CASE("names that are no UTF-8 are told as they are") {
    const test::TempDirectory directory;
    directory.write("n\xff", "");
    const Outcome outcome = carried_out(request_for(Verb::read_directory, directory.path()));
    REQUIRE(outcome.entries.size() == 1);
    CHECK(outcome.entries[0].name == "n\xff");
}

TEST_CASE("metadata are of what a link leads to, and tell of the link") {
    const test::TempDirectory directory;
    Request request = request_for(Verb::metadata, directory.path("link"));
    directory.write("file", "12345");
    REQUIRE(::symlink("file", directory.path("link").c_str()) == 0);
    const Outcome link = carried_out(request);
    REQUIRE(link.message().empty());
    CHECK(link.done->is_link);
    CHECK(link.done->is_file);
    CHECK(link.done->size == 5);
    request.follows_links = false;
    CHECK(carried_out(request).failed_as(Trouble::wrong_kind));
    request.path = directory.path("file");
    CHECK(carried_out(request).message().empty());
}

// A frame has a longest size; an answer that is longer still has to be understood.
TEST_CASE("what fails on a very long path is told, shortened") {
    const Outcome outcome =
        carried_out(request_for(Verb::metadata, '/' + std::string(300'000, 'x')));
    CHECK_FALSE(outcome.is_garbage);
    CHECK(outcome.failed.has_value());
}
