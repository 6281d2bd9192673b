#include "files/patch/patch_journal.h"
#include "files/patch/patching.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/patch/patching.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

using namespace ew;
using namespace ew::files;
using namespace ew::test;

TEST_SUITE_BEGIN("files/patching");

TEST_CASE("a patch adds, changes, moves and removes files") {
    const TempDirectory directory;
    directory.write("a", "1\n2\n3\n");
    directory.write("b", "old\n");
    directory.write("c", "gone\n");

    CHECK(applied(directory, "*** Update File: a\n 1\n-2\n+two\n"
                             "*** Update File: b\n*** Move to: d/e/b\n-old\n+new\n"
                             "*** Delete File: c\n"
                             "*** Add File: d/f\n+added\n") == "");

    CHECK(tree_of(directory) == Tree{{"a", "1\ntwo\n3\n"}, {"d/e/b", "new\n"}, {"d/f", "added\n"}});
}

TEST_CASE("a file that is added over another one is told as changed") {
    const TempDirectory directory;
    directory.write("a", "old\n");
    PatchReport report;
    CHECK(checked(directory, "*** Add File: a\n+new\n*** Add File: b\n+new\n", report) == "");
    REQUIRE(report.files.size() == 2);
    CHECK(report.files[0].kind == PatchedKind::update);
    CHECK(report.files[0].diff.find("-old\n+new\n") != std::string::npos);
    CHECK(report.files[1].kind == PatchedKind::add);
}

TEST_CASE("a check says what would change, and changes nothing") {
    const TempDirectory directory;
    directory.write("a", "  1\n  2\n3\n");
    directory.write("b", "old\n");
    const Tree before = tree_of(directory);

    PatchReport report;
    CHECK(checked(directory,
                  "*** Update File: ./a\n 1\n-2\n+two\n"
                  "*** Update File: b\n*** Move to: d/e/b\n-old\n+new\n",
                  report) == "");

    CHECK(tree_of(directory) == before);
    REQUIRE(report.files.size() == 2);
    CHECK(report.files[0].kind == PatchedKind::update);
    CHECK(report.files[0].path == directory.path("a"));
    CHECK(report.files[0].shown == "./a");
    CHECK(report.files[0].old_digest.size() == 64);
    CHECK(report.files[0].diff.find("-  2\n+  two\n") != std::string::npos);
    CHECK(report.files[0].added == 1);
    CHECK(report.files[0].removed == 1);
    REQUIRE(report.files[0].matches.size() == 1);
    CHECK(report.files[0].matches[0].line == 1);
    CHECK(report.files[0].matches[0].level == patch::MatchLevel::both_ends);
    CHECK(report.files[1].kind == PatchedKind::move);
    CHECK(report.files[1].destination == directory.path("d/e/b"));
    CHECK(report.directories ==
          std::vector<std::string>{directory.path("d"), directory.path("d/e")});
    CHECK(report.digest == digest_of(report));
}

TEST_CASE("what changed between check and apply is not overwritten") {
    const TempDirectory directory;
    directory.write("a", "1\n");
    directory.write("b", "1\n");
    const std::string patch = "*** Update File: a\n-1\n+2\n*** Update File: b\n-1\n+2\n";
    PatchReport report;
    REQUIRE(checked(directory, patch, report) == "");
    directory.write("b", "1\nmore\n");

    const Failure failure =
        apply_patch(order_in(directory, patch), {new_token(), report.digest}, report);

    REQUIRE(failure);
    CHECK(failure->trouble == Trouble::changed);
    CHECK(tree_of(directory) == Tree{{"a", "1\n"}, {"b", "1\nmore\n"}});
}

TEST_CASE("one file that cannot be written leaves all as they were") {
    const TempDirectory directory;
    directory.write("a", "1\n");
    directory.write("b", "1\n");
    directory.write("locked/c", "1\n");
    const NotRoot not_root(directory);
    std::filesystem::permissions(directory.path("locked"), std::filesystem::perms(0500));

    const std::string message = applied(
        directory, "*** Update File: a\n-1\n+2\n*** Delete File: b\n*** Add File: new/d\n+x\n"
                   "*** Update File: locked/c\n-1\n+2\n");

    std::filesystem::permissions(directory.path("locked"), std::filesystem::perms(0700));
    CHECK(message == "locked/c: Permission denied");
    CHECK(tree_of(directory) == Tree{{"a", "1\n"}, {"b", "1\n"}, {"locked/c", "1\n"}});
    CHECK_FALSE(std::filesystem::exists(directory.path("new")));
}

