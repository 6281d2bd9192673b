#include "files/patch/held_journal.h"
#include "files/patch/patch_journal.h"
#include "files/patch/patching.h"
#include "support/child_process.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/patch/patching.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace ew;
using namespace ew::files;
using namespace ew::test;

namespace {

namespace fs = std::filesystem;

constexpr const char* changes = "*** Update File: a\n-1\n+2\n"
                                "*** Add File: d/e/new\n+n\n"
                                "*** Update File: m\n*** Move to: d/moved\n-1\n+2\n"
                                "*** Delete File: sub/gone\n";
const Tree old_tree = {{"a", "1\n"}, {"m", "1\n"}, {"sub/gone", "g\n"}};
const Tree new_tree = {{"a", "2\n"}, {"d/e/new", "n\n"}, {"d/moved", "2\n"}};

void write_old(const TempDirectory& directory) {
    for (const auto& [name, text] : old_tree)
        directory.write(name, text);
}

// A patch that is being applied, up to any point.
class Interrupted {
public:
    Interrupted() {
        write_old(directory);
        PatchReport report;
        REQUIRE(checked(directory, changes, report) == "");
        journal = journal_of(report, new_token());
        REQUIRE(journal.steps.size() == 5);
        texts = {"2\n", "n\n", "2\n", "", ""};
    }

    std::string target(std::size_t i) const {
        return journal.steps[i].directory + "/" + journal.steps[i].name;
    }

    std::string staged(std::size_t i) const {
        return journal.steps[i].directory + "/" + staged_name(journal.token, i);
    }

    std::string old(std::size_t i) const {
        return journal.steps[i].directory + "/" + old_name(journal.token, i);
    }

    void put(const std::string& path, std::string_view text) const {
        directory.write(path.substr(directory.path().size() + 1), text);
    }

    void stage(std::size_t i) const {
        if (journal.steps[i].kind != StepKind::remove) put(staged(i), texts[i]);
    }

    void exchange(std::size_t i) const {
        switch (journal.steps[i].kind) {
        case StepKind::make: return fs::rename(staged(i), target(i));
        case StepKind::remove: return fs::rename(target(i), staged(i));
        case StepKind::replace:
            fs::rename(target(i), target(i) + ".x");
            fs::rename(staged(i), target(i));
            return fs::rename(target(i) + ".x", staged(i));
        }
    }

    void let_go(std::size_t i) const {
        if (journal.steps[i].kind != StepKind::make) fs::remove(staged(i));
    }

    // All that is done, one after the other.
    std::vector<std::function<void()>> actions() const {
        std::vector<std::function<void()>> all;
        for (const std::string& made : journal.directories)
            all.emplace_back([made] { fs::create_directory(made); });
        for (std::size_t i = 0; i < journal.steps.size(); ++i) {
            if (journal.steps[i].kind != StepKind::remove)
                all.emplace_back([this, i] { put(staged(i), ""); });
            all.emplace_back([this, i] { stage(i); });
        }
        for (std::size_t i = 0; i < journal.steps.size(); ++i)
            all.emplace_back([this, i] { exchange(i); });
        for (std::size_t i = 0; i < journal.steps.size(); ++i)
            all.emplace_back([this, i] { let_go(i); });
        return all;
    }

    void exchange_all() const {
        const auto all = actions();
        for (std::size_t i = 0; i + journal.steps.size() < all.size(); ++i)
            all[i]();
    }

    RecoveryReport recovered() const {
        RecoveryReport report;
        const Failure failure = recover_patch(encode(journal), report);
        CHECK_MESSAGE(!failure, (failure ? failure->message : ""));
        return report;
    }

