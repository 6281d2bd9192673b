#include "core/text/display.h"
#include "os/proc.h"
#include "sandbox/launch/system_calls.h"
#include "sandbox/supervise/file_changes.h"
#include "sandbox/supervise/supervision.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/sandbox/supervise/confined_child.h"

#include <sys/stat.h>

#include <string>

namespace {

using namespace ew;
using namespace ew::test;
using sandbox::Access;
using sandbox::Denial;
using sandbox::DenialKind;
using sandbox::DenialLog;
using sandbox::Entry;
using sandbox::FilePlaces;
using sandbox::FileVerdict;
using sandbox::judge_file_change;
using sandbox::Special;
using sandbox::SupervisorSettings;

const std::vector<int> notified = {
    SYS_openat,  SYS_truncate, SYS_unlinkat,  SYS_renameat, SYS_renameat2,
    SYS_mkdirat, SYS_linkat,   SYS_symlinkat, SYS_fchmodat, SYS_mknodat,
#if defined(__x86_64__)
    SYS_open,    SYS_creat,    SYS_unlink,    SYS_rename,   SYS_mkdir,
    SYS_rmdir,   SYS_link,     SYS_symlink,   SYS_chmod,    SYS_mknod,
#endif
};

bool prepared() {
    return true;
}

SupervisorSettings writable_below(const std::string& root) {
    SupervisorSettings settings;
    settings.writable = {root};
    settings.read_only = {root + "/.git/hooks"};
    return settings;
}

std::string told(ConfinedChild& child) {
    std::string text;
    for (const Denial& denial : child.supervisor().denials().kept())
        text += denial.operation + " " + denial.target + "\n";
    return text;
}

Entry entry(Special special, Access access, std::string path = {}) {
    Entry made;
    made.kind = Entry::Kind::special;
    made.special = special;
    made.access = access;
    made.path = std::move(path);
    return made;
}

Entry entry(std::string path, Access access) {
    Entry made;
    made.path = std::move(path);
    made.access = access;
    return made;
}

FileVerdict verdict(const SupervisorSettings& settings, std::string_view path) {
    return judge_file_change({settings.writable, settings.read_only, settings.own}, "open", path);
}

} // namespace

