#include "sandbox/aftermath/aftermath.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

using namespace ew;
using namespace ew::sandbox;

namespace {

const std::string hostile = "[core]\n\tfsmonitor = ./evil\n";
const std::string harmless = "[core]\n\tbare = false\n";

// A root "r" that had none of the protected names.
LookPlaces empty_root(const test::Tree& tree) {
    LookPlaces places;
    const std::string root = tree.directory("r");
    places.roots = {root};
    places.absent = {root + "/.git", root + "/.agents", root + "/.codex", root + "/.execward"};
    return places;
}

// A root "r" that is a repository.
LookPlaces repository(const test::Tree& tree) {
    LookPlaces places;
    const std::string root = tree.directory("r");
    tree.git("r/.git");
    places.roots = {root};
    places.repositories = {{root, root + "/.git"}};
    return places;
}

std::string journal_of(const test::Tree& tree) {
    return tree.at("state/looks");
}

HeldLook looked_first(const test::Tree& tree, const LookPlaces& places) {
    Result<HeldLook> look = look_first(places, journal_of(tree));
    REQUIRE_MESSAGE(look, (look ? "" : look.error().message));
    return std::move(*look);
}

std::vector<SetAside> after(const test::Tree& tree, const LookPlaces& places,
                            const std::function<void()>& command) {
    HeldLook look = looked_first(tree, places);
    command();
    return look_again(std::move(look));
}

// Checks that exactly this was moved, and that nothing was lost.
void check_moved(const std::vector<SetAside>& things, const std::string& path) {
    REQUIRE(things.size() == 1);
    CHECK(things[0].path == path);
    CHECK_FALSE(things[0].moved_to.empty());
    struct stat status = {};
    CHECK(::lstat(path.c_str(), &status) != 0);
    CHECK(::lstat(things[0].moved_to.c_str(), &status) == 0);
}

// A submodule "sub" in the index of a repository: version 2, one entry.
std::string index_with_submodule() {
    std::string entry(24, '\0');
    entry += std::string("\0\0\xe0\0", 4) + std::string(12, '\0') + std::string(20, 'i');
    entry += std::string("\0\3", 2) + "sub";
    entry.append(8 - entry.size() % 8, '\0');
    return std::string("DIRC\0\0\0\2\0\0\0\1", 12) + entry + std::string(20, 'c');
}

} // namespace

TEST_CASE("a new repository with harmless settings stays, with the samples of its hooks") {
    const test::Tree tree;
    const LookPlaces places = empty_root(tree);

    const std::vector<SetAside> things = after(tree, places, [&] {
        tree.git("r/.git");
        tree.file("r/.git/hooks/pre-commit.sample", "#!/bin/sh\n");
        tree.file("r/.git/info/exclude");
        tree.directory("r/.git/branches");
        tree.directory("r/.codex"); // as a placeholder of another start
    });

    CHECK(things.empty());
    CHECK(tree.has("r/.git/config"));
}

