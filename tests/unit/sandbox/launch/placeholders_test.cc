#include "base/clock.h"
#include "sandbox/launch/placeholders.h"
#include "support/child_process.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <functional>
#include <vector>

using namespace ew;
using namespace ew::sandbox;

namespace {

Placeholder held(Result<Placeholder> result) {
    REQUIRE_MESSAGE(result, (result ? "" : result.error().message));
    return std::move(*result);
}

std::size_t noted(const test::Tree& tree) {
    const std::filesystem::directory_iterator entries(tree.at("journal"));
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

// Called in a child: it ends with the test, even if the test fails.
void end_with(pid_t parent) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1); // the parent ended before
}

// Another process that keeps the placeholders of `hold` until it is killed.
class Holder {
public:
    explicit Holder(const std::function<bool(std::vector<Placeholder>&)>& hold) {
        std::array<int, 2> pipe = {};
        REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            end_with(parent);
            std::vector<Placeholder> places;
            const char answer = test::returns_true([&] { return hold(places); }) ? 'y' : 'n';
            (void)!::write(pipe[1], &answer, 1);
            while (true)
                ::pause();
        }
        ::close(pipe[1]);
        char answer = 0;
        REQUIRE(::read(pipe[0], &answer, 1) == 1);
        ::close(pipe[0]);
        REQUIRE(answer == 'y');
    }

    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

    ~Holder() { kill(); }

    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    pid_t pid_ = 0;
};

// The result of one of many processes, as its exit status.
enum Seen {
    all_well = 0,
    something_lost = 1,
    somebody_slow = 2, // slow enough that a release may not have waited and left it to a sweep
};

Seen hold_often(const std::string& path, const std::string& journal) {
    constexpr Millis slow{500}; // a tenth of the patience for a lock
    Seen seen = all_well;
    for (int round = 0; round < 50; ++round) {
        const TimePoint begin = clock_now();
        Result<Placeholder> place = hold(path, journal);
        const auto is_locked = [&] {
            return !place && place.error().message.find("is locked") != std::string::npos;
        };
        for (int tries = 1; tries < 60 && is_locked(); ++tries)
            place = hold(path, journal);
        struct stat status = {};
        if (!place || !place->lock || ::stat(path.c_str(), &status) != 0) return something_lost;
        release(std::move(*place), journal);
        if (clock_now() - begin > slow) seen = somebody_slow;
    }
    return seen;
}

[[noreturn]] void hold_and_release_for_ever(const test::Tree& tree, const std::string& journal) {
    while (true)
        for (const char* name : {"work/a", "work/b", "work/c"}) {
            Result<Placeholder> place = hold(tree.at(name), journal);
            if (!place) ::_exit(1);
            release(std::move(*place), journal);
        }
}

} // namespace

TEST_CASE("a placeholder is there while it is held, and neither it nor its note afterwards") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");

    Placeholder directory = held(hold(tree.at(".git"), journal));
    Placeholder file = held(hold_file(tree.at("commondir"), ".\n", journal));
    CHECK(std::filesystem::is_directory(tree.at(".git")));
    CHECK(tree.content("commondir") == ".\n");
    CHECK(noted(tree) == 2);

    release(std::move(directory), journal);
    release(std::move(file), journal);
    CHECK_FALSE(tree.has(".git"));
    CHECK_FALSE(tree.has("commondir"));
    CHECK(noted(tree) == 0);
}

TEST_CASE("the last of several holders removes it") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    Placeholder first = held(hold(tree.at("p"), journal));
    Placeholder second = held(hold(tree.at("p"), journal));
    Placeholder third = held(hold_file(tree.at("f"), "x", journal));
    Placeholder fourth = held(hold_file(tree.at("f"), "x", journal));

    release(std::move(first), journal);
    release(std::move(third), journal);
    CHECK(tree.has("p"));
    CHECK(tree.has("f"));

    release(std::move(second), journal);
    release(std::move(fourth), journal);
    CHECK_FALSE(tree.has("p"));
    CHECK_FALSE(tree.has("f"));
}

TEST_CASE("what a killed holder left is swept, but not while somebody else holds it") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    Holder holder([&](std::vector<Placeholder>& places) {
        for (const char* name : {"out", "out/in"}) {
            Result<Placeholder> place = hold(tree.at(name), journal);
            if (!place) return false;
            places.push_back(std::move(*place));
        }
        return true;
    });
    Placeholder mine = held(hold(tree.at("out/in"), journal));

    holder.kill();
    sweep(journal);
    CHECK(tree.has("out/in"));

    release(std::move(mine), journal);
    CHECK_FALSE(tree.has("out/in"));
    sweep(journal);
    CHECK_FALSE(tree.has("out"));
    CHECK(noted(tree) == 0);
}

