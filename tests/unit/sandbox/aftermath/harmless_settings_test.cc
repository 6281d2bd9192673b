#include "sandbox/aftermath/git_settings.h"
#include "sandbox/aftermath/harmless_settings.h"
#include "support/testing.h"

#include <string>
#include <utility>
#include <vector>

using namespace ew;
using namespace ew::sandbox;

namespace {

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("what git init and git clone write is harmless") {
    const std::string made = "[core]\n"
                             "\trepositoryformatversion = 0\n"
                             "\tfilemode = true\n"
                             "\tbare = false\n"
                             "\tlogallrefupdates = true\n"
                             "[submodule]\n"
                             "\tactive = .\n"
                             "[remote \"origin\"]\n"
                             "\turl = git@github.com:ada/shop.git\n"
                             "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
                             "[branch \"feature/a b\"]\n"
                             "\tremote = origin\n"
                             "\tmerge = refs/heads/main\n"
                             "[submodule \"lib\"]\n"
                             "\turl = https://example.org/lib.git\n"
                             "\tactive = true\n"
                             "[extensions]\n"
                             "\tobjectformat = sha256\n"
                             "\tworktreeConfig = true\n"
                             "[user]\n"
                             "\tname = \"Ada \\\"L\\\" Lovelace\" ; a comment\n"
                             "\temail = ada@example.org # another\n";

    CHECK(dangers_in_settings(made).empty());
    CHECK(dangers_in_settings("").empty());
    CHECK(dangers_in_settings("# only a comment\n\n; another").empty());
}

TEST_CASE("settings that name a program or a path are named") {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"[core]\n\tfsmonitor = ./evil\n", "core.fsmonitor"},
        {"[CORE]\nFsMonitor=./evil", "core.fsmonitor"},
        {"[core]\n\tfsmonitor\n", "core.fsmonitor"},
        {"[core]\nhooksPath = hooks\n", "core.hookspath"},
        {"[core]\nworktree = ..\n", "core.worktree"},
        {"[core]\nsshCommand = x\n", "core.sshcommand"},
        {"[core]\npager = x\n", "core.pager"},
        {"[core]\neditor = x\n", "core.editor"},
        {"[core]\ngitProxy = x\n", "core.gitproxy"},
        {"[core]\naskPass = x\n", "core.askpass"},
        {"[core]\nattributesFile = x\n", "core.attributesfile"},
        {"[core]\nalternateRefsCommand = x\n", "core.alternaterefscommand"},
        {"[core \"a\"]\nbare = true\n", "core.a.bare"},
        {"[include]\npath = x\n", "include.path"},
        {"[includeIf \"gitdir:/\"]\npath = x\n", "includeif.gitdir:/.path"},
        {"[filter \"f\"]\nclean = x\n", "filter.f.clean"},
        {"[diff]\nexternal = x\n", "diff.external"},
        {"[diff \"d\"]\ntextconv = x\n", "diff.d.textconv"},
        {"[merge \"m\"]\ndriver = x\n", "merge.m.driver"},
        {"[alias]\nst = !x\n", "alias.st"},
        {"[credential]\nhelper = x\n", "credential.helper"},
        {"[gpg]\nprogram = x\n", "gpg.program"},
        {"[gpg \"ssh\"]\nprogram = x\n", "gpg.ssh.program"},
        {"[url \"ext::x\"]\ninsteadOf = https://\n", "url.ext::x.insteadof"},
        {"[protocol \"ext\"]\nallow = always\n", "protocol.ext.allow"},
        {"[remote \"o\"]\nuploadpack = x\n", "remote.o.uploadpack"},
        {"[remote \"o\"]\nreceivepack = x\n", "remote.o.receivepack"},
        {"[remote \"o\"]\nvcs = x\n", "remote.o.vcs"},
        {"[remote \"o\"]\nurl = ext::sh -c x\n", "remote.o.url"},
        {"[submodule \"s\"]\nupdate = !x\n", "submodule.s.update"},
        {"[submodule \"s\"]\nurl = --upload-pack=x\n", "submodule.s.url"},
        {"[branch \"b\"]\nremote = ext::x\n", "branch.b.remote"},
        {"[branch \"b\"]\nmergeoptions = -s x\n", "branch.b.mergeoptions"},
        {"[sequence]\neditor = x\n", "sequence.editor"},
        {"[uploadpack]\npackObjectsHook = x\n", "uploadpack.packobjectshook"},
        {"[trailer \"t\"]\ncommand = x\n", "trailer.t.command"},
        {"[interactive]\ndiffFilter = x\n", "interactive.difffilter"},
        {"[pager]\nlog = x\n", "pager.log"},
        {"[browser \"b\"]\ncmd = x\n", "browser.b.cmd"},
        {"[init]\ntemplateDir = x\n", "init.templatedir"},
        {"[safe]\ndirectory = *\n", "safe.directory"},
        {"[made]\nup = 1\n", "made.up"},
        {"[core.sub]\nbare = true\n", "line 1"},
    };

    for (const auto& [text, name] : cases) {
        INFO(text);
        const Names found = dangers_in_settings(text);
        REQUIRE_FALSE(found.empty());
        CHECK(found.front() == name);
    }
}