TEST_CASE("one that cannot be removed undoes what was exchanged before") {
    const TempDirectory directory;
    directory.write("a", "1\n");
    directory.write("b", "1\n");
    directory.write("locked/c", "1\n");
    const ino_t inode = status_of(directory.path("a")).st_ino;
    const NotRoot not_root(directory);
    std::filesystem::permissions(directory.path("locked"), std::filesystem::perms(0500));

    const std::string message =
        applied(directory, "*** Update File: a\n-1\n+2\n*** Add File: n/e/w\n+x\n"
                           "*** Delete File: b\n*** Delete File: locked/c\n");

    std::filesystem::permissions(directory.path("locked"), std::filesystem::perms(0700));
    CHECK(message == "locked/c: Permission denied");
    CHECK(tree_of(directory) == Tree{{"a", "1\n"}, {"b", "1\n"}, {"locked/c", "1\n"}});
    CHECK(status_of(directory.path("a")).st_ino == inode);
    CHECK_FALSE(std::filesystem::exists(directory.path("n")));
}

TEST_CASE("a file that may not be written is not replaced") {
    const TempDirectory directory;
    directory.write("a", "1\n");
    const NotRoot not_root(directory);
    std::filesystem::permissions(directory.path("a"), std::filesystem::perms(0400));

    CHECK(applied(directory, "*** Update File: a\n-1\n+2\n") == "a: Permission denied");
    CHECK(tree_of(directory) == Tree{{"a", "1\n"}});
}

TEST_CASE("a changed file keeps its mode and attributes, a new one has what the mask leaves") {
    const TempDirectory directory;
    const std::string path = directory.write("tool", "1\n");
    std::filesystem::permissions(path, std::filesystem::perms(0751));
    const bool has_attributes = ::setxattr(path.c_str(), "user.note", "kept", 4, 0) == 0;
    const mode_t mask = ::umask(027);

    const std::string message =
        applied(directory, "*** Update File: tool\n-1\n+2\n*** Add File: d/new\n+x\n");

    ::umask(mask);
    CHECK(message == "");
    CHECK((status_of(path).st_mode & 07777) == 0751);
    CHECK((status_of(directory.path("d/new")).st_mode & 07777) == 0640);
    CHECK((status_of(directory.path("d")).st_mode & 07777) == 0750);
    if (!has_attributes) return;
    std::array<char, 8> value = {};
    CHECK(::getxattr(path.c_str(), "user.note", value.data(), value.size()) == 4);
}

TEST_CASE("a link stays, and what it leads to is changed") {
    const TempDirectory directory;
    directory.write("real/file", "1\n");
    std::filesystem::create_symlink("real/file", directory.path("link"));

    CHECK(applied(directory, "*** Update File: link\n-1\n+2\n") == "");

    CHECK(std::filesystem::is_symlink(directory.path("link")));
    CHECK(directory.read("real/file") == "2\n");
}

TEST_CASE("a link is neither removed nor moved") {
    const TempDirectory directory;
    directory.write("file", "1\n");
    std::filesystem::create_symlink("file", directory.path("link"));

    CHECK(applied(directory, "*** Delete File: link\n").find("is a symbolic link") !=
          std::string::npos);
    CHECK(applied(directory, "*** Update File: link\n*** Move to: other\n-1\n+2\n")
              .find("is a symbolic link") != std::string::npos);
    CHECK(applied(directory, "*** Add File: link\n+x\n") == "");
    CHECK(directory.read("file") == "x\n");
}

