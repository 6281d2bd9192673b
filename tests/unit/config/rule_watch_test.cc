#include "config/rule_watch.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

using ew::config::RulePlaces;
using ew::config::RuleWatch;
using ew::test::TempDirectory;

namespace {

RuleWatch watching(const RulePlaces& places) {
    ew::Result<RuleWatch> watch = RuleWatch::open(places);
    REQUIRE(watch);
    return std::move(*watch);
}

bool is_readable(const RuleWatch& watch) {
    pollfd poll = {watch.fd(), POLLIN, 0};
    return ::poll(&poll, 1, 0) == 1;
}

} // namespace

TEST_SUITE_BEGIN("config/rule_watch");

TEST_CASE("nothing happens, nothing is told") {
    const TempDirectory directory;
    RuleWatch watch = watching({directory.make("rules.d"), "", ""});

    CHECK_FALSE(is_readable(watch));
    CHECK_FALSE(watch.take_changes());
}

TEST_CASE("a file that is written, renamed or removed is a change, once") {
    const TempDirectory directory;
    directory.make("rules.d");
    RuleWatch watch = watching({directory.path("rules.d"), "", ""});

    directory.write("rules.d/a.toml", "x");
    CHECK(is_readable(watch));
    CHECK(watch.take_changes());
    CHECK_FALSE(is_readable(watch));
    CHECK_FALSE(watch.take_changes());

    std::filesystem::rename(directory.path("rules.d/a.toml"), directory.path("rules.d/b.toml"));
    CHECK(watch.take_changes());
    std::filesystem::remove(directory.path("rules.d/b.toml"));
    CHECK(watch.take_changes());
    CHECK_FALSE(watch.take_changes());
}

TEST_CASE("files that are no rules are no change") {
    const TempDirectory directory;
    directory.make("rules.d");
    RuleWatch watch = watching({directory.path("rules.d"), "", ""});

    directory.write("rules.d/notes.txt", "x");
    directory.write("beside.toml", "x");

    CHECK_FALSE(watch.take_changes());
}

TEST_CASE("a directory that appears later is watched with its files") {
    const TempDirectory directory;
    RuleWatch watch = watching({directory.path("a/b/rules.d"), "", ""});
    CHECK_FALSE(watch.take_changes());

    directory.make("other");
    CHECK_FALSE(watch.take_changes());
    directory.make("a");
    CHECK(watch.take_changes());
    directory.write("a/x.toml", "x");
    CHECK_FALSE(watch.take_changes());
    directory.make("a/b/rules.d");
    CHECK(watch.take_changes());
    directory.write("a/b/rules.d/r.toml", "x");
    CHECK(watch.take_changes());
    CHECK_FALSE(watch.take_changes());
}

TEST_CASE("a directory that appears with everything above it at once is a change") {
    const TempDirectory directory;
    RuleWatch watch = watching({directory.path("a/b/rules.d"), "", ""});

    directory.write("a/b/rules.d/r.toml", "x");
    CHECK(watch.take_changes());
    directory.write("a/b/rules.d/s.toml", "x");
    CHECK(watch.take_changes());
}

TEST_CASE("a directory that goes and comes back is watched again") {
    const TempDirectory directory;
    directory.write(".execward/rules.d/a.toml", "x");
    RuleWatch watch = watching({"", "", directory.path(".execward/rules.d")});

    std::filesystem::remove_all(directory.path(".execward"));
    CHECK(watch.take_changes());
    CHECK_FALSE(watch.take_changes());
    directory.write(".execward/rules.d/a.toml", "y");
    CHECK(watch.take_changes());
    directory.write(".execward/rules.d/a.toml", "z");
    CHECK(watch.take_changes());
}

TEST_CASE("a directory that is moved away, or whose parent is, is a change") {
    const TempDirectory directory;
    directory.write("c/rules.d/a.toml", "x");
    RuleWatch watch = watching({directory.path("c/rules.d"), "", ""});

    std::filesystem::rename(directory.path("c/rules.d"), directory.path("c/old"));
    CHECK(watch.take_changes());
    std::filesystem::rename(directory.path("c/old"), directory.path("c/rules.d"));
    CHECK(watch.take_changes());
    std::filesystem::rename(directory.path("c"), directory.path("d"));
    CHECK(watch.take_changes());
    directory.write("d/rules.d/b.toml", "x");
    CHECK_FALSE(watch.take_changes());
    std::filesystem::rename(directory.path("d"), directory.path("c"));
    CHECK(watch.take_changes());
}

TEST_CASE("new permissions of a directory are a change") {
    const TempDirectory directory;
    directory.make("rules.d");
    RuleWatch watch = watching({directory.path("rules.d"), "", ""});

    REQUIRE(::chmod(directory.path("rules.d").c_str(), 0777) == 0);

    CHECK(watch.take_changes());
}

TEST_CASE("more changes than the kernel keeps are a change") {
    const TempDirectory directory;
    directory.make("rules.d");
    RuleWatch watch = watching({directory.path("rules.d"), "", ""});
    int limit = 0;
    std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> limit;
    // Equal events in a row are one, so that they take turns: inotify(7).
    const std::string path = directory.write("rules.d/a.txt", "");
    for (int i = 0; i <= limit / 2 + 1; ++i) {
        REQUIRE(::link(path.c_str(), directory.path("rules.d/b.txt").c_str()) == 0);
        REQUIRE(::unlink(directory.path("rules.d/b.txt").c_str()) == 0);
    }

    CHECK(watch.take_changes());
    directory.write("rules.d/a.toml", "x");
    CHECK(watch.take_changes());
}

TEST_CASE("several directories are watched by one descriptor") {
    const TempDirectory directory;
    directory.make("user");
    directory.make("system");
    RuleWatch watch =
        watching({directory.path("user/"), directory.path("system"), directory.path("p/rules.d")});

    directory.write("user/a.toml", "x");
    CHECK(watch.take_changes());
    directory.write("system/a.toml", "x");
    CHECK(watch.take_changes());
    directory.write("p/rules.d/a.toml", "x");
    CHECK(watch.take_changes());
    CHECK_FALSE(watch.take_changes());
}

TEST_SUITE_END();

TEST_CASE("links among the rules are found: what they lead to can change unseen") {
    using ew::config::has_links;
    const TempDirectory directory;
    directory.make("rules.d");
    directory.write("rules.d/a.toml", "");
    const std::string plain = std::filesystem::canonical(directory.path("rules.d"));
    CHECK_FALSE(has_links({plain, "", ""}));
    CHECK_FALSE(has_links({directory.path("missing"), "", ""}));

    directory.write("elsewhere.toml", "");
    std::filesystem::create_symlink(directory.path("elsewhere.toml"), plain + "/b.toml");
    CHECK(has_links({plain, "", ""}));
    std::filesystem::remove(plain + "/b.toml");

    std::filesystem::create_hard_link(plain + "/a.toml", directory.path("other.toml"));
    CHECK(has_links({plain, "", ""}));
    std::filesystem::remove(directory.path("other.toml"));
    CHECK_FALSE(has_links({plain, "", ""}));

    std::filesystem::create_symlink(plain, directory.path("linked"));
    CHECK(has_links({directory.path("linked"), "", ""}));
}
