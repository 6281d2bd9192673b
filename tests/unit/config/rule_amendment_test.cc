#include "base/unique_fd.h"
#include "config/rule_amendment.h"
#include "config/rule_files.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

using ew::config::append_rule;
using ew::config::remove_rule;
using ew::test::TempDirectory;

namespace {

unsigned mode_of(const std::string& path) {
    struct stat info = {};
    REQUIRE(::lstat(path.c_str(), &info) == 0);
    return info.st_mode & 07777U;
}

std::string refusal(const std::string& user_dir) {
    ew::Result<void> appended = append_rule(user_dir, {{"ninja"}, "", 0});
    REQUIRE_FALSE(appended);
    CHECK(appended.error().kind == ew::ErrorKind::config_invalid);
    return appended.error().message;
}

std::size_t count_rules(const std::string& user_dir) {
    const ew::config::LoadedRules loaded = ew::config::load_rules({user_dir, "", ""});
    CHECK(loaded.problems.empty());
    return loaded.rules.rules.size();
}

// Again while others have the file: on a busy machine that can be longer than one waits for it.
bool appends_in_turn(const std::string& user_dir, const ew::config::Approval& rule) {
    ew::Result<void> appended = append_rule(user_dir, rule);
    const auto is_locked = [&] {
        return !appended && appended.error().message.find("has it locked") != std::string::npos;
    };
    for (int tries = 1; tries < 60 && is_locked(); ++tries)
        appended = append_rule(user_dir, rule);
    return static_cast<bool>(appended);
}

} // namespace

TEST_SUITE_BEGIN("config/rule_amendment");

TEST_CASE("an appended rule is loaded, from directories and a file of this user only") {
    const TempDirectory directory;
    const std::string user_dir = directory.path("config/execward/rules.d");

    REQUIRE(append_rule(user_dir, {{"git", "push"}, "because", 0}));
    REQUIRE(append_rule(user_dir, {{"ninja"}, "", 0}));
    REQUIRE(append_rule(user_dir, {{"ninja"}, "again", 0}));

    CHECK(count_rules(user_dir) == 2);
    CHECK(mode_of(directory.path("config")) == 0700);
    CHECK(mode_of(user_dir) == 0700);
    CHECK(mode_of(user_dir + "/approved.toml") == 0600);
    CHECK_FALSE(std::filesystem::exists(user_dir + "/.approved.new"));
}

TEST_CASE("a removed rule is gone, and one that is not there is no error") {
    const TempDirectory directory;
    const std::string user_dir = directory.path("rules.d");
    REQUIRE(append_rule(user_dir, {{"git", "push"}, "", 0}));
    REQUIRE(append_rule(user_dir, {{"ninja"}, "", 0}));

    ew::Result<bool> removed = remove_rule(user_dir, {"git", "push"});
    REQUIRE(removed);
    CHECK(*removed);
    CHECK(count_rules(user_dir) == 1);
    ew::Result<bool> again = remove_rule(user_dir, {"git", "push"});
    REQUIRE(again);
    CHECK_FALSE(*again);
}

TEST_CASE("removing where there are no rules makes nothing") {
    const TempDirectory directory;
    ew::Result<bool> removed = remove_rule(directory.path("rules.d"), {"ninja"});

    REQUIRE(removed);
    CHECK_FALSE(*removed);
    CHECK_FALSE(std::filesystem::exists(directory.path("rules.d")));
}

TEST_CASE("a file with a mistake is left as it is, and the place is told") {
    const TempDirectory directory;
    directory.write("rules.d/approved.toml", "# x\nnonsense\n");

    CHECK(
        refusal(directory.path("rules.d")).starts_with(directory.path("rules.d/approved.toml:2:")));
    CHECK(directory.read("rules.d/approved.toml") == "# x\nnonsense\n");
}

TEST_CASE("a directory or file that others could write is refused") {
    const TempDirectory directory;
    const std::string user_dir = directory.make("rules.d");
    REQUIRE(::chmod(user_dir.c_str(), 0770) == 0);
    CHECK(refusal(user_dir) == user_dir + ": is writable by others than its owner");

    REQUIRE(::chmod(user_dir.c_str(), 0700) == 0);
    const std::string file = directory.write("rules.d/approved.toml", "");
    REQUIRE(::chmod(file.c_str(), 0666) == 0);
    CHECK(refusal(user_dir) == file + ": is writable by others than its owner");
}

TEST_CASE("a directory of somebody else is refused" * doctest::skip(::geteuid() != 0)) {
    const TempDirectory directory;
    const std::string user_dir = directory.make("rules.d");
    REQUIRE(::chown(user_dir.c_str(), 12345, 12345) == 0);

    CHECK(refusal(user_dir) == user_dir + ": belongs to user 12345");
}

TEST_CASE("symbolic links are neither followed nor replaced") {
    const TempDirectory directory;
    directory.make("real");
    std::filesystem::create_directory_symlink("real", directory.path("rules.d"));
    CHECK(refusal(directory.path("rules.d")).find("is a symbolic link") != std::string::npos);

    std::filesystem::create_symlink("elsewhere", directory.path("real/approved.toml"));
    CHECK(refusal(directory.path("real")).find("is a symbolic link") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(directory.path("real/elsewhere")));
}

TEST_CASE("a file of approved rules with another name is not taken over") {
    const TempDirectory directory;
    const std::string file = directory.write("rules.d/approved.toml", "");
    std::filesystem::create_hard_link(file, directory.path("other.toml"));

    CHECK(refusal(directory.path("rules.d")).find("has 2 names (hard links)") != std::string::npos);
    CHECK(std::filesystem::hard_link_count(file) == 2);
}

TEST_CASE("what a killed writer left behind is in nobody's way") {
    const TempDirectory directory;
    directory.write("rules.d/.approved.new", "half a ru");
    directory.write("rules.d/.approved.lock", "");

    REQUIRE(append_rule(directory.path("rules.d"), {{"ninja"}, "", 0}));
    CHECK(count_rules(directory.path("rules.d")) == 1);
}

TEST_CASE("a lock that is not let go of ends in an error") {
    const TempDirectory directory;
    const ew::UniqueFd lock(
        ::open(directory.write("rules.d/.approved.lock", "").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(lock.get(), LOCK_EX) == 0);

    CHECK(refusal(directory.path("rules.d")).find("locked") != std::string::npos);
}

TEST_CASE("processes that append at the same time lose nothing") {
    const TempDirectory directory;
    const std::string user_dir = directory.path("rules.d");
    constexpr int writers = 4;
    constexpr int rules_each = 5;
    std::vector<pid_t> children;
    for (int writer = 0; writer < writers; ++writer) {
        const pid_t pid = ::fork();
        REQUIRE(pid >= 0);
        if (pid > 0) {
            children.push_back(pid);
            continue;
        }
        bool is_good = true;
        for (int i = 0; i < rules_each; ++i)
            is_good &= appends_in_turn(
                user_dir, {{"touch", std::to_string(writer), std::to_string(i)}, "", 0});
        ::_exit(is_good ? 0 : 1);
    }
    for (const pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        CHECK(status == 0);
    }

    CHECK(count_rules(user_dir) == writers * rules_each);
}

TEST_SUITE_END();
