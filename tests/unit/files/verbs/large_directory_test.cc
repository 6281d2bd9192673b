// Directories that hold more names than are remembered at once, and ones that may not be read.
#include "files/wire.h"
#include "support/child_process.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

using namespace ew;
using namespace ew::files;
using test::carried_out;
using test::Outcome;
using test::request_for;

namespace {

constexpr int many = 3000;
constexpr uid_t somebody = 12345;

std::string number(int i) {
    std::string text = std::to_string(i);
    return text.insert(0, 4 - text.size(), '0');
}

void fill(const test::TempDirectory& directory, const std::string& name) {
    directory.make(name);
    for (int i = 0; i < many; ++i) {
        const std::string path = directory.path(name + '/' + number(i));
        REQUIRE(UniqueFd(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).get() >= 0);
    }
}

Outcome removed(const std::string& path) {
    Request request = request_for(Verb::remove, path);
    request.recursive = true;
    return carried_out(request);
}

bool become_somebody() {
    return ::setgid(somebody) == 0 && ::setuid(somebody) == 0;
}

} // namespace

TEST_CASE("a large directory is removed, and copied whole") {
    const test::TempDirectory directory;
    fill(directory, "from/inner");
    Request request = request_for(Verb::copy, directory.path("from"));
    request.other_path = directory.path("to");
    request.recursive = true;
    CHECK(carried_out(request).message().empty());
    const std::filesystem::directory_iterator begin(directory.path("to/inner"));
    CHECK(std::distance(begin, {}) == many);
    CHECK(removed(directory.path("from")).message().empty());
    CHECK_FALSE(std::filesystem::exists(directory.path("from")));
}

TEST_CASE("of a large directory a walk tells the first names, and a reader all") {
    const test::TempDirectory directory;
    fill(directory, "large");
    Request request = request_for(Verb::walk, directory.path("large"));
    request.walk = {0, 1, 10, false, false};
    Outcome outcome = carried_out(request);
    REQUIRE(outcome.entries.size() == 10);
    CHECK(outcome.done->is_truncated);
    for (int i = 0; i < 10; ++i)
        CHECK(outcome.entries[static_cast<std::size_t>(i)].name ==
              directory.path("large/" + number(i)));
    request.walk.max_entries = many;
    outcome = carried_out(request);
    CHECK(outcome.entries.size() == many);
    CHECK_FALSE(outcome.done->is_truncated);
    outcome = carried_out(request_for(Verb::read_directory, directory.path("large")));
    CHECK(outcome.entries.size() == many);
}

TEST_CASE("what is no directory cannot be listed as one") {
    const test::TempDirectory directory;
    directory.write("file", "");
    CHECK(carried_out(request_for(Verb::read_directory, directory.path("file")))
              .failed_as(Trouble::other));
    CHECK(carried_out(request_for(Verb::read_directory, directory.path("missing")))
              .failed_as(Trouble::not_found));
}

TEST_CASE("a walk tells what it could not read, and goes on") {
    if (::geteuid() != 0) return; // only root can become somebody
    const test::TempDirectory directory;
    directory.write("a-closed/file", "");
    directory.make("b-open");
    directory.write("b-open/file", "");
    for (const char* const name : {"", "b-open"})
        REQUIRE(::chmod(directory.path(name).c_str(), 0755) == 0);
    CHECK(test::in_child([&] {
              if (!become_somebody()) return false;
              Request request = request_for(Verb::walk, directory.path());
              request.walk = {9, 99, 99, false, false};
              const Outcome outcome = carried_out(request);
              const bool has_file =
                  std::ranges::any_of(outcome.entries, [&directory](const Entry& entry) {
                      return entry.name == directory.path("b-open/file");
                  });
              return outcome.done && !outcome.done->is_truncated && has_file &&
                     outcome.entries.size() == 3 && outcome.problems.size() == 1 &&
                     outcome.problems[0].path == directory.path("a-closed") &&
                     outcome.problems[0].message == "Permission denied";
          }).is_true);
}

TEST_CASE("a removal stops at what may not go, and names it") {
    if (::geteuid() != 0) return; // only root can become somebody
    const test::TempDirectory directory;
    directory.write("tree/closed/file", "kept");
    directory.make("empty");
    REQUIRE(::chmod(directory.path().c_str(), 0777) == 0);
    for (const char* const name : {"tree", "empty"})
        REQUIRE(::chown(directory.path(name).c_str(), somebody, somebody) == 0);
    REQUIRE(::chmod(directory.path("empty").c_str(), 0) == 0);
    CHECK(test::in_child([&] {
              if (!become_somebody()) return false;
              const Outcome outcome = removed(directory.path("tree"));
              const std::string closed = directory.path("tree/closed");
              // What holds nothing need not be readable.
              return outcome.failed_as(Trouble::permission) &&
                     outcome.message() == closed + ": Permission denied" &&
                     removed(directory.path("empty")).message().empty();
          }).is_true);
    CHECK(directory.read("tree/closed/file") == "kept");
    REQUIRE(::chmod(directory.path("tree").c_str(), 0) == 0);
    CHECK(test::in_child([&] {
              return become_somebody() && removed(directory.path("tree")).message() ==
                                              directory.path("tree") + ": Permission denied";
          }).is_true);
}
