#include "os/file_capabilities.h"
#include "sandbox/policy/glob.h"
#include "sandbox/walk/kept_walk.h"
#include "sandbox/walk/walk.h"
#include "support/random.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace ew;
using namespace ew::sandbox;

namespace {

using State = KeptWalk::State;

WalkPattern pattern(const std::string& base, std::string_view text) {
    Result<std::vector<Glob>> globs = parse_glob(text);
    REQUIRE(globs);
    return {base, globs->front().parts, {}};
}

WalkFindings walked(const WalkOrder& order) {
    Walk walk(order);
    REQUIRE(walk.go_on(TimePoint::max()));
    return walk.findings();
}

State updated(KeptWalk& walk) {
    return walk.update(TimePoint::max());
}

// Root reads everything otherwise. A kept walk changes the working directory.
class Surroundings {
public:
    Surroundings()
        : is_changed_(os::set_file_capabilities(false)),
          directory_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

    Surroundings(const Surroundings&) = delete;
    Surroundings& operator=(const Surroundings&) = delete;

    ~Surroundings() {
        (void)::fchdir(directory_.get());
        if (is_changed_) (void)os::set_file_capabilities(true);
    }

private:
    bool is_changed_;
    UniqueFd directory_;
};

WalkOrder order_in(const test::Tree& tree) {
    return {{tree.root(), tree.at("a/inner")},
            {pattern(tree.root(), "**/*.pem"), pattern(tree.at("a"), "b/**/c/.env")},
            {tree.at("b/c")}};
}

} // namespace

TEST_CASE("a kept walk finds what a new one finds") {
    const Surroundings surroundings;
    const test::Tree tree;
    tree.git("r/.git");
    tree.file("r/key.pem");
    tree.file("a/b/x/c/.env");
    tree.directory("a/inner");
    const WalkOrder order = order_in(tree);
    KeptWalk walk(order, most_directories);

    REQUIRE(updated(walk) == State::complete);
    CHECK(walk.findings() == walked(order));
    CHECK(walk.findings().work_trees == std::vector{tree.at("r")});

    tree.git("a/deep/down/.git");
    tree.file("a/deep/down/new.pem");
    std::filesystem::rename(tree.at("r"), tree.at("moved"));

    REQUIRE(updated(walk) == State::complete);
    CHECK(walk.findings() == walked(order));
    CHECK(walk.findings().work_trees == std::vector{tree.at("a/deep/down"), tree.at("moved")});
    CHECK(walk.findings().matches[0] ==
          std::vector{tree.at("a/deep/down/new.pem"), tree.at("moved/key.pem")});
}

TEST_CASE("what is exchanged above the start of a walk loses it") {
    const Surroundings surroundings;
    const test::Tree tree;
    tree.directory("above/root/d");
    tree.file("other/root/d/x.pem");
    const WalkOrder order = {{}, {pattern(tree.at("above/root"), "**/*.pem")}, {}};
    KeptWalk walk(order, most_directories);
    REQUIRE(updated(walk) == State::complete);

    std::filesystem::rename(tree.at("above"), tree.at("before"));
    std::filesystem::rename(tree.at("other"), tree.at("above"));

    CHECK(updated(walk) == State::lost);
}

TEST_CASE("more changes than the kernel keeps lose the walk") {
    const Surroundings surroundings;
    const test::Tree tree("/dev/shm");
    const WalkOrder order = {{tree.root()}, {}, {}};
    KeptWalk walk(order, most_directories);
    REQUIRE(updated(walk) == State::complete);

    int most = 0;
    std::FILE* const limit = std::fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    REQUIRE(limit != nullptr);
    REQUIRE(std::fscanf(limit, "%d", &most) == 1);
    std::fclose(limit);
    for (int i = 0; i <= most; i += 2) {
        ::mkdir(tree.at("d").c_str(), 0755);
        ::rmdir(tree.at("d").c_str());
    }
    tree.git("r/.git");

    CHECK(updated(walk) == State::lost);
}

TEST_CASE("a walk of too many directories, or of a file system that tells nothing, is not kept") {
    const Surroundings surroundings;
    const test::Tree tree;
    for (int i = 0; i < 20; ++i)
        tree.directory("d" + std::to_string(i));
    KeptWalk few({{tree.root()}, {}, {}}, 20);
    KeptWalk enough({{tree.root()}, {}, {}}, 21);
    KeptWalk processes({{"/proc/self"}, {}, {}}, most_directories);
    KeptWalk crowded({{}, {pattern(tree.root(), "**/*.pem")}, {}}, most_directories);
    for (std::size_t i = 0; i <= most_matches; ++i)
        tree.file(std::to_string(i) + ".pem");

    CHECK(updated(few) == State::unfit);
    CHECK(updated(enough) == State::complete);
    CHECK(updated(processes) == State::unfit);
    CHECK(updated(crowded) == State::unfit);
}

TEST_CASE("a directory that lets nobody through for a while is read again") {
    const Surroundings surroundings;
    const test::Tree tree;
    tree.git("a/b/r/.git");
    const WalkOrder order = {{tree.root()}, {}, {}};
    KeptWalk walk(order, most_directories);
    REQUIRE(updated(walk) == State::complete);

    for (const mode_t mode : {0000, 0400, 0100, 0200, 0755, 0444, 0111, 0755}) {
        CAPTURE(mode);
        REQUIRE(::chmod(tree.at("a").c_str(), mode) == 0);
        const State state = updated(walk);
        const bool is_same = walk.findings() == walked(order);
        REQUIRE(::chmod(tree.at("a").c_str(), 0755) == 0);
        CHECK(state == State::complete);
        CHECK(is_same);
        REQUIRE(::chmod(tree.at("a").c_str(), mode) == 0);
    }
}