TEST_CASE("lines that git might read in another way count as dangerous") {
    for (const std::string& line : {
             std::string("[core] fsmonitor = x"),
             std::string("[core"),
             std::string("[]"),
             std::string("bare = true"),
             std::string("[core]]"),
             std::string("[a \"b\\\\c\"]"),
             std::string("[a \"b]"),
             std::string("[a \"b\" c]"),
         }) {
        INFO(line);
        CHECK(dangers_in_settings(line + "\n") == Names{"line 1"});
    }
    for (const std::string& line : {
             std::string("bare = true \\"),
             std::string("bare = \"true"),
             std::string("bare = \\x"),
             std::string("bare : true"),
             std::string("-bare = true"),
             std::string("b_are = true"),
             std::string("bare = true\r"),
             std::string("bare = t\0rue", 12),
             std::string("# a comment \\"),
             std::string("bare true"),
         }) {
        INFO(line);
        CHECK(dangers_in_settings("[core]\n" + line + "\n") == Names{"line 2"});
    }
}

TEST_CASE("each danger is named once, in the order of the file") {
    CHECK(dangers_in_settings("[alias]\na = x\na = y\n[core]\nbare = true\neditor = z\n[\n") ==
          Names{"alias.a", "core.editor", "line 7"});
}

TEST_CASE("the work tree of a submodule lies below that of its repository") {
    const auto with = [](const std::string& path) {
        return dangers_in_settings("[core]\nworktree = " + path + "\n", 3);
    };

    CHECK(with("../../../lib").empty());
    CHECK(with("../../../deep/lib").empty());
    for (const char* path : {"../../lib", "../../../../lib", "../../../", "../../../a/../..",
                             "/lib", "lib", "../../../.git", "../../../a/.git/b", "../../..//a"}) {
        INFO(path);
        CHECK(with(path) == Names{"core.worktree"});
    }
    CHECK(dangers_in_settings("[core]\nworktree = ../../../lib\n") == Names{"core.worktree"});
}

TEST_CASE("plain addresses of repositories are told from those that name a helper program") {
    for (const char* url : {
             "https://example.org/a.git",
             "http://example.org/a",
             "git://example.org/a",
             "ssh://git@example.org:22/a.git",
             "file:///srv/a.git",
             "/srv/a.git",
             "../a.git",
             "./a",
             "a/b.git",
             "origin",
             ".",
             "git@example.org:a/b.git",
             "host:a",
             "https://user:token@example.org/a?b=c",
         }) {
        INFO(url);
        CHECK(is_plain_url(url));
    }
    for (const char* url : {
             "",
             "ext::sh -c x",
             "fd::3",
             "foo::bar",
             "-x",
             "--upload-pack=x",
             "ssh://-oProxy=x/a",
             "ssh://a@-oProxy=x/a",
             "-oProxy=x:a",
             "ftp://example.org/a",
             "foo://example.org/a",
             "a|b:c",
             "https://example.org/a\nb",
             "u@-x:a",
         }) {
        INFO(url);
        CHECK_FALSE(is_plain_url(url));
    }
}

TEST_CASE("a value ends before a comment and before blanks, except within quotes") {
    const GitSettings read = read_git_settings("[a \"B c\"]\nk = x  y \t; z\nl = \" x # \" y \n"
                                               "m\nn =\n");

    CHECK(read.odd_lines.empty());
    CHECK(read.settings == std::vector<GitSetting>{{"a", "B c", "k", "x  y"},
                                                   {"a", "B c", "l", " x #  y"},
                                                   {"a", "B c", "m", {}},
                                                   {"a", "B c", "n", ""}});
}
