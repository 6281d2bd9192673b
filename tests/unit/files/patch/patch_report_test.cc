#include "files/patch/patch_journal.h"
#include "files/patch/patch_report.h"
#include "support/testing.h"

#include <optional>
#include <string>
#include <string_view>

using namespace ew;
using namespace ew::files;

namespace {

PatchReport full_report() {
    PatchedFile update;
    update.path = "/w/\xff a";
    update.shown = "a";
    update.old_digest = std::string(64, '1');
    update.new_digest = std::string(64, '2');
    update.matches = {{3, patch::MatchLevel::exact}, {900, patch::MatchLevel::folded}};
    update.diff = "--- a\n";
    update.added = 7;
    update.removed = 8;
    PatchedFile move = update;
    move.kind = PatchedKind::move;
    move.path = "/w/old";
    move.destination = "/w/new/place";
    move.shown_destination = "new/place";
    move.replaced_digest = std::string(64, '3');
    PatchedFile removal;
    removal.kind = PatchedKind::remove;
    removal.path = "/w/gone";
    removal.old_digest = std::string(64, '4');
    PatchedFile addition;
    addition.kind = PatchedKind::add;
    addition.path = "/w/new/file";
    addition.new_digest = std::string(64, '5');
    PatchReport report;
    report.files = {update, move, removal, addition};
    report.directories = {"/w/new"};
    report.digest = digest_of(report);
    return report;
}

const std::string token(32, 'a');

} // namespace

TEST_SUITE_BEGIN("files/patch_report");

TEST_CASE("a report is what it was") {
    const PatchReport sent = full_report();
    const std::optional<PatchReport> got = decode_report(encode(sent));
    REQUIRE(got);
    CHECK(*got == sent);
}

TEST_CASE("a report that is cut anywhere, or has something behind it, is none") {
    const std::string text = encode(full_report());
    for (std::size_t size = 0; size < text.size(); ++size)
        CHECK_FALSE(decode_report(std::string_view(text).substr(0, size)));
    CHECK_FALSE(decode_report(text + "x"));
}

TEST_CASE("a report with a number that no kind or level has is none") {
    std::string text = encode(full_report());
    text[4] = 4;
    CHECK_FALSE(decode_report(text));
    const std::string many = std::string("\xff\xff\xff\xff", 4);
    CHECK_FALSE(decode_report(many));
}

TEST_CASE("a report whose paths lead elsewhere, or whose digests are none, is none") {
    for (const std::string path : {"", "relative", "/w/../x", "/w/./x", "/w//x", "/w/", "/"}) {
        PatchReport report = full_report();
        report.files[0].path = path;
        CHECK_FALSE(decode_report(encode(report)));
        report = full_report();
        report.files[1].destination = path;
        CHECK_FALSE(decode_report(encode(report)));
    }
    PatchReport report = full_report();
    report.files[0].old_digest = "abc";
    CHECK_FALSE(decode_report(encode(report)));
}

TEST_CASE("a report with any other byte is one or none") {
    const std::string text = encode(full_report());
    for (std::size_t i = 0; i < text.size(); ++i) {
        for (const int bits : {1, 0x80, 0xff}) {
            std::string other = text;
            other[i] = static_cast<char>(other[i] ^ bits);
            const std::optional<PatchReport> report = decode_report(other);
            if (report) CHECK(encode(*report) == other);
        }
    }
}

TEST_CASE("a digest tells apart what is changed, and nothing else") {
    PatchReport report = full_report();
    report.files[0].diff = "other";
    report.files[0].shown = "./a";
    CHECK(digest_of(report) == report.digest);
    report.files[0].new_digest[0] = '7';
    CHECK(digest_of(report) != report.digest);
    report = full_report();
    report.directories.clear();
    CHECK(digest_of(report) != report.digest);
}

TEST_CASE("a journal has a step for each name that changes") {
    const Journal journal = journal_of(full_report(), token);
    REQUIRE(journal.steps.size() == 5);
    CHECK(journal.steps[0].kind == StepKind::replace);
    CHECK(journal.steps[0].directory == "/w");
    CHECK(journal.steps[0].name == "\xff a");
    CHECK(journal.steps[1].kind == StepKind::replace);
    CHECK(journal.steps[1].directory == "/w/new");
    CHECK(journal.steps[2].kind == StepKind::remove);
    CHECK(journal.steps[2].name == "old");
    CHECK(journal.steps[3].kind == StepKind::remove);
    CHECK(journal.steps[4].kind == StepKind::make);
    CHECK(journal.directories == std::vector<std::string>{"/w/new"});
}

TEST_CASE("a file that stays as it is has no step") {
    PatchReport report;
    report.files.resize(1);
    report.files[0].path = "/w/a";
    report.files[0].old_digest = report.files[0].new_digest = std::string(64, '1');
    CHECK(journal_of(report, token).steps.empty());
}

TEST_CASE("a journal is what it was, and none if a byte is missing or another") {
    const std::string text = encode(journal_of(full_report(), token));
    const std::optional<Journal> got = decode_journal(text);
    REQUIRE(got);
    CHECK(encode(*got) == text);
    for (std::size_t i = 0; i < text.size(); i += 7) {
        CHECK_FALSE(decode_journal(std::string_view(text).substr(0, i)));
        std::string other = text;
        other[i] = static_cast<char>(other[i] ^ 1);
        CHECK_FALSE(decode_journal(other));
    }
}

TEST_CASE("a journal with a name that leads elsewhere is none") {
    Journal journal = journal_of(full_report(), token);
    journal.steps[0].name = "../b";
    CHECK_FALSE(decode_journal(encode(journal)));
    journal.steps[0].name = "..";
    CHECK_FALSE(decode_journal(encode(journal)));
    journal.steps[0].name = "b";
    CHECK(decode_journal(encode(journal)));
    journal.token = "../../etc";
    CHECK_FALSE(decode_journal(encode(journal)));
}

TEST_CASE("a token is 32 hexadecimal digits, and another each time") {
    CHECK(is_token(new_token()));
    CHECK(new_token() != new_token());
    CHECK_FALSE(is_token(std::string(31, 'a')));
    CHECK_FALSE(is_token(std::string(31, 'a') + "/"));
}

TEST_SUITE_END();
