#include "core/environment.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using ew::core::EnvironmentPolicy;
using ew::core::name_matches;
using ew::core::overlaid;
using ew::core::Variables;
using Inherit = ew::core::EnvironmentPolicy::Inherit;

namespace {

Variables named(std::initializer_list<const char*> names) {
    Variables variables;
    for (const std::string_view name : names)
        variables.emplace_back(name, "value");
    return variables;
}

std::string names_of(const Variables& variables) {
    std::string names;
    for (const auto& [name, value] : variables)
        names += names.empty() ? name : " " + name;
    return names;
}

} // namespace

TEST_SUITE_BEGIN("core/environment");

TEST_CASE("a pattern of names is one of a shell and ignores case") {
    CHECK(name_matches("PATH", "path"));
    CHECK(name_matches("LC_*", "LC_ALL"));
    CHECK(name_matches("A?C", "abc"));
    CHECK(name_matches("[AB]X", "bx"));
    CHECK_FALSE(name_matches("LC_*", "XLC_ALL"));
    CHECK_FALSE(name_matches("PATH", "PATHS"));
}

TEST_CASE("all inherits everything that does not look like a secret") {
    const Variables secrets =
        named({"API_KEY", "KEY", "client_secret", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY_2",
               "PGPASSWORD", "MYSQL_PWD", "DB_PASS", "OPENAI_APIKEY", "SSH_KEYS", "APP_SECRETS",
               "GPG_PASSPHRASE", "npm_config_//registry/:_authToken"});
    CHECK(names_of(ew::core::apply({}, secrets)).empty());

    const std::vector<std::string> others = {
        "PATH",     "PWD",        "OLDPWD",      "TOKENIZERS_PARALLELISM", "MONKEY",
        "KEYBOARD", "MAX_TOKENS", "SSH_ASKPASS", "PASSENGER_ENV",          "SECRETARY"};
    for (const std::string& name : others)
        CHECK_MESSAGE(names_of(ew::core::apply({}, named({name.c_str()}))) == name, name);
}

TEST_CASE("git's settings by variables are inherited together") {
    const Variables inherited =
        named({"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"});
    CHECK(ew::core::apply({}, inherited) == inherited);
}

TEST_CASE("secrets are inherited when the default excludes are ignored") {
    const EnvironmentPolicy policy = {.ignore_default_excludes = true};

    CHECK(names_of(ew::core::apply(policy, named({"API_KEY", "EDITOR"}))) == "API_KEY EDITOR");
}

TEST_CASE("core inherits what every program needs and nothing else") {
    const EnvironmentPolicy policy = {.inherit = Inherit::core};
    const Variables inherited =
        named({"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TEMP", "TMP",
               "TMPDIR", "USER", "EDITOR", "LC_TIME", "PATHS"});

    CHECK(names_of(ew::core::apply(policy, inherited)) ==
          "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TEMP TMP TMPDIR USER");
}

TEST_CASE("none inherits nothing, and what is set is there all the same") {
    const EnvironmentPolicy policy = {.inherit = Inherit::none, .set = {{"A", "1"}}};

    CHECK(ew::core::apply(policy, named({"PATH"})) == Variables{{"A", "1"}});
}

TEST_CASE("excluded names are not inherited but may be set") {
    const EnvironmentPolicy policy = {.exclude = {"ED*", "PATH"}, .set = {{"PATH", "/bin"}}};

    CHECK(ew::core::apply(policy, named({"PATH", "EDITOR", "HOME"})) ==
          Variables{{"HOME", "value"}, {"PATH", "/bin"}});
}

TEST_CASE("a set variable replaces an inherited one in its place") {
    const EnvironmentPolicy policy = {.set = {{"A", "new"}, {"C", "3"}}};

    CHECK(ew::core::apply(policy, {{"A", "old"}, {"B", "2"}}) ==
          Variables{{"A", "new"}, {"B", "2"}, {"C", "3"}});
}

TEST_CASE("only what includeOnly names is kept, of what is set too") {
    const EnvironmentPolicy policy = {.set = {{"LC_TIME", "C"}, {"A", "1"}},
                                      .include_only = {"PATH", "LC_*"}};

    CHECK(names_of(ew::core::apply(policy, named({"PATH", "HOME", "LC_ALL"}))) ==
          "PATH LC_ALL LC_TIME");
}

TEST_CASE("variables of execward itself are never inherited") {
    const EnvironmentPolicy policy = {.ignore_default_excludes = true};

    CHECK(names_of(ew::core::apply(policy, named({"EXECWARD_LOG_LEVEL", "execward_x", "HOME"}))) ==
          "HOME");
}

TEST_CASE("names differ by case when a value is replaced") {
    CHECK(overlaid({{"path", "1"}}, {{"PATH", "2"}}) == Variables{{"path", "1"}, {"PATH", "2"}});
}

TEST_CASE("an overlay replaces and adds, and the last of equal names wins") {
    CHECK(overlaid({{"A", "1"}, {"B", "2"}}, {{"B", "3"}, {"C", "4"}, {"C", "5"}}) ==
          Variables{{"A", "1"}, {"B", "3"}, {"C", "5"}});
}

TEST_SUITE_END();
