#include "config/rule_files.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

using ew::config::load_rule_files;
using ew::config::load_rules;
using ew::config::LoadedRules;
using ew::config::RuleProblem;
using ew::core::Decision;
using ew::core::PrefixRule;
using ew::core::RuleLayer;
using ew::test::TempDirectory;

namespace {

std::string rule(std::string_view word, std::string_view decision) {
    return std::string("[[rule]]\nprefix = ['").append(word).append("']\ndecision = '") +
           std::string(decision) + "'\n";
}

std::string shown(const LoadedRules& loaded) {
    std::string all;
    for (const PrefixRule& each : loaded.rules.rules) {
        if (!all.empty()) all += "; ";
        all += each.decision == Decision::allow    ? "allow "
               : each.decision == Decision::prompt ? "prompt "
                                                   : "forbidden ";
        all += each.prefix.front().front();
    }
    return all;
}

// Problems with the directory of the test left out.
std::vector<std::string> problems_of(const LoadedRules& loaded, const TempDirectory& directory) {
    std::vector<std::string> texts;
    for (const RuleProblem& problem : loaded.problems) {
        std::string text = describe(problem);
        for (std::size_t at = 0; (at = text.find(directory.path() + "/")) != std::string::npos;)
            text.erase(at, directory.path().size() + 1);
        texts.push_back(text);
    }
    return texts;
}

// What explains that rules may be missing, with the directory of the test left out.
std::string gap_of(const LoadedRules& loaded, const TempDirectory& directory) {
    std::string gap = loaded.rules.gap;
    if (gap.starts_with(directory.path())) gap.erase(0, directory.path().size() + 1);
    return gap;
}

} // namespace

TEST_SUITE_BEGIN("config/rule_files");

TEST_CASE("directories that are not there have no rules and no problems") {
    const TempDirectory directory;
    const LoadedRules loaded = load_rules({directory.path("none/rules.d"), "", ""});

    CHECK(loaded.rules.rules.empty());
    CHECK(loaded.problems.empty());
}

TEST_CASE("the files of a directory are read in the order of their names, and others are not") {
    const TempDirectory directory;
    directory.write("rules.d/20-b.toml", rule("b", "prompt"));
    directory.write("rules.d/10-a.toml", rule("a", "allow"));
    directory.write("rules.d/.hidden.toml", "nonsense");
    directory.write("rules.d/readme.txt", "nonsense");
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded) == "allow a; prompt b");
    CHECK(loaded.problems.empty());
    CHECK(loaded.rules.rules.front().origin == directory.path("rules.d/10-a.toml:1"));
}

TEST_CASE("rules of all places count, each with its layer") {
    const TempDirectory directory;
    directory.write("user/u.toml", rule("u", "allow"));
    directory.write("system/s.toml", rule("s", "forbidden"));
    directory.write("project/p.toml", rule("p", "prompt"));
    const LoadedRules loaded =
        load_rules({directory.path("user"), directory.path("system"), directory.path("project")});

    REQUIRE(shown(loaded) == "forbidden s; prompt p; allow u");
    CHECK(loaded.rules.rules[0].layer == RuleLayer::system);
    CHECK(loaded.rules.rules[1].layer == RuleLayer::project);
    CHECK(loaded.rules.rules[2].layer == RuleLayer::user);
}

TEST_CASE("what cannot be read is a problem, and everything else goes on") {
    const TempDirectory directory;
    directory.write("rules.d/a.toml", "[[rule]\n");
    directory.make("rules.d/b.toml");
    std::filesystem::create_symlink("nowhere", directory.path("rules.d/c.toml"));
    REQUIRE(::mkfifo(directory.path("rules.d/d.toml").c_str(), 0600) == 0);
    directory.write("rules.d/e.toml", "#" + std::string(ew::config::longest_rule_file, 'x'));
    directory.write("rules.d/f.toml", rule("f", "allow"));
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded) == "allow f");
    const std::vector<std::string> problems = problems_of(loaded, directory);
    REQUIRE(problems.size() == 5);
    CHECK(problems[0].starts_with("rules.d/a.toml:1:"));
    CHECK(problems[1] == "rules.d/b.toml: is not a regular file");
    CHECK(problems[2] == "rules.d/c.toml: cannot be opened: No such file or directory");
    CHECK(problems[3] == "rules.d/d.toml: is not a regular file");
    CHECK(problems[4] == "rules.d/e.toml: is larger than 1048576 bytes");
}