namespace {

// Does random things in a tree, so that names meet each other again and again.
class Disorder {
public:
    Disorder(const test::Tree& tree, const std::string& outside, std::uint32_t seed)
        : tree_(tree), outside_(outside), random_(seed) {}

    void step() {
        const std::string path = some_path();
        const std::string other = some_path();
        switch (random_.below(14)) {
        case 0:
        case 1:
        case 2: (void)::mkdir(path.c_str(), 0755); return;
        case 3: (void)::rmdir(path.c_str()); return;
        case 4: remove(path); return;
        case 5: (void)::rename(path.c_str(), other.c_str()); return;
        case 6:
            (void)::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
            return;
        case 7: (void)::rename(path.c_str(), (outside_ + "/" + some_name()).c_str()); return;
        case 8: (void)::rename((outside_ + "/" + some_name()).c_str(), path.c_str()); return;
        case 9: (void)::symlink(other.c_str(), path.c_str()); return;
        case 10: (void)::link(path.c_str(), other.c_str()); return;
        case 11: write(path, "gitdir: ../x\n"); return;
        case 12: change_mode(path); return;
        case 13: make_repository(path); return;
        default: return;
        }
    }

private:
    std::string some_name() {
        constexpr std::array<const char*, 9> names = {
            "a", "b", "c", "inner", ".git", "x.pem", ".env", "HEAD", "node_modules"};
        return names[random_.below(names.size())];
    }

    std::string some_path() {
        std::string path = tree_.root();
        for (std::size_t depth = 1 + random_.below(4); depth > 0; --depth)
            path += "/" + some_name();
        return path;
    }

    void write(const std::string& path, std::string_view text) {
        const UniqueFd file(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
        if (file) (void)!::write(file.get(), text.data(), text.size());
    }

    void make_repository(const std::string& path) {
        for (const char* const name : {"", "/.git", "/.git/objects"})
            (void)::mkdir((path + name).c_str(), 0755);
        write(path + "/.git/HEAD", "ref: refs/heads/x\n");
    }

    void change_mode(const std::string& path) {
        constexpr std::array<mode_t, 6> modes = {0, 0755, 0400, 0100, 0300, 0755};
        (void)::chmod(path.c_str(), modes[random_.below(modes.size())]);
    }

    static void remove(const std::string& path) {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }

    const test::Tree& tree_;
    const std::string outside_;
    test::Random random_;
};

void open_all(const std::string& root) {
    (void)::chmod(root.c_str(), 0755);
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(root, ignored))
        if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) open_all(entry.path());
}

void compare_after_random_steps(const std::string& place, std::uint32_t seed, std::size_t rounds,
                                std::size_t most_steps) {
    const Surroundings surroundings;
    const test::Tree tree(place);
    const test::Tree outside(place);
    tree.directory("a/inner");
    const WalkOrder order = order_in(tree);
    Disorder disorder(tree, outside.root(), seed);
    test::Random random(seed);
    auto walk = std::make_unique<KeptWalk>(order, most_directories);
    std::size_t compared = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t steps = 1 + random.below(most_steps); steps > 0; --steps)
            disorder.step();
        if (random.below(2) == 0) (void)walk->take_changes();
        if (updated(*walk) != State::complete) {
            // A start is gone, or cannot be read.
            open_all(tree.root());
            std::error_code ignored;
            for (const char* const name : {"a", "a/inner"})
                if (!std::filesystem::is_directory(std::filesystem::symlink_status(tree.at(name))))
                    std::filesystem::remove(tree.at(name), ignored);
            std::filesystem::create_directories(tree.at("a/inner"));
            walk = std::make_unique<KeptWalk>(order, most_directories);
            continue;
        }
        const bool is_same = walk->findings() == walked(order);
        if (!is_same) open_all(tree.root());
        REQUIRE_MESSAGE(is_same, fmt::format("seed {}, round {}", seed, round));
        ++compared;
    }
    open_all(tree.root());
    open_all(outside.root());
    CHECK(compared > 0);
}

} // namespace

TEST_CASE("whatever happens in a tree, a kept walk finds what a new one finds") {
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
        compare_after_random_steps(seed == 1 ? "/var/tmp" : "/dev/shm", seed, 150, 3);
        compare_after_random_steps(seed == 1 ? "/var/tmp" : "/dev/shm", seed, 30, 60);
    }
}

TEST_CASE("what happens while a kept walk is brought up to date is found the next time") {
    const Surroundings surroundings;
    std::size_t compared = 0;
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        const test::Tree tree("/dev/shm");
        const test::Tree outside("/dev/shm");
        tree.directory("a/inner");
        const WalkOrder order = {{tree.root()}, {pattern(tree.root(), "**/*.pem")}, {}};
        KeptWalk walk(order, most_directories);
        std::thread others([&] {
            Disorder disorder(tree, outside.root(), seed);
            for (int steps = 0; steps < 1'000; ++steps)
                disorder.step();
        });
        for (int updates = 0; updates < 200; ++updates)
            (void)updated(walk);
        others.join();

        const bool is_complete = updated(walk) == State::complete;
        const bool is_same = !is_complete || walk.findings() == walked(order);
        open_all(tree.root());
        open_all(outside.root());
        REQUIRE_MESSAGE(is_same, fmt::format("seed {}", seed));
        compared += is_complete ? 1 : 0;
    }
    CHECK(compared > 0);
}