TEST_CASE("what a killed start was making goes by its path alone, unless somebody else holds it") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    Holder holder([&](std::vector<Placeholder>& places) {
        places.push_back(held(hold(tree.at("p"), journal)));
        places.push_back(held(hold_file(tree.at("f"), "x", journal)));
        return true;
    });
    Placeholder mine = held(hold_file(tree.at("f"), "x", journal));
    std::filesystem::create_directory(tree.at("theirs"));

    holder.kill();
    for (const char* name : {"p", "f", "theirs", "never-made"})
        release({tree.at(name), {}}, journal);
    CHECK_FALSE(tree.has("p"));
    CHECK(tree.has("f"));
    CHECK(tree.has("theirs"));

    release(std::move(mine), journal);
    CHECK_FALSE(tree.has("f"));
    CHECK(noted(tree) == 0);
}

TEST_CASE("a sweep takes inner placeholders before outer ones, and leaves what is in use") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    Holder gone([&](std::vector<Placeholder>& places) {
        for (const char* name : {"a", "a/b", "a/b/c"}) {
            Result<Placeholder> place = hold(tree.at(name), journal);
            if (!place) return false;
            places.push_back(std::move(*place));
        }
        return true;
    });

    sweep(journal);
    CHECK(tree.has("a/b/c"));

    gone.kill();
    sweep(journal);
    CHECK_FALSE(tree.has("a"));
}

TEST_CASE("a placeholder that servers with different journals share goes with its last holder") {
    const test::Tree tree;
    for (const bool is_first_released_first : {true, false}) {
        std::vector<Placeholder> first;
        std::vector<Placeholder> second;
        first.push_back(held(hold(tree.at("p"), tree.at("one"))));
        second.push_back(held(hold(tree.at("p"), tree.at("other"))));
        first.push_back(held(hold_file(tree.at("f"), "x", tree.at("one"))));
        second.push_back(held(hold_file(tree.at("f"), "x", tree.at("other"))));

        release_all(std::move(is_first_released_first ? first : second),
                    tree.at(is_first_released_first ? "one" : "other"));
        CHECK(tree.has("p"));
        CHECK(tree.has("f"));

        release_all(std::move(is_first_released_first ? second : first),
                    tree.at(is_first_released_first ? "other" : "one"));
        CHECK_FALSE(tree.has("p"));
        CHECK_FALSE(tree.has("f"));
    }
}

TEST_CASE("an empty directory that a user made stays, however many servers hold it") {
    const test::Tree tree;
    tree.directory("p");
    Placeholder first = held(hold(tree.at("p"), tree.at("one")));
    Placeholder second = held(hold(tree.at("p"), tree.at("other")));

    release(std::move(first), tree.at("one"));
    release(std::move(second), tree.at("other"));
    sweep(tree.at("other"));

    CHECK(tree.has("p"));
}

TEST_CASE("placeholders in one another go in any order of release") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    for (const bool is_outer_first : {true, false}) {
        Placeholder outer = held(hold(tree.at("a"), journal));
        Placeholder inner = held(hold(tree.at("a/b"), journal));

        release(std::move(is_outer_first ? outer : inner), journal);
        release(std::move(is_outer_first ? inner : outer), journal);

        CHECK_FALSE(tree.has("a"));
        CHECK(noted(tree) == 0);
    }
}

TEST_CASE("a directory that somebody has filled meanwhile is theirs") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    Placeholder place = held(hold(tree.at(".agents"), journal));
    tree.file(".agents/notes", "mine");

    release(std::move(place), journal);
    std::filesystem::remove(tree.at(".agents/notes"));
    sweep(journal);

    CHECK(tree.has(".agents"));
    CHECK(noted(tree) == 0);
}

TEST_CASE("a file into which somebody has written meanwhile is theirs") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    Placeholder place = held(hold_file(tree.at("config"), "", journal));
    tree.file("config", "mine");

    release(std::move(place), journal);
    sweep(journal);

    CHECK(tree.content("config") == "mine");
}

TEST_CASE("what was there before is never removed, empty or not") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    tree.directory("empty");
    tree.file("full/x");
    tree.file("file");

    release(held(hold(tree.at("empty"), journal)), journal);
    release(held(hold(tree.at("full"), journal)), journal);
    release(held(hold_file(tree.at("file"), "", journal)), journal);
    sweep(journal);

    CHECK(tree.has("empty"));
    CHECK(tree.has("full/x"));
    CHECK(tree.has("file"));
}

TEST_CASE("something else in the place is left alone, and nothing is held") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    tree.file("file", "content");
    tree.link("link", "/nowhere");

    const Placeholder file = held(hold(tree.at("file"), journal));
    const Placeholder link = held(hold(tree.at("link"), journal));

    CHECK_FALSE(file.lock);
    CHECK_FALSE(link.lock);
    CHECK(tree.content("file") == "content");
    CHECK(noted(tree) == 0);
}