TEST_CASE("nothing is added through a link that leads nowhere") {
    const TempDirectory directory;
    std::filesystem::create_symlink("nowhere", directory.path("link"));

    const std::string why = ": leads through a symbolic link to a missing file";
    CHECK(applied(directory, "*** Add File: link\n+x\n") == "link" + why);
    CHECK(applied(directory, "*** Add File: link/d/x\n+x\n") == "link/d/x" + why);
    CHECK_FALSE(std::filesystem::exists(directory.path("nowhere")));
}

TEST_CASE("no path leads out of the roots, be it by dots, links or its beginning") {
    const TempDirectory directory;
    const TempDirectory outside;
    outside.write("file", "1\n");
    std::filesystem::create_symlink(outside.path("file"), directory.path("link"));
    std::filesystem::create_directory_symlink(outside.path(), directory.path("dir"));
    const std::string leads =
        ": leads to " + outside.path("file") + ", outside of " + directory.path();

    CHECK(applied(directory, "*** Update File: link\n-1\n+2\n") == "link" + leads);
    CHECK(applied(directory, "*** Add File: link\n+2\n") == "link" + leads);
    CHECK(applied(directory, "*** Update File: dir/file\n-1\n+2\n") == "dir/file" + leads);
    CHECK(applied(directory, "*** Delete File: dir/file\n") == "dir/file" + leads);
    const std::string absolute = outside.path("file");
    CHECK(applied(directory, "*** Delete File: " + absolute + "\n") == absolute + leads);
    CHECK(applied(directory, "*** Add File: dir/x/y\n+x\n").find("leads to") != std::string::npos);
    CHECK(applied(directory, "*** Add File: ../no-place-of-this-test/y\n+x\n").find("leads to") !=
          std::string::npos);
    CHECK(tree_of(outside) == Tree{{"file", "1\n"}});
}

TEST_CASE("dots behind a link mean what they mean to the system") {
    const TempDirectory directory;
    directory.write("a/b/file", "1\n");
    directory.write("file", "other\n");
    std::filesystem::create_directory_symlink("a/b", directory.path("link"));

    CHECK(applied(directory, "*** Add File: link/../made\n+x\n") == "");
    CHECK(directory.read("a/made") == "x\n");
    CHECK(applied(directory, "*** Update File: nowhere/../file\n-other\n+x\n") ==
          "nowhere/../file: No such file or directory");
    CHECK(applied(directory, "*** Add File: nowhere/../new\n+x\n") ==
          "nowhere/../new: No such file or directory");
}

TEST_CASE("two names of one file in a patch are refused, by both names") {
    const TempDirectory directory;
    directory.write("file", "1\n");
    std::filesystem::create_hard_link(directory.path("file"), directory.path("twin"));
    std::filesystem::create_symlink("file", directory.path("link"));
    const std::string first = "*** Update File: file\n-1\n+2\n";

    CHECK(applied(directory, first + "*** Update File: twin\n-1\n+3\n") ==
          "twin: is the same file as file, named twice");
    CHECK(applied(directory, first + "*** Update File: link\n-1\n+3\n") ==
          "link: is the same file as file, named twice");
    CHECK(applied(directory, first + "*** Delete File: twin\n") ==
          "twin: is the same file as file, named twice");
    CHECK(directory.read("file") == "1\n");
}

TEST_CASE("a file that lies in another one of the patch is refused") {
    const TempDirectory directory;
    CHECK(applied(directory, "*** Add File: a\n+x\n*** Add File: a/b/c\n+x\n") ==
          "a/b/c: lies in a, which the patch has as a file");
    CHECK(tree_of(directory).empty());
}

TEST_CASE("only regular files are patched") {
    const TempDirectory directory;
    directory.make("d");
    REQUIRE(::mkfifo(directory.path("pipe").c_str(), 0600) == 0);
    CHECK(applied(directory, "*** Delete File: d\n") == "d: Is a directory");
    CHECK(applied(directory, "*** Add File: d\n+x\n") == "d: Is a directory");
    CHECK(applied(directory, "*** Add File: d/..\n+x\n") == "d/..: Is a directory");
    CHECK(applied(directory, "*** Update File: pipe\n-1\n+2\n") == "pipe: is not a regular file");
    CHECK(applied(directory, "*** Delete File: missing\n") == "missing: No such file or directory");
}

