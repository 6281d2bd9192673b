#include "config/rule_text.h"
#include "support/testing.h"

#include <string>
#include <string_view>
#include <vector>

using ew::config::read_rules;
using ew::config::RuleSource;
using ew::config::RuleText;
using ew::core::Decision;
using ew::core::FurtherWords;
using ew::core::PrefixRule;
using ew::core::RuleLayer;

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view allow_ls = "[[rule]]\nprefix = ['ls']\ndecision = 'allow'\n";
constexpr std::string_view forbid_rm = "[[rule]]\nprefix = ['rm']\ndecision = 'forbidden'\n";

RuleText read(std::string_view text, RuleLayer layer = RuleLayer::user, bool may_allow = true) {
    return read_rules(text, {"r.toml", layer, may_allow});
}

// "allow ls; forbidden rm": what counts.
std::string shown(const RuleText& text) {
    std::string all;
    for (const PrefixRule& rule : text.rules) {
        if (!all.empty()) all += "; ";
        all += rule.decision == Decision::allow    ? "allow"
               : rule.decision == Decision::prompt ? "prompt"
                                                   : "forbidden";
        for (const Words& words : rule.prefix)
            all += " " + words.front();
    }
    return all;
}

// The one problem.
std::string problem_of(const RuleText& text) {
    REQUIRE(text.problems.size() == 1);
    return describe(text.problems.front());
}

std::string problem_of(std::string_view text) {
    return problem_of(read(text));
}

std::string with(std::string_view line) {
    return std::string("[[rule]]\nprefix = ['git', ['log', 'show']]\ndecision = 'prompt'\n")
               .append(line) +
           "\n";
}

} // namespace

TEST_SUITE_BEGIN("config/rule_text");

TEST_CASE("an allow rule can be limited to harmless further words") {
    const RuleText any = read(std::string(allow_ls) + "further = 'any'\n");
    const RuleText harmless = read(std::string(allow_ls) + "further = 'harmless'\n");

    REQUIRE(any.rules.size() == 1);
    CHECK(any.rules.front().further == FurtherWords::any);
    REQUIRE(harmless.rules.size() == 1);
    CHECK(harmless.rules.front().further == FurtherWords::harmless);
    CHECK(shown(read(std::string(allow_ls) + "further = 'none'\n")).empty());
    CHECK(read("[[rule]]\nprefix = ['ls']\ndecision = 'prompt'\nfurther = 'harmless'\n")
              .problems.size() == 1);
}

TEST_CASE("a rule is read with all it says and where it stands") {
    const RuleText text = read("# mine\n\n[[rule]]\nprefix = ['git', ['log', 'show'], '-p']\n"
                               "decision = 'allow'\njustification = 'only reads'\n"
                               "match = ['git log -p', ['git', 'show', '-p', 'HEAD']]\n"
                               "not_match = ['git log']\n");

    REQUIRE(text.problems.empty());
    REQUIRE(text.rules.size() == 1);
    const PrefixRule& rule = text.rules.front();
    CHECK(rule.prefix == std::vector<Words>{{"git"}, {"log", "show"}, {"-p"}});
    CHECK(rule.decision == Decision::allow);
    CHECK(rule.justification == "only reads");
    CHECK(rule.match == std::vector<Words>{{"git", "log", "-p"}, {"git", "show", "-p", "HEAD"}});
    CHECK(rule.not_match == std::vector<Words>{{"git", "log"}});
    CHECK(rule.layer == RuleLayer::user);
    CHECK(rule.origin == "r.toml:3");
    CHECK(rule.grant == 0);
}

TEST_CASE("a text without rules is a good text") {
    CHECK(read("").problems.empty());
    CHECK(read("# nothing yet\n").problems.empty());
    CHECK(read("rule = []\n").problems.empty());
}

TEST_CASE("host executables are read") {
    const RuleText text = read("[[host_executable]]\nname = 'git'\npaths = ['/usr/bin/git']\n");

    REQUIRE(text.host_executables.size() == 1);
    CHECK(text.host_executables.front().name == "git");
    CHECK(text.host_executables.front().paths == Words{"/usr/bin/git"});
}

