#include "report/suggestions.h"
#include "support/testing.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace ew;
using namespace ew::report;
using core::Words;

namespace {

bool trusts_bare_names(std::string_view word) {
    return word.find('/') == std::string_view::npos;
}

Seen seen(Words argv, std::uint64_t asked) {
    return {std::move(argv), "/work", asked, false};
}

Seen denied(Words argv) {
    return {std::move(argv), "/work", 0, true};
}

core::PrefixRule rule(const Words& words, core::Decision decision) {
    core::PrefixRule rule;
    for (const std::string& word : words)
        rule.prefix.push_back({word});
    rule.decision = decision;
    rule.origin = words.front() + ".toml:1";
    return rule;
}

Suggestions found(const std::vector<Seen>& all, const core::RuleSet& rules = {}) {
    return suggestions_for(judged_lines(all, rules, trusts_bare_names), rules, trusts_bare_names);
}

} // namespace

TEST_CASE("a rule is suggested for what a person allowed again and again, however it was written") {
    const Suggestions all = found({seen({"make", "-j4"}, 1), seen({"bash", "-c", "make -k"}, 2),
                                   seen({"ls"}, 9), seen({"cargo", "build"}, 1)});

    REQUIRE(all.rules.size() == 1);
    CHECK(all.rules[0].prefix == Words{"make"});
    CHECK(all.rules[0].saved == 3);
    CHECK(all.rules[0].commands.size() == 2);
}

TEST_CASE("commands that would newly run are told, also those that were never asked about") {
    const Suggestions all = found({seen({"make"}, 2), seen({"make", "-n"}, 0)});

    REQUIRE(all.rules.size() == 1);
    CHECK(all.rules[0].saved == 2);
    CHECK(all.rules[0].commands.size() == 2);
}

TEST_CASE("a rule that would allow something that was denied is refused") {
    const Suggestions all = found({seen({"make"}, 5), denied({"make", "-k"})});

    CHECK(all.rules.empty());
    REQUIRE(all.refused.size() == 1);
    CHECK(all.refused[0].obstacle.find("make -k") != std::string::npos);
}

TEST_CASE("nothing is suggested for what destroys data, or does what nobody knows") {
    const Suggestions all =
        found({seen({"rm", "-rf", "build"}, 7), seen({"./deploy.sh"}, 5),
               seen({"bash", "-c", "make && rm -rf /srv"}, 6), seen({"sudo", "make"}, 4)});

    CHECK(all.rules.empty());
    REQUIRE(all.unsolved.size() == 4);
    CHECK(all.unsolved[0].argv == Words{"rm", "-rf", "build"});
    CHECK(all.unsolved[0].asked == 7);
}

TEST_CASE("what the rules in force allow or ask about is not suggested again") {
    core::RuleSet allowed;
    allowed.rules = {rule({"make"}, core::Decision::allow)};
    CHECK(found({seen({"make"}, 5)}, allowed).rules.empty());

    core::RuleSet asked;
    asked.rules = {rule({"git", "add"}, core::Decision::prompt)};
    CHECK(found({seen({"git", "add", "x"}, 5)}, asked).rules.empty());
}

TEST_CASE("a rule counts as used if it decides about a command of the audit, or a row names it") {
    core::RuleSet rules;
    rules.rules = {rule({"make"}, core::Decision::allow), rule({"npm"}, core::Decision::allow),
                   rule({"git"}, core::Decision::prompt)};
    const auto lines =
        judged_lines({seen({"bash", "-c", "cd /work; make"}, 0)}, rules, trusts_bare_names);

    const auto unused = unused_rules(lines, rules, {"git.toml:1"});

    REQUIRE(unused.size() == 1);
    CHECK(unused[0].origin == "npm.toml:1");
}

TEST_CASE("equal commands are counted together; patches and edited commands are left out") {
    Command asked;
    asked.argv = R"(["make"])";
    asked.directory = "/work";
    asked.questions.push_back({1, "command", "", "policy", "", Answer{2, "approved", ""}});
    Command edited = asked;
    edited.questions.front().answer->decision = "edited";
    Command patch = asked;
    patch.questions.front().kind = "patch";

    const std::vector<Seen> all = seen_in({asked, asked, edited, patch});

    REQUIRE(all.size() == 1);
    CHECK(all[0].asked == 2);
}