    TempDirectory directory;
    Journal journal;
    std::vector<std::string> texts;
};

struct Failing {
    unsigned call = 0;
    unsigned error = 0;
    std::optional<unsigned> flags = {}; // of renameat2: only with these
};

// For good: in a child.
void fail_from_now_on(const Failing& failing) {
    const unsigned flags = failing.flags.value_or(0);
    const auto skipped = static_cast<unsigned char>(failing.flags ? 0 : 2); // the look at flags
    std::array<sock_filter, 7> program = {{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, failing.call, 0, 4),
        BPF_JUMP(BPF_JMP | BPF_JA, skipped, 0, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flags, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | failing.error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog filter = {program.size(), program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        ::_exit(99);
}

// As on a file system that knows none of the flags.
const Failing no_flags = {SYS_renameat2, EINVAL, {}};

int status_in_child(const Failing& failing, const std::function<bool()>& is_good) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        fail_from_now_on(failing);
        ::_exit(returns_true(is_good) ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_SUITE_BEGIN("files/patch_recovery");

TEST_CASE("a patch that ends anywhere is undone or finished as a whole") {
    const std::size_t count = Interrupted().actions().size();
    const std::size_t steps = 5;
    for (std::size_t end = 0; end <= count; ++end) {
        CAPTURE(end);
        const Interrupted patch;
        for (std::size_t i = 0; i < end; ++i)
            patch.actions()[i]();
        const bool is_exchanged = end >= count - steps;
        for (int again = 0; again < 2; ++again) {
            const RecoveryReport report = patch.recovered();
            CHECK(tree_of(patch.directory) == (is_exchanged ? new_tree : old_tree));
            CHECK(fs::exists(patch.directory.path("d")) == is_exchanged);
            for (const RecoveredFile& file : report.files)
                CHECK(file.outcome == (is_exchanged ? Recovery::finished : Recovery::undone));
        }
    }
}

TEST_CASE("a file that somebody has changed stays, and its old content too") {
    const Interrupted patch;
    patch.exchange_all();
    patch.put(patch.target(0), "mine\n");

    const RecoveryReport report = patch.recovered();

    CHECK(report.files[0].outcome == Recovery::left_alone);
    CHECK(report.files[0].kept == patch.staged(0));
    CHECK(patch.directory.read("a") == "mine\n");
    Tree tree = tree_of(patch.directory);
    CHECK(tree.erase(patch.staged(0).substr(patch.directory.path().size() + 1)) == 1);
    CHECK(tree == Tree{{"a", "mine\n"}, {"m", "1\n"}, {"sub/gone", "g\n"}});
}

TEST_CASE("what somebody has changed before its turn leaves nothing behind") {
    const Interrupted patch;
    for (std::size_t i = 0; i < 8; ++i)
        patch.actions()[i]();
    patch.put(patch.target(0), "mine\n");

    const RecoveryReport report = patch.recovered();

    CHECK(report.files[0].outcome == Recovery::left_alone);
    CHECK(report.files[0].kept.empty());
    CHECK(tree_of(patch.directory) == Tree{{"a", "mine\n"}, {"m", "1\n"}, {"sub/gone", "g\n"}});
}

TEST_CASE("a removed file that somebody has made again stays") {
    const Interrupted patch;
    patch.exchange_all();
    patch.put(patch.target(4), "mine\n");

    const RecoveryReport report = patch.recovered();

    CHECK(report.files[4].outcome == Recovery::left_alone);
    CHECK(report.files[4].kept == patch.staged(4));
    CHECK(patch.directory.read("sub/gone") == "mine\n");
    CHECK(patch.directory.read("a") == "1\n");
}

TEST_CASE("a change behind the first old content that was let go is no reason to go back") {
    const Interrupted patch;
    patch.exchange_all();
    patch.let_go(0);
    patch.put(patch.target(1), "mine\n");

    (void)patch.recovered();

    CHECK(tree_of(patch.directory) ==
          Tree{{"a", "2\n"}, {"d/e/new", "mine\n"}, {"d/moved", "2\n"}});
}

TEST_CASE("a directory that became a link is not followed") {
    const Interrupted patch;
    patch.exchange_all();
    const TempDirectory elsewhere;
    fs::rename(patch.directory.path("sub"), elsewhere.path("sub"));
    fs::create_directory_symlink(elsewhere.path("sub"), patch.directory.path("sub"));
    const Tree before = tree_of(elsewhere);

    const RecoveryReport report = patch.recovered();

    CHECK(report.files[4].outcome == Recovery::left_alone);
    CHECK(tree_of(elsewhere) == before);
}

TEST_CASE("where names cannot be exchanged, a patch is applied all the same") {
    const TempDirectory directory;
    write_old(directory);
    CHECK(status_in_child(no_flags, [&] { return applied(directory, changes).empty(); }) == 0);
    CHECK(tree_of(directory) == new_tree);
}

TEST_CASE("where names cannot be exchanged, an error undoes everything") {
    const TempDirectory directory;
    write_old(directory);
    directory.write("locked/x", "1\n");
    Tree before = old_tree;
    before["locked/x"] = "1\n";
    const NotRoot not_root(directory);
    fs::permissions(directory.path("locked"), fs::perms(0500));
    const int status = status_in_child(no_flags, [&] {
        return applied(directory, std::string(changes) + "*** Delete File: locked/x\n") ==
               "locked/x: Permission denied";
    });
    fs::permissions(directory.path("locked"), fs::perms(0700));
    CHECK(status == 0);
    CHECK(tree_of(directory) == before);
}

TEST_CASE("where names cannot be exchanged, each point in between is undone or finished") {
    const Interrupted linked;
    linked.exchange_all();
    fs::rename(linked.staged(0), linked.old(0));
    CHECK(status_in_child(no_flags, [&] {
              (void)linked.recovered();
              return tree_of(linked.directory) == new_tree;
          }) == 0);

    const Interrupted back;
    back.exchange_all();
    fs::rename(back.staged(0), back.old(0));
    fs::create_hard_link(back.staged(4), back.target(4)); // between its two names
    CHECK(status_in_child(no_flags, [&] {
              (void)back.recovered();
              return tree_of(back.directory) == old_tree;
          }) == 0);

    const Interrupted begun;
    begun.stage(0);
    fs::create_hard_link(begun.target(0), begun.old(0));
    CHECK(status_in_child(no_flags, [&] {
              (void)begun.recovered();
              return tree_of(begun.directory) == old_tree;
          }) == 0);
}

TEST_CASE("whatever step fails, everything is as it was") {
    const std::vector<Failing> all = {
        {SYS_mkdirat, ENOSPC, {}},
        {SYS_fdatasync, EIO, {}},
        {SYS_renameat2, EPERM, RENAME_EXCHANGE},
        {SYS_renameat2, EIO, RENAME_NOREPLACE},
        {SYS_openat2, EMFILE, {}},
    };
    for (const Failing& failing : all) {
        CAPTURE(failing.call);
        const TempDirectory directory;
        write_old(directory);
        CHECK(status_in_child(failing, [&] { return !applied(directory, changes).empty(); }) == 0);
        CHECK(tree_of(directory) == old_tree);
        CHECK_FALSE(fs::exists(directory.path("d")));
    }
}

TEST_CASE("what could not be removed at the end is told, and removed from the journal later") {
    const TempDirectory directory;
    write_old(directory);
    PatchReport report;
    REQUIRE(checked(directory, changes, report) == "");
    const Journal journal = journal_of(report, new_token());
    const Failing failing = {SYS_unlinkat, EIO, {}};
    CHECK(status_in_child(failing, [&] {
              const Failure failure =
                  apply_patch(order_in(directory, changes), {journal.token, report.digest}, report);
              return failure && failure->trouble == Trouble::not_undone;
          }) == 0);
    CHECK(tree_of(directory) != new_tree);

    RecoveryReport recovered;
    CHECK_FALSE(recover_patch(encode(journal), recovered));

    CHECK(tree_of(directory) == new_tree);
}

TEST_CASE("a journal is there as long as it is held, and recovered when it is not") {
    const Interrupted patch;
    const TempDirectory state;
    const std::string path = state.path("s/patches/" + patch.journal.token);
    patch.exchange_all();
    patch.put(patch.target(0), "1\n"); // so that it is undone
    fs::remove(patch.staged(0));
    {
        Result<HeldJournal> held = HeldJournal::write(state.path("s"), patch.journal);
        REQUIRE(held);
        CHECK(held->text() == encode(patch.journal));
        CHECK((status_of(path).st_mode & 07777) == 0600);
        CHECK(HeldJournal::left_over(state.path("s")).empty());
    }
    CHECK(fs::exists(path));

    const std::vector<LeftOver> all = recover_left_over(state.path("s"));

    REQUIRE(all.size() == 1);
    CHECK(all[0].journal == path);
    CHECK_FALSE(all[0].failure.has_value());
    CHECK(tree_of(patch.directory) == old_tree);
    CHECK(fs::is_empty(state.path("s/patches")));
}

TEST_CASE("a journal that was not all written goes, one that cannot be read stays") {
    const TempDirectory state;
    const std::string token(32, 'a');
    state.write("patches/" + token + ".new", "execward patch jour");
    state.write("patches/" + token, "another version");
    state.write("patches/note", "somebody's");

    const std::vector<LeftOver> all = recover_left_over(state.path());

    REQUIRE(all.size() == 1);
    CHECK(all[0].failure.has_value());
    CHECK(tree_of(state) == Tree{{"patches/" + token, "another version"},
                                 {"patches/note", "somebody's"},
                                 {"patches.lock", ""}});
}

TEST_CASE("one patch at a time is applied, and the next one waits for its end") {
    const TempDirectory state;
    Journal journal;
    journal.token = new_token();
    Result<HeldJournal> first = HeldJournal::write(state.path(), journal);
    REQUIRE(first);
    std::atomic<bool> has_ended = false;
    std::atomic<bool> is_over = false;
    std::thread other([&] {
        Journal second;
        second.token = new_token();
        Result<HeldJournal> held = HeldJournal::write(state.path(), second);
        // On a busy machine the end may be further away than a patch waits for.
        for (int tries = 1; tries < 12 && !held; ++tries)
            held = HeldJournal::write(state.path(), second);
        CHECK(held);
        CHECK(has_ended);
        if (held) held->remove();
        is_over = true;
    });
    while (!is_over && std::distance(fs::directory_iterator(state.path("patches")), {}) < 2)
        std::this_thread::yield(); // until it has begun
    has_ended = true;
    first->remove();
    first = Error{};
    other.join();
    CHECK(fs::is_empty(state.path("patches")));
}

TEST_CASE("a file that another made with the same content is not taken for our own") {
    const Interrupted patch;
    const auto all = patch.actions();
    for (std::size_t i = 0; i < patch.journal.directories.size() + 9; ++i)
        all[i](); // all is staged
    std::size_t made = 0;
    while (patch.journal.steps[made].kind != StepKind::make)
        ++made;
    patch.put(patch.target(made), patch.texts[made]);
    (void)patch.recovered();
    CHECK(fs::exists(patch.target(made)));
    CHECK_FALSE(fs::exists(patch.staged(made)));
}

TEST_SUITE_END();
