#include "report/markup.h"
#include "report/page.h"
#include "report/wording.h"
#include "support/count_of.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using namespace ew::report;

namespace {

constexpr std::string_view hostile = "</code></script><script>x</script>\"'><img src=x onerror=y>"
                                     "{{script}}\x1b[2J\xff\u202e";

bool trusts_nothing(std::string_view) {
    return false;
}

// A command with hostile text in every member.
Command hostile_command() {
    const std::string text(hostile);
    Command command;
    command.session = text;
    command.call = text;
    command.argv = text;
    command.directory = "/" + text;
    command.questions.push_back({1, text, text, text, text, Answer{2, text, text}});
    command.attempts.push_back(
        {3, text, text, text, text, text, text, text, End{4, 1, {}, {}, text, text}});
    command.denials.push_back({4, text, text, text, "process 1: 1 refused: open /" + text});
    command.hosts.push_back({4, text, text, text, text});
    command.refusal = Stop{4, text, text, text};
    command.failure = Stop{4, text, text, text};
    return command;
}

} // namespace

TEST_CASE("text of others is escaped wherever it gets into the page") {
    Report report;
    report.title = hostile;
    report.commands.push_back(hostile_command());
    report.gaps.emplace_back(hostile);
    report.unused.push_back({std::string(hostile), std::string(hostile)});
    report.suggestions.rules.push_back({{std::string(hostile)}, 2, {}, {}});
    report.suggestions.unsolved.push_back({{std::string(hostile)}, 2});
    report.pictures.push_back({std::string(hostile), std::string(hostile), std::string(hostile)});

    const std::string page = html_of(report, trusts_nothing);

    CHECK(count_of("<script", page) == 1);
    CHECK(count_of("</script", page) == 1);
    CHECK(count_of("<style", page) == 1);
    CHECK(page.find("<img src=x") == std::string::npos);
    CHECK(page.find('\x1b') == std::string::npos);
    CHECK(page.find("\u202e") == std::string::npos);
    CHECK(page.find('\xff') == std::string::npos);
    CHECK(count_of("{{script}}", page) > 10); // as text; never filled in
}

TEST_CASE("a text that was cut says how much is missing, and ends between characters") {
    Markup page;
    page.text("ab\u00e9cd", 3);

    CHECK(page.page() == "ab … (4 more bytes)");
}

TEST_CASE("lines keep their ends and tabs, and nothing else that is invisible") {
    Markup page;
    page.lines("a\tb\\n\n<c>\r", 100);

    CHECK(page.page() == "a\tb\\n\n&lt;c&gt;\\r");
}

TEST_CASE("a page has as many commands as it has room for, and says how many are missing") {
    Report report;
    Command command;
    command.argv = R"(["echo",")" + std::string(3000, 'x') + R"("])";
    report.commands.assign(9000, command);

    const std::string page = html_of(report, trusts_nothing);

    CHECK(page.size() < std::size_t{20} << 20);
    CHECK(page.find("of the end are left out") != std::string::npos);
}

TEST_CASE("memory is shown in units that people read") {
    CHECK(memory_text(640 * 1024) == "640 KiB");
    CHECK(memory_text(11 * 1024 * 1024 + 300 * 1024) == "11.3 MiB");
    CHECK(memory_text(2LL * 1024 * 1024 * 1024) == "2.0 GiB");
}