TEST_CASE("a mistake is told with its place") {
    CHECK(problem_of("[[rules]]\n") == "r.toml:1:3: unknown key 'rules'; did you mean 'rule'?");
    CHECK(problem_of(with("mach = []")) == "r.toml:4:1: unknown key 'mach'; did you mean 'match'?");
    CHECK(problem_of(with("justification = 1")) ==
          "r.toml:4:17: key 'justification': expected a string, found an integer");
    CHECK(problem_of("[[rule]]\nprefix = ['a']\n") ==
          "r.toml:1:1: key 'decision': is missing; a rule says \"allow\", \"prompt\" or "
          "\"forbidden\"");
    CHECK(problem_of("[[rule]]\nprefix = ['a']\ndecision = 'forbiden'\n") ==
          "r.toml:3:12: key 'decision': expected \"allow\", \"prompt\" or \"forbidden\", found "
          "\"forbiden\"; did you mean \"forbidden\"?");
    CHECK(problem_of("[[rule]]\nprefix = []\ndecision = 'prompt'\n")
              .starts_with("r.toml:2:10: key 'prefix': expected the words"));
    CHECK(problem_of("[[rule]]\nprefix = ['a', ['b', '']]\ndecision = 'prompt'\n")
              .starts_with("r.toml:2:16: key 'prefix': expected a word"));
    CHECK(problem_of(with("match = ['git log', 7]"))
              .starts_with("r.toml:4:21: key 'match': expected one plain command"));
    CHECK(problem_of("[[host_executable]]\nname = 'bin/git'\npaths = []\n")
              .starts_with("r.toml:2:8: key 'name': expected the name of a program"));
    CHECK(problem_of("[[host_executable]]\nname = 'git'\npaths = ['git']\n")
              .starts_with("r.toml:3:9: key 'paths': expected absolute paths"));
}

TEST_CASE("an example that does not hold is a mistake") {
    CHECK(problem_of(with("match = ['git push']")).starts_with("r.toml:1:1: "));
    CHECK(problem_of(with("not_match = ['git log -p']")).starts_with("r.toml:1:1: "));
}

TEST_CASE("an example that is more than one plain command is a mistake") {
    CHECK(problem_of(with("match = ['git log; git show']"))
              .starts_with("r.toml:4:10: key 'match': expected one plain command"));
    CHECK(problem_of(with("match = ['git log $(x)']")).starts_with("r.toml:4:10: "));
    CHECK(problem_of(with("match = ['']")).starts_with("r.toml:4:10: "));
}

TEST_CASE("any mistake in a text takes away what it allows and nothing else") {
    const std::string rules = std::string(allow_ls).append(forbid_rm);

    CHECK(shown(read(rules)) == "allow ls; forbidden rm");
    CHECK(shown(read(rules + with("mach = []"))) == "forbidden rm; prompt git log");
    CHECK(shown(read(rules + with("match = ['git push']"))) == "forbidden rm; prompt git log");
    CHECK(shown(read(rules + "[[rule]]\nprefix = 7\ndecision = 'allow'\n")) == "forbidden rm");
}

TEST_CASE("a rule whose decision cannot be read prompts") {
    CHECK(shown(read("[[rule]]\nprefix = ['a']\n")) == "prompt a");
    CHECK(shown(read("[[rule]]\nprefix = ['a']\ndecision = 'deny'\n")) == "prompt a");
}

TEST_CASE("of a text that is no TOML, whole blocks still prompt and forbid") {
    const RuleText text = read(std::string(allow_ls)
                                   .append(forbid_rm)
                                   .append("[[rule]\nprefix = ['x']\n")
                                   .append("[[rule]]\nprefix = ['dd']\ndecision = 'prompt'\n"));

    CHECK(shown(text) == "forbidden rm; prompt dd");
    CHECK(text.rules.front().origin == "r.toml:4");
    CHECK(text.rules.back().origin == "r.toml:9");
    CHECK(problem_of(text).starts_with("r.toml:7:"));
}

TEST_CASE("of a block with a mistake in it, what stands before it still asks") {
    CHECK(shown(read("[[rule]]\nprefix = ['a']\ndecision = forbidden\n")) == "prompt a");
    CHECK(shown(read("[[rule]]\nprefix = ['a', \ndecision = 'forbidden'\n")).empty());
}

TEST_CASE("a prefix that is a string counts as one word") {
    CHECK(shown(read("[[rule]]\nprefix = 'touch'\ndecision = 'forbidden'\n")) == "forbidden touch");
    CHECK(shown(read("[[rule]]\nprefix = 'touch'\ndecision = 'allow'\n")).empty());
    CHECK(shown(read("[[rule]]\nprefix = ''\ndecision = 'forbidden'\n")).empty());
}

