#include "config/approved_text.h"
#include "support/testing.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

using ew::config::Approval;
using ew::config::text_with_rule;
using ew::config::text_without_rule;

namespace {

using Words = std::vector<std::string>;

constexpr std::int64_t a_time = 1'790'000'000'123; // 2026-09-21T14:13:20Z

std::string with(const std::string& text, const Approval& approval) {
    auto longer = text_with_rule(text, "f.toml", approval);
    REQUIRE(longer);
    REQUIRE(longer->has_value());
    return std::move(**longer);
}

std::string without(const std::string& text, const Words& prefix) {
    auto shorter = text_without_rule(text, "f.toml", prefix);
    REQUIRE(shorter);
    REQUIRE(shorter->has_value());
    return std::move(**shorter);
}

std::string refusal(const std::string& text, const Approval& approval) {
    auto longer = text_with_rule(text, "f.toml", approval);
    REQUIRE_FALSE(longer);
    return longer.error().message;
}

std::string refused_removal(const std::string& text, const Words& prefix) {
    auto shorter = text_without_rule(text, "f.toml", prefix);
    REQUIRE_FALSE(shorter);
    return shorter.error().message;
}

} // namespace

TEST_SUITE_BEGIN("config/approved_text");

TEST_CASE("an approval becomes a rule with a comment that says when and why") {
    const std::string text = with("# mine\n", {{"git", "push"}, "release day", a_time});

    CHECK(text == "# mine\n\n# Approved 2026-09-21T14:13:20Z: release day\n[[rule]]\n"
                  "prefix = [\"git\", \"push\"]\ndecision = \"allow\"\nfurther = \"harmless\"\n"
                  "justification = \"release day\"\n");
}

TEST_CASE("an approval without a reason says when") {
    CHECK(with("# mine", {{"ninja"}, "", a_time}) ==
          "# mine\n\n# Approved 2026-09-21T14:13:20Z\n[[rule]]\nprefix = [\"ninja\"]\n"
          "decision = \"allow\"\nfurther = \"harmless\"\n");
}

TEST_CASE("a new file begins with what it is for") {
    CHECK(with("", {{"ninja"}, "", a_time}).starts_with("# Commands that a person has approved."));
}

TEST_CASE("an equal allow rule is not written twice") {
    const std::string text = "[[rule]]\nprefix = ['git', ['push']]\ndecision = 'allow'\n";

    auto same = text_with_rule(text, "f.toml", {{"git", "push"}, "again", a_time});
    REQUIRE(same);
    CHECK_FALSE(same->has_value());
    CHECK(with(text, {{"ninja"}, "", a_time}).size() > text.size());
}

TEST_CASE("a rule that only looks equal does not count as one") {
    for (const char* text : {"[[rule]]\nprefix = ['git', ['push', 'pull']]\ndecision = 'allow'\n",
                             "[[rule]]\nprefix = ['git', 'push']\ndecision = 'prompt'\n"})
        CHECK(with(text, {{"git", "push"}, "", a_time}).starts_with(text));
}

TEST_CASE("words and reasons with anything in them are written so that they are read again") {
    const Words prefix = {"touch", "a\"b\\c", "\x1b[1m\ttab\x7f", "é'#[[rule]]", "\n"};
    const std::string text = with("", {prefix, "why", a_time});

    auto same = text_with_rule(text, "f.toml", {prefix, "", a_time});
    REQUIRE(same);
    CHECK_FALSE(same->has_value());
}