TEST_CASE("the dangerous part of a new repository is moved aside within it") {
    struct Case {
        std::string path; // what is moved
        std::function<void(const test::Tree&)> make;
        std::string danger;
    };

    const std::vector<Case> cases = {
        {"config", [](auto& t) { t.file("r/.git/config", hostile); }, "core.fsmonitor"},
        {"config", [](auto& t) { t.file("r/.git/config", "[core\n"); }, "line 1"},
        {"config", [](auto& t) { t.directory("r/.git/config"); }, "cannot be read"},
        {"config.worktree", [](auto& t) { t.file("r/.git/config.worktree", hostile); }, "core."},
        {"hooks", [](auto& t) { t.file("r/.git/hooks/post-checkout"); }, "post-checkout"},
        {"hooks", [](auto& t) { t.link("r/.git/hooks", "/tmp"); }, "a link to /tmp"},
        {"info", [](auto& t) { t.link("r/.git/info", "../x"); }, "a link to ../x"},
        {"commondir", [](auto& t) { t.file("r/.git/commondir", "../../evil\n"); }, "../../evil"},
        {"COMMIT_EDITMSG", [](auto& t) { t.link("r/.git/COMMIT_EDITMSG", "/e"); }, "a link to /e"},
        {"logs/HEAD",
         [](auto& t) {
             t.directory("r/.git/logs");
             t.link("r/.git/logs/HEAD", "/e");
         },
         "a link to /e"},
        {"objects/info", [](auto& t) { t.link("r/.git/objects/info", "/e"); }, "a link to /e"},
        {"remotes", [](auto& t) { t.file("r/.git/remotes/o", "URL: ext::x\n"); }, "remotes"},
        {"modules/m/config", [](auto& t) { t.file("r/.git/modules/m/config", hostile); }, "core."},
        {"modules/a/b/hooks", [](auto& t) { t.file("r/.git/modules/a/b/hooks/x"); }, "hooks: x"},
        {"modules/m/modules/n/config",
         [](auto& t) {
             t.git("r/.git/modules/m");
             t.file("r/.git/modules/m/modules/n/config", hostile);
         },
         "core."},
        {"worktrees/w/commondir",
         [](auto& t) { t.file("r/.git/worktrees/w/commondir", "../../../e\n"); }, "../../../e"},
        {"worktrees/w/config.worktree",
         [](auto& t) { t.file("r/.git/worktrees/w/config.worktree", hostile); }, "core."},
        {"index", [](auto& t) { t.file("r/.git/index", "what?"); }, "not understood"},
    };

    for (const Case& one : cases) {
        INFO(one.path, one.danger);
        const test::Tree tree;
        const LookPlaces places = empty_root(tree);

        const std::vector<SetAside> things = after(tree, places, [&] {
            tree.git("r/.git");
            if (one.danger.starts_with("a link")) ::rmdir(tree.at("r/.git/hooks").c_str());
            if (one.danger.starts_with("cannot")) ::unlink(tree.at("r/.git/config").c_str());
            one.make(tree);
        });

        check_moved(things, tree.at("r/.git/" + one.path));
        CHECK(things[0].danger.find(one.danger) != std::string::npos);
        CHECK(things[0].moved_to.find("/r/.git/") != std::string::npos);
        CHECK(tree.has("r/.git/HEAD"));
    }
}

TEST_CASE("a .git that is no directory is moved aside as a whole") {
    const std::vector<std::function<void(const test::Tree&)>> cases = {
        [](auto& t) { t.link("r/.git", t.git("elsewhere")); },
        [](auto& t) { t.link("r/.git", "nowhere"); },
        [](auto& t) { t.file("r/.git", "gitdir: " + t.git("elsewhere") + "\n"); },
        [](auto& t) { t.file("r/.git", "gitdir: ../elsewhere\n"); },
        [](auto& t) { t.file("r/.git", "gitdir: missing\n"); },
        [](auto& t) { t.file("r/.git", "what?"); },
        [](auto& t) { REQUIRE(::mkfifo(t.at("r/.git").c_str(), 0600) == 0); },
    };

    for (const auto& make : cases) {
        const test::Tree tree;
        const LookPlaces places = empty_root(tree);

        check_moved(after(tree, places, [&] { make(tree); }), tree.at("r/.git"));
    }
}

TEST_CASE("a file .git is followed to a new repository in the workspace") {
    const test::Tree tree;
    const LookPlaces places = empty_root(tree);

    const std::vector<SetAside> things = after(tree, places, [&] {
        tree.git("r/deep/repository");
        tree.file("r/deep/repository/config", hostile);
        tree.file("r/.git", "gitdir: ./deep/repository\n");
    });

    check_moved(things, tree.at("r/deep/repository/config"));
}

TEST_CASE("what agents obey is moved aside, whatever it is") {
    for (const char* name : {".agents", ".codex", ".execward"}) {
        const test::Tree tree;
        const LookPlaces places = empty_root(tree);
        const std::string path = tree.at(std::string("r/") + name);

        check_moved(after(tree, places, [&] { tree.file(std::string("r/") + name + "/x"); }), path);
        check_moved(after(tree, places, [&] { tree.file(std::string("r/") + name); }), path);
        check_moved(after(tree, places, [&] { tree.link(std::string("r/") + name, "/tmp"); }),
                    path);
    }
}