TEST_CASE("a file that others can write allows nothing, and still forbids") {
    const TempDirectory directory;
    const std::string path =
        directory.write("rules.d/a.toml", rule("a", "allow") + rule("b", "forbidden"));
    directory.write("rules.d/b.toml", rule("c", "allow"));
    REQUIRE(::chmod(path.c_str(), 0620) == 0);
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded) == "forbidden b; allow c");
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{"rules.d/a.toml: is writable by others than its owner, so no "
                                   "rule in it allows anything"});
}

TEST_CASE("a directory that others can write allows nothing, and still forbids") {
    const TempDirectory directory;
    directory.write("rules.d/a.toml", rule("a", "allow") + rule("b", "forbidden"));
    REQUIRE(::chmod(directory.path("rules.d").c_str(), 0777) == 0);
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded) == "forbidden b");
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{"rules.d: is writable by others than its owner, so no rule in "
                                   "it allows anything"});
}

TEST_CASE("a file of another user allows nothing" * doctest::skip(::geteuid() != 0)) {
    const TempDirectory directory;
    const std::string path = directory.write("rules.d/a.toml", rule("a", "allow"));
    REQUIRE(::chown(path.c_str(), 12345, 0) == 0);
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded).empty());
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{
              "rules.d/a.toml: belongs to user 12345, so no rule in it allows anything"});
}

TEST_CASE("a directory that is a symbolic link allows nothing, and still forbids") {
    const TempDirectory directory;
    directory.write("real/a.toml", rule("a", "allow") + rule("b", "forbidden"));
    std::filesystem::create_directory_symlink("real", directory.path("rules.d"));
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded) == "forbidden b");
    CHECK(
        problems_of(loaded, directory) ==
        std::vector<std::string>{"rules.d: is a symbolic link, so no rule in it allows anything"});
}

TEST_CASE("a file with another name allows nothing, and rules may be missing in it") {
    const TempDirectory directory;
    directory.write("rules.d/a.toml", rule("a", "allow") + rule("b", "forbidden"));
    directory.make("workspace");
    std::filesystem::create_hard_link(directory.path("rules.d/a.toml"),
                                      directory.path("workspace/a.toml"));
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded) == "forbidden b");
    CHECK(loaded.rules.gap.find("has 2 names (hard links)") != std::string::npos);
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{
              "rules.d/a.toml: has 2 names (hard links), and confined commands may be able to "
              "write it under another one, so no rule in it allows anything"});
}

TEST_CASE("a project's directory may be writable for a group") {
    const TempDirectory directory;
    const std::string path = directory.write("rules.d/a.toml", rule("a", "forbidden"));
    REQUIRE(::chmod(directory.path("rules.d").c_str(), 0775) == 0);
    REQUIRE(::chmod(path.c_str(), 0664) == 0);
    const LoadedRules loaded = load_rules({"", "", directory.path("rules.d")});

    CHECK(shown(loaded) == "forbidden a");
    CHECK(loaded.problems.empty());
}

TEST_CASE("one file by two names is read once") {
    const TempDirectory directory;
    directory.write("rules.d/a.toml", rule("a", "allow"));
    std::filesystem::create_symlink("a.toml", directory.path("rules.d/b.toml"));
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded) == "allow a");
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{
              "rules.d/b.toml: is the same file as rules.d/a.toml, and was read once"});
}

TEST_CASE("the system says first which programs are the real ones") {
    const TempDirectory directory;
    directory.write("user/u.toml", "[[host_executable]]\nname = 'git'\npaths = ['/x/git']\n");
    directory.write("system/s.toml", "[[host_executable]]\nname = 'git'\npaths = ['/y/git']\n");
    const LoadedRules loaded = load_rules({directory.path("user"), directory.path("system"), ""});

    REQUIRE(loaded.rules.host_executables.size() == 1);
    CHECK(loaded.rules.host_executables.front().paths == std::vector<std::string>{"/y/git"});
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{
              "user/u.toml: host_executable 'git' is there already, and this one has no effect"});
}