TEST_CASE("a change of a file outside of what may be written is told, and goes its way") {
    const TempDirectory inside;
    TempDirectory outside;
    const std::string file = outside.path("file");
    ConfinedChild child(
        writable_below(inside.path("root")),
        [&] {
            const UniqueFd made(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
            return std::string(made ? "made" : "refused");
        },
        prepared, notified);
    REQUIRE(child.is_running());

    CHECK(child.result() == "made"); // only the supervisor is in force here

    REQUIRE(child.supervisor().denials().kept().size() == 1);
    const Denial& denial = child.supervisor().denials().kept().front();
    CHECK(denial.kind == DenialKind::file);
    CHECK(denial.operation == "open");
    CHECK(denial.target == file);
    CHECK(denial.pid == child.pid());
    CHECK(denial.program == *os::real_path("/proc/self/exe"));
    CHECK(denial.rule == "file system: read-only here");
    const std::string directory = file.substr(0, file.rfind('/'));
    CHECK(denial.allow == "writableRoots = [\"" + directory + "\"] (--writable " + directory + ")");
}

TEST_CASE("what would allow a change is quoted, and left out where it does not show itself") {
    const TempDirectory inside;
    ConfinedChild child(
        writable_below(inside.path("root")),
        [] {
            for (const char* path : {"/no/$(touch x);\"\\'/f", "/no/a\nb/f", "/no/\x1b[2J/f"})
                (void)::open(path, O_WRONLY | O_CLOEXEC);
            return std::string();
        },
        prepared, notified);
    REQUIRE(child.is_running());

    CHECK(child.result().empty());

    const auto& denials = child.supervisor().denials().kept();
    REQUIRE(denials.size() == 3);
    CHECK(denials[0].allow == "writableRoots = [\"/no/$(touch x);\\\"\\\\'\"] (--writable " +
                                  core::shell_quoted({"/no/$(touch x);\"\\'"}) + ")");
    CHECK(denials[1].allow.empty());
    CHECK(denials[2].allow.empty());
}

TEST_CASE("each family of calls is told by its name and by what it changes") {
    const TempDirectory directory;
    const std::string root = directory.path("root");
    const std::string out = directory.path("out");
    directory.make("out");
    ConfinedChild child(
        writable_below(root),
        [&] {
            (void)!::truncate((out + "/t").c_str(), 0);
            (void)::unlink((out + "/u").c_str());
            (void)::rmdir((out + "/d").c_str());
            (void)::rename((root + "/here").c_str(), (out + "/there").c_str());
            (void)::mkdir((out + "/m").c_str(), 0700);
            (void)::link((out + "/old").c_str(), (root + "/new").c_str());
            (void)!::symlink("/anywhere", (out + "/s").c_str());
            (void)::chmod((out + "/c").c_str(), 0600);
            (void)::mkfifo((out + "/f").c_str(), 0600);
            return std::string("tried");
        },
        prepared, notified);
    REQUIRE(child.is_running());

    CHECK(child.result() == "tried");
    CHECK(told(child) == "truncate " + out + "/t\nunlink " + out + "/u\nunlink " + out +
                             "/d\nrename " + out + "/there\nmkdir " + out + "/m\nlink " + out +
                             "/s\nchmod " + out + "/c\nopen " + out + "/f\n");
}

TEST_CASE("what lies in a writable place is not told, however it is named") {
    TempDirectory directory;
    const std::string root = directory.make("root");
    directory.make("root/sub");
    ConfinedChild child(
        writable_below(root),
        [&] {
            (void)::chdir((root + "/sub").c_str());
            const UniqueFd above(::open("..", O_PATH | O_DIRECTORY | O_CLOEXEC));
            const UniqueFd here(::open("./x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
            const UniqueFd there(::openat(above.get(), "y", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
            (void)::mkdir("../z", 0700);
            return std::string(here && there ? "made" : "not made");
        },
        prepared, notified);
    REQUIRE(child.is_running());

    CHECK(child.result() == "made");
    CHECK(told(child).empty());
}

TEST_CASE("relative paths are told as absolute ones") {
    TempDirectory directory;
    const std::string root = directory.make("root");
    directory.make("root/.git");
    directory.make("root/.git/hooks");
    ConfinedChild child(
        writable_below(root),
        [&] {
            (void)::chdir(root.c_str());
            (void)::unlink("../a//b/./c");
            const UniqueFd git(::open(".git", O_PATH | O_DIRECTORY | O_CLOEXEC));
            (void)::unlinkat(git.get(), "hooks/pre-commit", 0);
            return std::string("tried");
        },
        prepared, notified);
    REQUIRE(child.is_running());

    CHECK(child.result() == "tried");
    CHECK(told(child) ==
          "unlink " + directory.path("a/b/c") + "\nunlink " + root + "/.git/hooks/pre-commit\n");
    CHECK(!child.supervisor().denials().kept().front().allow.empty());
    CHECK(child.supervisor().denials().kept().back().allow.empty()); // no root would allow that
}

TEST_CASE("paths that cannot be read, or are none, are not told") {
    ConfinedChild child(
        writable_below("/nowhere"),
        [] {
            const std::string endless(PATH_MAX, 'x');
            std::string said;
            for (const char* const path :
                 {static_cast<const char*>(nullptr), reinterpret_cast<const char*>(-4096L), "",
                  endless.c_str()})
                said += in_words(::syscall(SYS_unlinkat, AT_FDCWD, path, 0) == 0 ? 0 : errno) + " ";
            return said + in_words(::syscall(SYS_unlinkat, 999, "x", 0) == 0 ? 0 : errno);
        },
        prepared, notified);
    REQUIRE(child.is_running());

    CHECK(child.result() == "EFAULT EFAULT ENOENT ENAMETOOLONG EBADF");
    CHECK(told(child).empty());
}

TEST_CASE("many refused changes are counted, and only some kept") {
    ConfinedChild child(
        writable_below("/nowhere"),
        [] {
            for (int i = 0; i < 500; ++i)
                (void)::unlink(("/not/there/" + std::to_string(i)).c_str());
            return std::string("tried");
        },
        prepared, notified);
    REQUIRE(child.is_running());

    CHECK(child.result() == "tried");
    CHECK(child.supervisor().denials().kept().size() == DenialLog::most_kept);
    CHECK(child.supervisor().denials().total() == 500);
}

TEST_CASE("the longest of the places around a path decides") {
    const FilePlaces places = {{"/w", "/w/closed/open", "/same"}, {"/", "/w/closed", "/same"}, {}};

    CHECK(judge_file_change(places, "open", "/w/x") == FileVerdict::allowed);
    CHECK(judge_file_change(places, "open", "/w/closed/x") == FileVerdict::closed);
    CHECK(judge_file_change(places, "open", "/w/closed/open/x") == FileVerdict::allowed);
    CHECK(judge_file_change(places, "open", "/same/x") == FileVerdict::allowed);
    CHECK(judge_file_change(places, "open", "/wide") == FileVerdict::outside);
    CHECK(judge_file_change({}, "open", "/x") == FileVerdict::outside);
}

TEST_CASE("directories above a writable root are made sure of without a word") {
    const FilePlaces places = {{"/home/user/work"}, {}, {}};

    for (const std::string_view path : {"/", "/home", "/home/user", "/home/user/work"})
        CHECK(judge_file_change(places, "mkdir", path) == FileVerdict::allowed);
    CHECK(judge_file_change(places, "mkdir", "/home/other") == FileVerdict::outside);
    CHECK(judge_file_change(places, "unlink", "/home/user") == FileVerdict::outside);
}

TEST_CASE("devices and the entries of processes are not told of") {
    for (const std::string_view path : {"/dev/null", "/dev/shm/x", "/proc/self/oom_score_adj",
                                        "/proc/thread-self/comm", "/proc/12/oom_score_adj"})
        CHECK(judge_file_change({}, "open", path) == FileVerdict::allowed);
    CHECK(judge_file_change({}, "open", "/proc/sys/kernel/panic") == FileVerdict::outside);
    CHECK(judge_file_change({}, "open", "/device") == FileVerdict::outside);
}

TEST_CASE("all calls that the filter can ask about are known") {
    for (const int call : notified)
        CHECK(sandbox::is_file_change(call));
    CHECK(sandbox::is_file_change(sandbox::calls::fchmodat2.number(sandbox::own_architecture)));
    CHECK(!sandbox::is_file_change(SYS_connect));
    CHECK(!sandbox::is_file_change(sandbox::no_number));
}

TEST_CASE("supervision knows a policy's places by their names") {
    sandbox::Policy policy;
    policy.has_private_tmp = true;
    policy.entries = {entry(Special::root, Access::read), entry(Special::workspace, Access::write),
                      entry(Special::workspace, Access::read, "vendor"),
                      entry("/cache/", Access::write), entry("/cache/keys", Access::deny)};
    sandbox::Context context;
    context.cwd = "/work/project";
    sandbox::Machine machine;
    machine.has_mounts = true;

    const SupervisorSettings settings = sandbox::supervision_of(policy, context, machine);

    CHECK(settings.is_network_off);
    CHECK(!settings.has_own_network);
    CHECK(settings.has_mounts);
    CHECK(settings.shared_tmp.empty());
    for (const std::string_view path :
         {"/work/project/x", "/work/project/.git/index", "/cache/x", "/tmp/x", "/run/user/0/x"})
        CHECK(verdict(settings, path) == FileVerdict::allowed);
    for (const std::string_view path :
         {"/work/project/vendor/x", "/work/project/.git/hooks/x", "/work/project/.git/config",
          "/work/project/.codex/x", "/cache/keys/x"})
        CHECK(verdict(settings, path) == FileVerdict::closed);
    for (const std::string_view path : {"/work/other", "/etc/passwd", "/var/tmp/x"})
        CHECK(verdict(settings, path) == FileVerdict::outside);
}

TEST_CASE("supervision knows where temporary files are shared with the machine") {
    sandbox::Policy policy;
    policy.entries = {entry(Special::root, Access::write), entry(Special::slash_tmp, Access::write),
                      entry(Special::tmpdir, Access::write)};
    sandbox::Context context;
    context.cwd = "/work";
    context.workspace_roots = {"/work"};
    context.tmpdir = "/scratch";

    const SupervisorSettings settings = sandbox::supervision_of(policy, context, {});

    CHECK(settings.shared_tmp == std::vector<std::string>{"/tmp", "/scratch"});
    CHECK(!settings.has_mounts);
    CHECK(verdict(settings, "/etc/passwd") == FileVerdict::allowed);
    CHECK(verdict(settings, "/tmp/.git/hooks/x") == FileVerdict::allowed);
    CHECK(verdict(settings, "/work/.git/hooks/x") == FileVerdict::closed);
}
