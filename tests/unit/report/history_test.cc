#include "report/history.h"
#include "support/testing.h"

#include <string>
#include <utility>

using namespace ew::report;

namespace {

AuditRow row(std::string event, std::string decision, std::string detail) {
    AuditRow row;
    row.at = 1000;
    row.session = "s";
    row.call = "c";
    row.event = std::move(event);
    row.argv = R"(["make"])";
    row.decision = std::move(decision);
    row.detail = std::move(detail);
    return row;
}

AuditRow at(UnixMs time, AuditRow row) {
    row.at = time;
    return row;
}

AuditRow question() {
    return row("question", "prompt", "command");
}

AuditRow decision(std::string what) {
    return row("decision", std::move(what), "");
}

AuditRow start(int attempt) {
    return row("start", "allow",
               "process 100" + std::to_string(attempt) + ", attempt " + std::to_string(attempt) +
                   ", sandbox: linuxSeccomp");
}

AuditRow exit(int process, std::string code) {
    return row("exit", std::move(code),
               "process 100" + std::to_string(process) +
                   " after 75 ms, peak memory 9437184 bytes, sandbox: linuxSeccomp");
}

template <class... Rows>
History history_of(Rows... rows) {
    History history;
    (history.take(rows), ...);
    return history;
}

template <class... Rows>
Outcome outcome_after(Rows... rows) {
    const History history = history_of(rows...);
    REQUIRE(history.commands().size() == 1);
    return outcome_of(history.commands().front());
}

} // namespace

TEST_CASE("each end of a command has its outcome") {
    CHECK(outcome_after(start(1), exit(1, "0")) == Outcome::by_rule);
    CHECK(outcome_after(question(), decision("approvedForSession"), start(1), exit(1, "0")) ==
          Outcome::by_person);
    CHECK(outcome_after(question()) == Outcome::waiting);
    CHECK(outcome_after(question(), decision("denied")) == Outcome::denied);
    CHECK(outcome_after(row("refusal", "forbidden", "no")) == Outcome::denied);
    CHECK(outcome_after(start(1)) == Outcome::running);
    CHECK(outcome_after(start(1), exit(1, "2")) == Outcome::failed);
    CHECK(outcome_after(start(1), row("failure", "", "no such program")) == Outcome::failed);
    CHECK(outcome_after(start(1), exit(1, "137")) == Outcome::killed);
    CHECK(outcome_after(start(1), exit(1, "124")) == Outcome::killed);
    CHECK(outcome_after(start(1), exit(1, "129")) == Outcome::failed); // git uses it itself
    CHECK(outcome_after(start(1), row("denial", "1", "process 1001: 1 refused: open /etc/x"),
                        exit(1, "1")) == Outcome::refused);
}

TEST_CASE("a denial of a command that succeeded does not count as its outcome") {
    CHECK(outcome_after(start(1), row("denial", "1", "process 1001: 1 refused: open /etc/x"),
                        exit(1, "0")) == Outcome::by_rule);
}

TEST_CASE("a second attempt belongs to its command, a call with the same name does not") {
    const History again = history_of(start(1), exit(1, "1"), row("question", "prompt", "retry"),
                                     decision("approved"), start(2), exit(2, "0"));
    REQUIRE(again.commands().size() == 1);
    CHECK(again.commands()[0].attempts.size() == 2);
    CHECK(outcome_of(again.commands()[0]) == Outcome::by_person);

    const History two = history_of(start(1), exit(1, "0"), start(1), exit(1, "3"));
    REQUIRE(two.commands().size() == 2);
    CHECK(outcome_of(two.commands()[1]) == Outcome::failed);
}

TEST_CASE("the end is that of its process, with the time that it took") {
    const History history = history_of(start(1), start(2), exit(2, "0"));

    const auto& attempts = history.commands()[0].attempts;
    CHECK_FALSE(attempts[0].end);
    REQUIRE(attempts[1].end);
    CHECK(attempts[1].end->wall_ms == 75);
    CHECK(attempts[1].end->peak_memory == 9437184);
    CHECK(attempts[1].end->bounds == "linuxSeccomp");
}

TEST_CASE("questions about hosts belong to the command that runs, and each has its own answer") {
    const History history = history_of(
        start(1), row("question", "", "network, a.example:443"),
        row("question", "", "network, b.example:80"), row("decision", "denied", "b.example:80"),
        row("decision", "approved", "a.example:443, session"), exit(1, "0"));

    REQUIRE(history.commands().size() == 1);
    const auto& questions = history.commands()[0].questions;
    REQUIRE(questions.size() == 2);
    CHECK(questions[0].host == "a.example:443");
    CHECK(questions[0].answer->decision == "approved");
    CHECK(questions[1].answer->decision == "denied");
    CHECK(outcome_of(history.commands()[0]) == Outcome::by_rule);
}

TEST_CASE("a patch is done when it was applied") {
    const History history = history_of(row("question", "", "patch"), decision("approved"),
                                       row("start", "", "2 files"), row("end", "", "applied"));

    const Command& patch = history.commands()[0];
    CHECK(outcome_of(patch) == Outcome::by_person);
    CHECK(patch.attempts[0].detail == "2 files");
    CHECK(patch.attempts[0].bounds.empty());
    CHECK_FALSE(patch.attempts[0].end->code);
    CHECK(patch.attempts[0].end->detail == "applied");
}

TEST_CASE("a command of another environment is known with its name") {
    const History history =
        history_of(row("start", "", "environment box, process 7, attempt 1, sandbox: none"),
                   row("exit", "0", "environment box, process 7 after 3 ms, sandbox: none"));

    const Attempt& attempt = history.commands()[0].attempts[0];
    CHECK(attempt.environment == "box");
    CHECK(attempt.process == "7");
    REQUIRE(attempt.end);
    CHECK(attempt.end->wall_ms == 3);
    CHECK_FALSE(attempt.end->peak_memory); // as in older rows
}

TEST_CASE("the wait for a person is the time between the question and the answer") {
    const History history = history_of(at(1000, question()), at(4200, decision("approved")));

    CHECK(waited_ms(history.commands()[0]) == 3200);
}

TEST_CASE("a row about the rest of a command whose beginning is gone is left out") {
    CHECK(history_of(exit(1, "0")).commands().empty());
    CHECK(history_of(row("grant", "project", "")).commands().empty());
}

TEST_CASE("lost rows of the audit are told") {
    CHECK(history_of(row("dropped", "", "7 rows could not be kept")).gaps().size() == 1);
}

TEST_CASE("the kind of a question in another environment is found") {
    const History history = history_of(row("question", "prompt", "environment box: retry"));

    CHECK(history.commands()[0].questions[0].kind == "retry");
}