TEST_CASE("a directory whose path is too long for any is no reason to end") {
    PatchOrder order = {"/" + std::string(20'000, 'x'), whole("*** Add File: a\n+x\n"), {}, {}};
    PatchReport report;
    const Failure failure = check_patch(order, report);
    REQUIRE(failure);
    CHECK(failure->message.find("File name too long") != std::string::npos);
}

TEST_CASE("a moved file keeps its mode, also over another file") {
    const TempDirectory directory;
    directory.write("key", "1\n");
    directory.write("script", "2\n");
    directory.write("there", "3\n");
    REQUIRE(::chmod(directory.path("key").c_str(), 0600) == 0);
    REQUIRE(::chmod(directory.path("script").c_str(), 0750) == 0);
    CHECK(applied(directory, "*** Update File: key\n*** Move to: d/key\n"
                             "*** Update File: script\n*** Move to: there\n-2\n+two\n") == "");
    CHECK((status_of(directory.path("d/key")).st_mode & 07777) == 0600);
    CHECK((status_of(directory.path("there")).st_mode & 07777) == 0750);
    CHECK(tree_of(directory) == Tree{{"d/key", "1\n"}, {"there", "two\n"}});
}

TEST_CASE("a patch that changes no byte does nothing") {
    const TempDirectory directory;
    directory.write("a", "1\n");
    const ino_t inode = status_of(directory.path("a")).st_ino;
    CHECK(applied(directory, "*** Update File: a\n 1\n") == "");
    CHECK(status_of(directory.path("a")).st_ino == inode);
}

TEST_CASE("a file that is too large is not read") {
    const TempDirectory directory;
    directory.write("a", "1\n");
    std::filesystem::resize_file(directory.path("a"), patch::largest_file + 1);
    CHECK(applied(directory, "*** Update File: a\n-1\n+2\n") == "a: has more than 16 MiB");
}

TEST_CASE("diffs that are too long are cut, and say so") {
    const TempDirectory directory;
    std::string patch;
    const std::string line = "+" + std::string(80'000, 'x') + "\n";
    for (int i = 0; i < 20; ++i)
        patch += "*** Add File: f" + std::to_string(i) + "\n+short\n" + line + line;
    PatchReport report;
    REQUIRE(checked(directory, patch, report) == "");
    std::size_t size = 0;
    for (const PatchedFile& file : report.files) {
        CHECK(file.diff.find("is not shown") != std::string::npos);
        CHECK(file.added == 3);
        CHECK(file.diff.size() <= longest_diff + 100);
        size += file.diff.size();
    }
    CHECK(size <= longest_diffs + 2000);
}

TEST_CASE("a file process checks, applies and tells") {
    const TempDirectory directory;
    directory.write("a", "1\n");
    Request request;
    request.verb = Verb::patch_check;
    request.path = directory.path();
    request.paths = {directory.path()};
    request.data = whole("*** Update File: a\n-1\n+2\n");
    const Outcome looked = carried_out(request);
    CHECK(looked.message() == "");
    const std::optional<PatchReport> report = decode_report(looked.text);
    REQUIRE(report);

    request.verb = Verb::patch_apply;
    request.token = new_token();
    request.expected = "another";
    CHECK(carried_out(request).failed_as(Trouble::changed));
    CHECK(directory.read("a") == "1\n");
    request.expected = report->digest;
    CHECK(decode_report(carried_out(request).text) == report);
    CHECK(directory.read("a") == "2\n");

    RecoveryReport recovered;
    CHECK_FALSE(recover_patch(encode(journal_of(*report, request.token)), recovered));
    REQUIRE(recovered.files.size() == 1);
    CHECK(recovered.files[0].outcome == Recovery::finished);
}

TEST_CASE("what holds a place in a sandbox is not there, and cannot be made") {
    const TempDirectory directory;
    directory.write("place", "");
    PatchOrder order = order_in(directory, "*** Add File: place\n+x\n");
    order.stand_ins = {directory.path("place")};
    PatchReport report;
    const Failure failure = check_patch(order, report);
    REQUIRE(failure);
    CHECK(failure->trouble == Trouble::read_only);
}

TEST_SUITE_END();