TEST_CASE("no rule is missing where all could be read, or there are none") {
    const TempDirectory directory;
    directory.write("rules.d/a.toml", rule("a", "allow"));
    directory.write("project/a.toml", rule("a", "allow"));
    const std::string path = directory.write("rules.d/b.toml", rule("b", "forbidden"));
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    std::filesystem::create_symlink("a.toml", directory.path("rules.d/c.toml"));
    const LoadedRules loaded =
        load_rules({directory.path("rules.d"), directory.path("none"), directory.path("project")});

    CHECK(loaded.problems.size() == 3);
    CHECK(loaded.rules.gap.empty());
}

TEST_CASE("a mistake in a file of any place is a gap in the rules") {
    for (const std::string place : {"user", "system", "project"}) {
        CAPTURE(place);
        const TempDirectory directory;
        directory.write(place + "/a.toml", rule("a", "prompt"));
        directory.write(place + "/x.toml", "\n\n" + rule("b", "deny"));
        directory.write(place + "/y.toml", "x = 1\n");
        const LoadedRules loaded = load_rules(
            {directory.path("user"), directory.path("system"), directory.path("project")});

        CHECK(gap_of(loaded, directory) ==
              place + "/x.toml:5:12 has a mistake, and a rule in it may be about this");
    }
}

TEST_CASE("what is there and cannot be read is a gap in the rules") {
    const auto gap_with = [](const std::function<void(const TempDirectory&)>& prepare) {
        const TempDirectory directory;
        prepare(directory);
        return gap_of(load_rules({directory.path("rules.d"), "", ""}), directory);
    };
    const std::string rest = ", and a rule in it may be about this";

    CHECK(gap_with([](const TempDirectory& directory) { directory.make("rules.d/a.toml"); }) ==
          "rules.d/a.toml is not a regular file" + rest);
    CHECK(gap_with([](const TempDirectory& directory) {
              directory.make("rules.d");
              std::filesystem::create_symlink("nowhere", directory.path("rules.d/a.toml"));
          }) == "rules.d/a.toml cannot be opened: No such file or directory" + rest);
    CHECK(gap_with([](const TempDirectory& directory) {
              directory.write("rules.d/a.toml",
                              std::string(ew::config::longest_rule_file + 1, '#'));
          }) == "rules.d/a.toml is larger than 1048576 bytes" + rest);
    CHECK(gap_with([](const TempDirectory& directory) {
              std::filesystem::create_symlink("nowhere", directory.path("rules.d"));
          }) == "rules.d cannot be read: No such file or directory" + rest);
    CHECK(gap_with([](const TempDirectory& directory) { directory.write("rules.d", ""); }) ==
          "rules.d cannot be read: Not a directory" + rest);
}

TEST_CASE("a project with too many files keeps the rules of the user and the system") {
    const TempDirectory directory;
    for (std::size_t i = 0; i <= ew::config::most_rule_files; ++i)
        directory.write("project/" + std::to_string(i) + ".toml", "");
    directory.write("user/u.toml", rule("u", "forbidden") + rule("v", "allow"));
    directory.write("system/s.toml", rule("s", "forbidden"));
    const LoadedRules loaded =
        load_rules({directory.path("user"), directory.path("system"), directory.path("project")});

    CHECK(shown(loaded) == "forbidden s; forbidden u; allow v");
    CHECK(gap_of(loaded, directory) ==
          "project: has more than 1000 files, and a rule among the others may be about this");
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{"project: has more than 1000 files: the others are not read"});
}

TEST_CASE("a project with too many rules keeps the rules of the user and the system") {
    const TempDirectory directory;
    std::string many;
    for (std::size_t i = 0; i <= ew::config::most_rules; ++i)
        many += rule("x", "prompt");
    directory.write("project/a.toml", many);
    directory.write("user/u.toml", rule("u", "forbidden") + rule("v", "allow"));
    directory.write("system/s.toml", rule("s", "forbidden"));
    const LoadedRules loaded =
        load_rules({directory.path("user"), directory.path("system"), directory.path("project")});

    CHECK(loaded.rules.rules.size() == ew::config::most_rules + 3);
    CHECK(loaded.rules.rules.back().decision == Decision::allow);
    CHECK(!loaded.rules.gap.empty());
}