TEST_CASE("a reason stays on its one line, whatever is in it") {
    const std::string text =
        with("# x\n", {{"ninja"}, "a\r\n[[rule]]\nb\x1b[2J\xc2\x85 \xff\n", a_time});

    CHECK(text.find("Z: a [[rule]] b [2J") != std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\r') == std::string::npos);
    CHECK(without(text, {"ninja"}) == "# x\n");
    const std::string separators =
        with("# x\n", {{"ninja"}, "a\xe2\x80\xa8[[rule]]\xe2\x80\xae", a_time});
    CHECK(separators.find("\xe2\x80") == std::string::npos);
}

TEST_CASE("a long reason is cut, at a character") {
    std::string reason;
    for (int i = 0; i < 400; ++i)
        reason += "é";

    CHECK(with("# x\n", {{"ninja"}, reason, a_time}).size() < 1300);
}

TEST_CASE("a prefix that must not be allowed is refused") {
    CHECK(refusal("", {{}, "", 0}) == "the prefix of a rule is empty");
    CHECK(refusal("", {{"git", ""}, "", 0}) == "a word of the prefix of a rule is empty");
    CHECK(refusal("", {{"git", "\xff"}, "", 0}).find("cannot be written") != std::string::npos);
    CHECK(refusal("", {{"python3"}, "", 0}) ==
          "it is not known what 'python3' does with further words or with its input");
    CHECK(refusal("", {{"bash", "-c"}, "", 0}) ==
          "it is not known what 'bash -c' does with further words or with its input");
}

TEST_CASE("a text with a mistake is not touched") {
    CHECK(refusal("[[rule]\n", {{"ninja"}, "", 0}).starts_with("f.toml:1:"));
    CHECK(refusal("[[rule]]\nprefix = ['a']\n", {{"ninja"}, "", 0}).starts_with("f.toml:1:1: "));
    CHECK(refused_removal("a = 1\n", {"ninja"}).starts_with("f.toml:1:1: unknown key"));
}

TEST_CASE("a text whose rules are an inline array takes no block") {
    const std::string text = "rule = [{ prefix = ['a'], decision = 'allow' }]\n";

    CHECK(
        refusal(text, {{"ninja"}, "", 0}).starts_with("f.toml: a block [[rule]] cannot be added"));
    CHECK(refused_removal(text, {"a"}).find("remove it by hand") != std::string::npos);
}

TEST_CASE("a text that is full takes no more rules") {
    const std::string text = "#" + std::string((1 << 20) - 10, 'x') + "\n";

    CHECK(refusal(text, {{"ninja"}, "", 0}).find("no room") != std::string::npos);
}

TEST_CASE("removing what was appended gives the text that was") {
    const std::string before = "# mine\n\n[[rule]]\nprefix = ['a']\ndecision = 'prompt'\n# end\n";
    const std::string once = with(before, {{"git", "push"}, "x", a_time});
    const std::string twice = with(once, {{"ninja"}, "", a_time});

    CHECK(without(twice, {"ninja"}) == once);
    CHECK(without(once, {"git", "push"}) == before);
    CHECK(without(without(twice, {"git", "push"}), {"ninja"}) == before);
}

TEST_CASE("only the block and its comment go, and every other comment stays") {
    const std::string text = "# top\n[[rule]]\nprefix = ['a']\ndecision = 'allow' # why\n\n"
                             "# about b\n[[rule]]\n# inside\nprefix = [\n  'b',\n]\n"
                             "decision = 'allow'\n\n# about c\n[[host_executable]]\n"
                             "name = 'c'\npaths = ['/c']\n";

    CHECK(without(text, {"a"}) == "# top\n\n# about b\n[[rule]]\n# inside\nprefix = [\n  'b',\n]\n"
                                  "decision = 'allow'\n\n# about c\n[[host_executable]]\n"
                                  "name = 'c'\npaths = ['/c']\n");
    CHECK(without(text, {"b"}) == "# top\n[[rule]]\nprefix = ['a']\ndecision = 'allow' # why\n\n"
                                  "# about b\n\n# about c\n[[host_executable]]\nname = 'c'\n"
                                  "paths = ['/c']\n");
}

TEST_CASE("every allow rule with the prefix goes, and what prompts or forbids stays") {
    const std::string rule = "[[rule]]\nprefix = ['a']\ndecision = 'allow'\n";
    const std::string ban = "[[rule]]\nprefix = ['a']\ndecision = 'forbidden'\n";

    CHECK(without(rule + ban + rule, {"a"}) == ban);
    auto none = text_without_rule(ban, "f.toml", {"a"});
    REQUIRE(none);
    CHECK_FALSE(none->has_value());
}

TEST_CASE("a text without the rule is left alone") {
    for (const char* text :
         {"", "# x\n", "[[rule]]\nprefix = [['a', 'b']]\ndecision = 'allow'\n"}) {
        auto none = text_without_rule(text, "f.toml", {"a"});
        REQUIRE(none);
        CHECK_FALSE(none->has_value());
    }
}

TEST_CASE("a block that cannot be cut out without harm is left to a person") {
    // The last line of the string looks like a comment.
    const std::string text = "[[rule]]\nprefix = ['a']\ndecision = 'allow'\n"
                             "justification = '''\n# x'''\n[[rule]]\nprefix = ['b']\n"
                             "decision = 'prompt'\n";

    CHECK(refused_removal(text, {"a"}).find("remove it by hand") != std::string::npos);
}

TEST_CASE("lines that end as on Windows are cut like others") {
    CHECK(without("[[rule]]\r\nprefix = ['a']\r\ndecision = 'allow'\r\n# x\r\n", {"a"}) ==
          "# x\r\n");
}

TEST_SUITE_END();
