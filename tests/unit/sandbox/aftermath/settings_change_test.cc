#include "sandbox/aftermath/look.h"
#include "sandbox/aftermath/settings_change.h"
#include "sandbox/plan/resolved_path.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

using namespace ew;
using namespace ew::sandbox;

using Names = std::vector<std::string>;
using Outcome = SettingsChange::Outcome;

namespace {

const std::string plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
const std::string with_remote = plain + "[remote \"o\"]\n\turl = https://example.org/a\n";

LookRecord record_of(const std::string& git_directory) {
    LookRecord record;
    record.places.repositories = {{parent_of(git_directory), git_directory}};
    record.before = seen_before(record.places);
    return record;
}

} // namespace

TEST_CASE("settings of branches, remotes, submodules and the user may change") {
    for (const char* added :
         {"[branch \"b\"]\nremote = o\nmerge = refs/heads/b\nrebase = true\n",
          "[remote \"o\"]\nurl = git@example.org:a\nfetch = +refs/heads/*:refs/remotes/o/*\n",
          "[submodule \"s\"]\nurl = ../s\nactive = true\nbranch = main\n",
          "[user]\nname = Ada\nemail = a@example.org\n",
          "[core]\nsparseCheckout = true\nsparseCheckoutCone = true\n", "# a comment\n"}) {
        INFO(added);
        CHECK(dangers_in_change(plain, plain + added).empty());
        CHECK(dangers_in_change(plain + added, plain).empty());
    }
    CHECK(dangers_in_change(plain, plain).empty());
    CHECK(dangers_in_change("", "").empty());
}

TEST_CASE("other settings may neither come nor go nor change") {
    const std::string own = plain + "[alias]\nx = !y\n[core]\nhooksPath = a\n";

    CHECK(dangers_in_change(own, own + "[user]\nname = Ada\n").empty());
    CHECK(dangers_in_change(own, plain) == Names{"alias.x", "core.hookspath"});
    CHECK(dangers_in_change(plain, own) == Names{"alias.x", "core.hookspath"});
    CHECK(dangers_in_change(own, plain + "[alias]\nx = !z\n[core]\nhooksPath = a\n") ==
          Names{"alias.x"});
    CHECK(dangers_in_change(plain, plain + "[core]\nfsmonitor = x\n") == Names{"core.fsmonitor"});
    CHECK(dangers_in_change(plain, plain + "[remote \"o\"]\nurl = ext::x\n") ==
          Names{"remote.o.url"});
    CHECK(dangers_in_change(plain, plain + "[extensions]\nworktreeConfig = true\n") ==
          Names{"extensions.worktreeconfig"});
    CHECK(dangers_in_change(plain, "[core]\nrepositoryformatversion = 0\nbare = true\n") ==
          Names{"core.bare"});
}

TEST_CASE("a file with lines that are not understood does not change") {
    CHECK(dangers_in_change(plain, plain + "[core\n") == Names{"line 4"});
    CHECK(dangers_in_change(plain + "x = \\\n", plain) == Names{"line 4 of the present file"});
    CHECK(dangers_in_change(plain + "x = \\\n", plain + "x = \\\n") == Names{"line 4"});
}

TEST_CASE("the rename of a lock onto settings is told from other renames") {
    CHECK(may_be_settings_change("/r/.git/config.lock", "/r/.git/config"));
    CHECK(may_be_settings_change("/r/.git/config.worktree.lock", "/r/.git/config.worktree"));
    CHECK_FALSE(may_be_settings_change("/r/.git/config.lok", "/r/.git/config"));
    CHECK_FALSE(may_be_settings_change("/x/.git/config.lock", "/r/.git/config"));
    CHECK_FALSE(may_be_settings_change("/r/.git/index.lock", "/r/.git/index"));
    CHECK_FALSE(may_be_settings_change("", "/r/.git/config"));
}

TEST_CASE("a harmless change is written into the file itself, and the lock is removed") {
    const test::Tree tree;
    const std::string git = tree.git("r/.git");
    tree.file("r/.git/config", with_remote);
    const LookRecord record = record_of(git);
    struct stat before = {};
    struct stat after = {};
    REQUIRE(::stat((git + "/config").c_str(), &before) == 0);

    tree.file("r/.git/config.lock", plain); // shorter
    CHECK(change_settings(record, git + "/config").outcome == Outcome::made);

    CHECK(tree.content("r/.git/config") == plain);
    CHECK_FALSE(tree.has("r/.git/config.lock"));
    REQUIRE(::stat((git + "/config").c_str(), &after) == 0);
    CHECK(after.st_ino == before.st_ino);
}

TEST_CASE("a dangerous change is refused with its name, and nothing is written") {
    const test::Tree tree;
    const std::string git = tree.git("r/.git");
    tree.file("r/.git/config", plain);
    tree.file("r/.git/config.lock", plain + "[core]\nfsmonitor = x\n");

    const SettingsChange change = change_settings(record_of(git), git + "/config");

    CHECK(change == SettingsChange{Outcome::refused, "settings: core.fsmonitor"});
    CHECK(tree.content("r/.git/config") == plain);
    CHECK(tree.has("r/.git/config.lock"));
}

TEST_CASE("files of other repositories, closed files, links and missing files are left alone") {
    const test::Tree tree;
    const std::string git = tree.git("r/.git");
    const std::string other = tree.git("o/.git");
    for (const char* place : {"r/.git/config", "o/.git/config"}) {
        tree.file(place, plain);
        tree.file(std::string(place) + ".lock", with_remote);
    }
    const LookRecord record = record_of(git);
    LookRecord closed = record;
    closed.places.closed = {git + "/config"};
    LookRecord unprotected = record;
    unprotected.before.clear();

    CHECK(change_settings(record, other + "/config") == SettingsChange());
    CHECK(change_settings(record, git + "/HEAD") == SettingsChange());
    CHECK(change_settings(record, git + "/config.worktree") == SettingsChange());
    CHECK(change_settings(closed, git + "/config") == SettingsChange());
    CHECK(change_settings(unprotected, git + "/config") == SettingsChange());
    REQUIRE(::unlink((git + "/config.lock").c_str()) == 0);
    tree.link("r/.git/config.lock", "../../o/.git/config.lock");
    CHECK(change_settings(record, git + "/config") == SettingsChange());
    CHECK(tree.content("r/.git/config") == plain);
    CHECK(tree.content("o/.git/config") == plain);
}

TEST_CASE("the result of a change survives its way") {
    for (const SettingsChange& change : {SettingsChange(), SettingsChange{Outcome::made, ""},
                                         SettingsChange{Outcome::refused, "settings: a.b"}})
        CHECK(decode_change(encode_change(change)) == change);
    CHECK(decode_change("") == SettingsChange());
}