TEST_CASE("a project with too many bytes keeps the rules of the user and the system") {
    const TempDirectory directory;
    const std::string large(ew::config::longest_rule_file, '#');
    for (std::size_t i = 0; i <= ew::config::most_rule_bytes / large.size(); ++i)
        directory.write("project/" + std::to_string(10 + i) + ".toml", large);
    directory.write("project/a.toml", rule("a", "forbidden"));
    directory.write("user/u.toml", rule("u", "forbidden") + rule("v", "allow"));
    const LoadedRules loaded = load_rules({directory.path("user"), "", directory.path("project")});

    CHECK(shown(loaded) == "forbidden u; allow v");
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{
              "project/26.toml: there are more than 16777216 bytes: the others are not read"});
    CHECK(!loaded.rules.gap.empty());
}

TEST_CASE("a project cannot use up a file of the user") {
    const TempDirectory directory;
    std::string many;
    for (std::size_t i = 0; i < ew::config::most_rules; ++i)
        many += rule("x", "prompt");
    directory.write("user/u.toml", rule("u", "forbidden"));
    directory.write("project/a.toml", many);
    std::filesystem::create_symlink("../user/u.toml", directory.path("project/b.toml"));
    const LoadedRules loaded = load_rules({directory.path("user"), "", directory.path("project")});

    CHECK(loaded.rules.rules.back().decision == Decision::forbidden);
    CHECK(loaded.rules.rules.back().layer == RuleLayer::user);
}

TEST_CASE("with too many rules of the user, the system still forbids, and rules are missing") {
    const TempDirectory directory;
    std::string many;
    for (std::size_t i = 0; i <= ew::config::most_rules; ++i)
        many += rule("x", "forbidden");
    directory.write("user/a.toml", many);
    directory.write("system/s.toml", rule("s", "forbidden"));
    const LoadedRules loaded = load_rules({directory.path("user"), directory.path("system"), ""});

    CHECK(loaded.rules.rules.front().prefix.front().front() == "s");
    CHECK(loaded.rules.rules.size() == ew::config::most_rules + 1);
    CHECK(gap_of(loaded, directory) == "user/a.toml: there are more than 10000 rules, and a rule "
                                       "among the others may be about this");
}

TEST_CASE("with more rules than there may be nothing is allowed") {
    const TempDirectory directory;
    std::string many;
    for (std::size_t i = 0; i < ew::config::most_rules; ++i)
        many += rule("x", "prompt");
    directory.write("rules.d/a.toml", rule("a", "allow"));
    directory.write("rules.d/b.toml", many);
    directory.write("rules.d/c.toml", rule("c", "allow"));
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(loaded.rules.rules.size() == ew::config::most_rules - 1);
    CHECK(loaded.rules.rules.front().decision == Decision::prompt);
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{"rules.d/b.toml: there are more than 10000 rules: the others "
                                   "are not read, and no rule allows anything"});
}

TEST_CASE("with more files than there may be nothing is allowed") {
    const TempDirectory directory;
    for (std::size_t i = 0; i <= ew::config::most_rule_files; ++i)
        directory.write("rules.d/" + std::to_string(i) + ".toml", rule("x", "allow"));
    const LoadedRules loaded = load_rules({directory.path("rules.d"), "", ""});

    CHECK(shown(loaded).empty());
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{"rules.d: has more than 1000 files: the others are not read, "
                                   "and no rule allows anything"});
}

TEST_CASE("named files are read as rules of the user, and a missing one is a problem") {
    const TempDirectory directory;
    const std::string path = directory.write("x.toml", rule("a", "allow"));
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    const LoadedRules loaded = load_rule_files({path, directory.path("y.toml")});

    CHECK(shown(loaded) == "allow a");
    CHECK(problems_of(loaded, directory) ==
          std::vector<std::string>{"y.toml: cannot be opened: No such file or directory"});
}

TEST_SUITE_END();