TEST_CASE("a prefix of which only the beginning can be read asks") {
    CHECK(shown(read("[[rule]]\nprefix = ['touch', 3]\ndecision = 'forbidden'\n")) ==
          "prompt touch");
    CHECK(shown(read("[[rule]]\nprefix = ['git', ['push', 3]]\ndecision = 'forbidden'\n")) ==
          "prompt git");
    CHECK(shown(read("[[rule]]\nprefix = ['touch', 3]\ndecision = 'allow'\n")).empty());
    CHECK(shown(read("[[rule]]\nprefix = [3, 'touch']\ndecision = 'forbidden'\n")).empty());
}

TEST_CASE("a single table in place of a list is a mistake and still a rule") {
    const RuleText text = read("[rule]\nprefix = ['rm']\ndecision = 'forbidden'\n");

    CHECK(shown(text) == "forbidden rm");
    CHECK(problem_of(text).starts_with("r.toml:1:1: key 'rule': expected tables"));
}

TEST_CASE("of a text that is no TOML, rules count however their headers are spelled") {
    for (const std::string_view header :
         {"[[ rule ]]", "  [[rule]] # mine", "[[\"rule\"]]", "[['rule']]", "[rule]"}) {
        CAPTURE(header);
        const std::string rule =
            std::string(header) + "\nprefix = ['rm']\ndecision = 'forbidden'\n";

        CHECK(shown(read(rule + "[[rule]]\nx = \n")) == "forbidden rm");
    }
    CHECK(shown(read("rule = [{prefix = ['rm'], decision = 'forbidden'},\n"
                     "        {prefix = ['dd'], decision = 'prompt'}]\nx = \n")) ==
          "forbidden rm; prompt dd");
}

TEST_CASE("of a text that is no TOML, only so many rules are looked for, and more may be missing") {
    std::string many;
    for (int i = 0; i < 10'001; ++i)
        many += forbid_rm;
    const RuleText text = read(many + "x = \n");

    CHECK(text.rules.size() == 10'000);
    CHECK(text.mistake);
}

TEST_CASE("whatever may hide a rule is a mistake, and the first place is told") {
    for (const std::string_view text :
         {"[[rule]\n", "\n[[Rule]]\n", "x = 1\n", "[[rule]]\nprefix = 'a'\ndecision = 'prompt'\n",
          "[[rule]]\nprefix = ['a']\n", "rule = [1]\n", "[[host_executable]]\nname = 'a/b'\n"}) {
        CAPTURE(text);
        const RuleText read_text = read(text);

        REQUIRE(read_text.mistake);
        CHECK(*read_text.mistake == read_text.problems.front().position);
    }
    CHECK(!read(allow_ls).mistake);
}

TEST_CASE("what is understood and has no effect is no mistake") {
    const RuleText text = read(
        std::string(allow_ls).append("[[host_executable]]\nname = 'git'\npaths = ['/x/git']\n"),
        RuleLayer::project);

    CHECK(text.problems.size() == 2);
    CHECK(!text.mistake);
}

TEST_CASE("the system and projects cannot allow, and are told so") {
    for (const RuleLayer layer : {RuleLayer::system, RuleLayer::project}) {
        const RuleText text = read(std::string(forbid_rm).append(allow_ls), layer);

        CHECK(shown(text) == "forbidden rm");
        CHECK(problem_of(text) == "r.toml:6:12: key 'decision': \"allow\" has no effect: rules of "
                                  "the system and of a project can only tighten");
    }
}

TEST_CASE("a project does not say which programs are the real ones") {
    const RuleText text =
        read("[[host_executable]]\nname = 'git'\npaths = ['/x/git']\n", RuleLayer::project);

    CHECK(text.host_executables.empty());
    CHECK(problem_of(text).find("has no effect") != std::string::npos);
}

TEST_CASE("a text that somebody else could have written can only tighten") {
    const RuleText text = read(std::string(forbid_rm).append(allow_ls), RuleLayer::user, false);

    CHECK(shown(text) == "forbidden rm");
    CHECK(text.problems.empty());
}

TEST_CASE("a great many problems are counted, not listed") {
    std::string keys;
    for (int i = 0; i < 150; ++i)
        keys += "key" + std::to_string(i) + " = 1\n";
    const RuleText text = read(keys);

    REQUIRE(text.problems.size() == 101);
    CHECK(describe(text.problems.back()) == "r.toml: has 50 more problems");
}

TEST_SUITE_END();