TEST_CASE("another directory that was put in the place is left alone") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    Placeholder place = held(hold(tree.at("p"), journal));
    std::filesystem::rename(tree.at("p"), tree.at("moved"));
    tree.directory("p");

    release(std::move(place), journal);
    sweep(journal);

    CHECK(tree.has("p"));
    CHECK_FALSE(tree.has("moved"));
}

TEST_CASE("placeholders go with a workspace that was renamed meanwhile, in any order") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    for (const bool is_outer_first : {true, false}) {
        tree.directory("before");
        Placeholder outer = held(hold(tree.at("before/a"), journal));
        Placeholder inner = held(hold(tree.at("before/a/b"), journal));
        Placeholder file = held(hold_file(tree.at("before/f"), "x", journal));
        std::filesystem::rename(tree.at("before"), tree.at("after"));

        release(std::move(is_outer_first ? outer : inner), journal);
        release(std::move(is_outer_first ? inner : outer), journal);
        release(std::move(file), journal);

        CHECK_FALSE(tree.has("after/a"));
        CHECK_FALSE(tree.has("after/f"));
        CHECK(noted(tree) == 0);
        std::filesystem::remove(tree.at("after"));
    }
}

TEST_CASE("nothing is made or removed through a directory that was exchanged for a link") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    tree.directory("victim");
    Placeholder place = held(hold(tree.directory("work") + "/p", journal));
    std::filesystem::rename(tree.at("work"), tree.at("elsewhere"));
    tree.directory("victim/p");
    tree.link("work", "victim");

    const Result<Placeholder> directory = hold(tree.at("work/q"), journal);
    const Result<Placeholder> file = hold_file(tree.at("work/f"), "x", journal);
    release(std::move(place), journal);
    sweep(journal);

    CHECK_FALSE(directory);
    CHECK_FALSE(file);
    CHECK_FALSE(tree.has("victim/q"));
    CHECK_FALSE(tree.has("victim/f"));
    CHECK(tree.has("victim/p"));
    CHECK_FALSE(tree.has("elsewhere/p"));
}

TEST_CASE("the journal is made where nothing of its path is there yet, for its owner alone") {
    const test::Tree tree;
    const std::string journal = tree.at("state/execward/placeholders");

    Placeholder place = held(hold(tree.at("p"), journal));

    struct stat status = {};
    REQUIRE(::stat(tree.at("state/execward").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    CHECK(std::filesystem::exists(journal));
    release(std::move(place), journal);
    CHECK_FALSE(tree.has("p"));
}

TEST_CASE("the placeholder of a server with another journal stays while we hold it") {
    const test::Tree tree;
    Placeholder theirs = held(hold(tree.at("p"), tree.at("journal")));
    Placeholder ours = held(hold(tree.at("p"), tree.at("other")));

    release(std::move(theirs), tree.at("journal"));
    CHECK(tree.has("p"));

    release(std::move(ours), tree.at("other"));
    sweep(tree.at("journal"));
    CHECK_FALSE(tree.has("p"));
}

TEST_CASE("what cannot be made is an error that names it, and leaves no note") {
    const test::Tree tree;

    Result<Placeholder> place = hold(tree.at("no/such/parent"), tree.at("journal"));

    REQUIRE_FALSE(place);
    CHECK(place.error().message.find("no/such/parent") != std::string::npos);
    CHECK(noted(tree) == 0);
}

TEST_CASE("a lock that somebody else does not let go is an error, not a wait without end") {
    const test::Tree tree;
    const UniqueFd alien(::open(tree.directory("p").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(alien.get(), LOCK_EX) == 0);

    const Result<Placeholder> place = hold(tree.at("p"), tree.at("journal"));

    CHECK_FALSE(place);
    CHECK(tree.has("p"));
}

TEST_CASE("many that hold and release at once leave nothing, and never lose what they hold") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(hold_often(tree.at("p"), journal));
        children.push_back(child);
    }

    bool was_slow = false;
    for (const pid_t child : children) {
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) != something_lost);
        was_slow |= WEXITSTATUS(status) == somebody_slow;
    }
    if (was_slow) sweep(journal);
    CHECK_FALSE(tree.has("p"));
    CHECK(noted(tree) == 0);
}

TEST_CASE("a start that is killed at any moment leaves nothing that a sweep does not remove") {
    const test::Tree tree;
    const std::string journal = tree.at("journal");
    tree.directory("work");
    const pid_t parent = ::getpid();
    for (int round = 0; round < 40; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            end_with(parent);
            hold_and_release_for_ever(tree, journal);
        }
        ::usleep(static_cast<useconds_t>(500 + 37 * round)); // at an arbitrary moment
        ::kill(child, SIGKILL);
        REQUIRE(::waitpid(child, nullptr, 0) == child);
    }

    sweep(journal);

    CHECK(std::filesystem::is_empty(tree.at("work")));
    CHECK(noted(tree) == 0);
}