TEST_CASE("a directory that a command has closed is looked into all the same") {
    const test::Tree tree;
    const LookPlaces places = empty_root(tree);

    const std::vector<SetAside> things = after(tree, places, [&] {
        tree.git("r/.git");
        tree.file("r/.git/config", hostile);
        REQUIRE(::chmod(tree.at("r/.git").c_str(), 0) == 0);
        REQUIRE(::chmod(tree.at("r").c_str(), 0) == 0);
    });

    struct stat status = {};
    CHECK(::stat(tree.at("r").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0);
    REQUIRE(::chmod(tree.at("r").c_str(), 0700) == 0);
    REQUIRE(::chmod(tree.at("r/.git").c_str(), 0700) == 0);
    check_moved(things, tree.at("r/.git/config"));
}

TEST_CASE("what a repository had before stays, however it looks") {
    const test::Tree tree;
    const LookPlaces places = repository(tree);
    tree.file("r/.git/config", hostile);
    tree.file("r/.git/hooks/pre-commit");
    tree.link("r/.git/rr-cache", "/tmp");
    tree.file("r/.git/modules/m/config", hostile);
    tree.file("r/.git/worktrees/w/commondir", "../..\n");

    const std::vector<SetAside> things = after(tree, places, [&] {
        tree.file("r/.git/COMMIT_EDITMSG", "text");
        tree.file("r/.git/logs/HEAD", "text");
        tree.file("r/.git/commondir", ".\n"); // as a placeholder of another start
    });

    CHECK(things.empty());
}

TEST_CASE("what is new and dangerous in a repository is moved aside") {
    const std::vector<std::pair<std::string, std::function<void(const test::Tree&)>>> cases = {
        {"COMMIT_EDITMSG", [](auto& t) { t.link("r/.git/COMMIT_EDITMSG", "/e"); }},
        {"FETCH_HEAD", [](auto& t) { t.link("r/.git/FETCH_HEAD", "/e"); }},
        {"refs/heads",
         [](auto& t) {
             std::filesystem::remove_all(t.at("r/.git/refs"));
             t.directory("r/.git/refs");
             t.link("r/.git/refs/heads", "/tmp");
         }},
        {"objects",
         [](auto& t) {
             std::filesystem::remove_all(t.at("r/.git/objects"));
             t.link("r/.git/objects", "/tmp");
         }},
        {"config.worktree", [](auto& t) { t.file("r/.git/config.worktree", hostile); }},
        {"modules/m/config", [](auto& t) { t.file("r/.git/modules/m/config", hostile); }},
        {"modules", [](auto& t) { t.link("r/.git/modules", "/tmp"); }},
    };

    for (const auto& [path, make] : cases) {
        INFO(path);
        const test::Tree tree;
        const LookPlaces places = repository(tree);

        check_moved(after(tree, places, [&, &make = make] { make(tree); }),
                    tree.at("r/.git/" + path));
        CHECK(tree.has("r/.git/config"));
    }
}

TEST_CASE("settings in place of a link that a user had are moved aside") {
    const test::Tree tree;
    const LookPlaces places = repository(tree);
    REQUIRE(::rmdir(tree.at("r/.git/hooks").c_str()) == 0);
    tree.link("r/.git/hooks", tree.directory("shared"));

    const std::vector<SetAside> things = after(tree, places, [&] {
        REQUIRE(::unlink(tree.at("r/.git/hooks").c_str()) == 0);
        tree.file("r/.git/hooks/post-checkout");
    });

    check_moved(things, tree.at("r/.git/hooks"));
}

TEST_CASE("a new repository to which an index leads is looked at") {
    const test::Tree tree;
    const LookPlaces places = repository(tree);

    const std::vector<SetAside> things = after(tree, places, [&] {
        tree.git("r/sub/.git");
        tree.file("r/sub/.git/config", hostile);
        tree.file("r/.git/index", index_with_submodule());
    });

    check_moved(things, tree.at("r/sub/.git/config"));
}

TEST_CASE("a submodule that a user had is left alone") {
    for (const bool is_known : {true, false}) {
        const test::Tree tree;
        LookPlaces places = repository(tree);
        tree.git("r/sub/.git");
        tree.file("r/sub/.git/config", hostile);
        tree.file("r/.git/index", index_with_submodule());
        (is_known ? places.nested : places.closed).push_back(tree.at("r/sub"));

        CHECK(after(tree, places, [] {}).empty());
    }
}

TEST_CASE("a root that becomes a bare repository has its settings moved aside") {
    const test::Tree tree;
    const LookPlaces places = repository(tree);
    const auto make_bare = [&tree] {
        tree.file("r/HEAD", "ref: refs/heads/main\n");
        tree.directory("r/objects");
        tree.directory("r/refs");
    };

    tree.file("r/config", hostile);
    CHECK(after(tree, places, [] {}).empty()); // any file may have that name
    check_moved(after(tree, places, make_bare), tree.at("r/config"));
    tree.file("r/config", hostile);
    CHECK(after(tree, places, [] {}).empty()); // a user's own
}

TEST_CASE("what an unfinished look would find does not count as having been there") {
    const test::Tree tree;
    const LookPlaces places = empty_root(tree);
    HeldLook first = looked_first(tree, places);
    tree.git("r/.git");
    tree.file("r/.git/config", hostile);
    HeldLook second = looked_first(tree, repository(tree));

    tree.file("r/.git/config", hostile);
    check_moved(look_again(std::move(first)), tree.at("r/.git/config"));
    tree.file("r/.git/config", hostile);
    check_moved(look_again(std::move(second)), tree.at("r/.git/config"));
}

TEST_CASE("the look after a server that was killed is finished by the next one") {
    const test::Tree tree;
    const LookPlaces places = empty_root(tree);
    HeldLook look = looked_first(tree, places);
    tree.file("r/.codex/config.toml");

    CHECK(sweep_looks(journal_of(tree)).empty()); // it is held
    look.lock.reset();
    check_moved(sweep_looks(journal_of(tree)), tree.at("r/.codex"));
    CHECK(std::filesystem::is_empty(journal_of(tree)));
}

TEST_CASE("what a look has moved is told by the next one if it was ended") {
    const test::Tree tree;
    const LookPlaces places = empty_root(tree);
    const std::string moved = tree.at("r/.execward-set-aside-1-.codex");
    {
        const HeldLook look = looked_first(tree, places);
        tree.file("r/.agents/x", "obey");
        note_set_aside(look, {tree.at("r/.codex"), "what agents obey", moved});
        // The last one was not written to its end.
        const std::string torn("/lost\0a link", 12);
        REQUIRE(::pwrite(look.lock.get(), torn.data(), torn.size(),
                         ::lseek(look.lock.get(), 0, SEEK_END)) > 0);
    }

    const std::vector<SetAside> things = sweep_looks(journal_of(tree));

    REQUIRE(things.size() == 2);
    CHECK(things[0] == SetAside{tree.at("r/.codex"), "what agents obey", moved});
    CHECK(things[1].path == tree.at("r/.agents"));
    CHECK(sweep_looks(journal_of(tree)).empty());
}

TEST_CASE("records and results survive their way, and damaged ones are refused") {
    LookRecord record;
    record.places = {{"/r"}, {"/r/.git"}, {{"/w", "/w/.git"}}, {"/r/n"}, {"/r/c"}, false};
    record.before = {"/r/x\nkey\nwith lines"};
    const std::vector<SetAside> things = {{"/a", "b", "/c"}, {"/d", "e", ""}};

    const std::string text = encode_look(record);
    const std::string result = encode_set_aside(things, 1000);

    CHECK(decode_look(text) == record);
    CHECK(decode_set_aside(result) == things);
    const std::vector<SetAside> many(200, things.front());
    const std::string cut = encode_set_aside(many, 1000);
    CHECK(cut.size() <= 1000);
    const auto told = decode_set_aside(cut);
    REQUIRE(told);
    REQUIRE(told->size() > 1);
    CHECK(told->front() == things.front());
    CHECK(told->back().danger == std::to_string(201 - told->size()) + " more, moved beside them");
    CHECK(decode_set_aside(encode_set_aside({}, 1000))->empty());
    for (std::size_t size = 0; size < text.size(); ++size)
        CHECK_FALSE(decode_look(text.substr(0, size)));
    for (std::size_t size = 0; size < result.size(); ++size)
        CHECK_FALSE(decode_set_aside(result.substr(0, size)));
}
