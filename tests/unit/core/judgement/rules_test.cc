#include "core/judgement/rules.h"
#include "support/testing.h"

using ew::core::check;
using ew::core::Decision;
using ew::core::matches;
using ew::core::PrefixRule;
using ew::core::shown;
using ew::core::Words;

namespace {

PrefixRule rule(std::vector<Words> prefix) {
    PrefixRule result;
    result.prefix = std::move(prefix);
    return result;
}

} // namespace

TEST_SUITE_BEGIN("core/rules");

TEST_CASE("a rule matches whole words from the first on") {
    const PrefixRule push = rule({{"git"}, {"push"}});

    CHECK(matches(push, {"git", "push"}));
    CHECK(matches(push, {"git", "push", "-f"}));
    CHECK_FALSE(matches(push, {"git"}));
    CHECK_FALSE(matches(push, {"git", "pushx"}));
    CHECK_FALSE(matches(push, {"git", "-v", "push"}));
    CHECK_FALSE(matches(push, {"git push"}));
    CHECK_FALSE(matches(push, {"Git", "push"}));
}

TEST_CASE("each word may have alternatives") {
    const PrefixRule either = rule({{"npm", "pnpm"}, {"test", "run"}});

    CHECK(matches(either, {"pnpm", "run", "lint"}));
    CHECK_FALSE(matches(either, {"yarn", "run"}));
    CHECK(shown(either) == "npm test");
}

TEST_CASE("an empty prefix matches nothing and is no rule") {
    CHECK_FALSE(matches(rule({}), {"ls"}));
    CHECK_FALSE(check(rule({})));
    CHECK_FALSE(check(rule({{"git"}, {}})));
    CHECK(check(rule({{"git"}})));
}

TEST_CASE("the examples of a rule must hold") {
    PrefixRule push = rule({{"git"}, {"push"}});
    push.match = {{"git", "push", "origin"}};
    push.not_match = {{"git", "pull"}};
    CHECK(check(push));

    push.match.push_back({"git", "pull"});
    auto result = check(push);
    REQUIRE_FALSE(result);
    CHECK(result.error().message.find("git pull") != std::string::npos);

    push.match.clear();
    push.not_match.push_back({"git", "push", "-f"});
    CHECK_FALSE(check(push));
}

TEST_SUITE_END();
