#include "base/unique_fd.h"
#include "sandbox/launch/placeholders.h"
#include "sandbox/plan/bubblewrap_arguments.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/resolved_path.h"
#include "sandbox/plan/search_order.h"
#include "sandbox/walk/walk_order.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

using namespace ew;
using namespace ew::sandbox;

namespace {

using Kind = Mount::Kind;

Entry at(std::string path, Access access) {
    Entry entry;
    entry.path = std::move(path);
    entry.access = access;
    return entry;
}

Entry glob(std::string pattern) {
    Entry entry = at(std::move(pattern), Access::deny);
    entry.kind = Entry::Kind::glob;
    return entry;
}

Entry special(Special place, Access access, std::string below = "") {
    Entry entry = at(std::move(below), access);
    entry.kind = Entry::Kind::special;
    entry.special = place;
    return entry;
}

// Everything is readable, and the root of the workspace is writable.
Policy workspace(std::vector<Entry> more = {}) {
    Policy policy;
    policy.entries = std::move(more);
    policy.entries.push_back(special(Special::root, Access::read));
    policy.entries.push_back(special(Special::project_roots, Access::write));
    return policy;
}

Context in(const std::string& root) {
    Context context;
    context.cwd = root;
    context.workspace_roots = {root};
    return context;
}

Plan planned(const Policy& policy, const Context& context) {
    Result<Plan> plan = make_plan(policy, context);
    REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().message));
    return std::move(*plan);
}

// Without the /run/user that every command gets on machines that have one.
std::vector<std::string> writable_below(const test::Tree& tree, const Plan& plan) {
    std::vector<std::string> paths = plan.writable;
    std::erase_if(paths,
                  [&](const std::string& path) { return !is_at_or_below(path, tree.root()); });
    return paths;
}

std::vector<std::string> mounts_below(const test::Tree& tree, const Plan& plan) {
    std::vector<std::string> paths;
    for (const Mount& mount : plan.mounts)
        if (is_at_or_below(mount.path, tree.root())) paths.push_back(mount.path);
    return paths;
}

bool has(const Plan& plan, Kind kind, const std::string& path) {
    return std::ranges::any_of(
        plan.mounts, [&](const Mount& mount) { return mount.kind == kind && mount.path == path; });
}

bool mentions(const Plan& plan, const std::string& path) {
    return std::ranges::any_of(plan.mounts, [&](const Mount& mount) { return mount.path == path; });
}

bool holds(const Plan& plan, const std::string& path) {
    return std::ranges::find(plan.placeholders, path) != plan.placeholders.end() ||
           std::ranges::any_of(plan.placeholder_files,
                               [&](const PlaceholderFile& file) { return file.path == path; });
}

bool tells(const Plan& plan, const std::string& words) {
    return std::ranges::any_of(plan.notes, [&words](const std::string& note) {
        return note.find(words) != std::string::npos;
    });
}

Placeholder kept(Result<Placeholder> place) {
    REQUIRE_MESSAGE(place, (place ? "" : place.error().message));
    return std::move(*place);
}

std::vector<Placeholder> held(const Plan& plan, const std::string& journal) {
    std::vector<Placeholder> places;
    for (const std::string& path : plan.placeholders)
        places.push_back(kept(hold(path, journal)));
    for (const PlaceholderFile& file : plan.placeholder_files)
        places.push_back(kept(hold_file(file.path, file.content, journal)));
    return places;
}

// Returns the output of a program, on either stream.
std::string output_of(std::vector<std::string> words) {
    std::vector<char*> argv(words.size() + 1);
    std::ranges::transform(words, argv.begin(), [](std::string& word) { return word.data(); });
    std::array<int, 2> pipe = {};
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(pipe[1], 1);
        ::dup2(pipe[1], 2);
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    ::close(pipe[1]);
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t count; (count = ::read(pipe[0], buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(count));
    ::close(pipe[0]);
    (void)::waitpid(child, nullptr, 0);
    return text;
}

// Returns the output of a script in a sandbox of that plan; only the mounts are in force.
std::string output_of(const Plan& plan, const Context& context, const std::string& script) {
    const test::Tree state;
    std::vector<Placeholder> places = held(plan, state.at("journal"));
    Machine machine;
    machine.init = "/usr/bin/env";
    machine.has_proc = true;
    machine.is_root = ::geteuid() == 0;
    std::vector<std::string> words = bubblewrap_arguments(plan, machine);
    words.insert(words.begin(), "bwrap");
    const std::array<std::string, 7> command = {
        "--chdir", context.cwd, "--", std::string(init_path), "sh", "-c", script};
    words.insert(words.end(), command.begin(), command.end());
    std::string text = output_of(std::move(words));
    for (Placeholder& place : places)
        release(std::move(place), state.at("journal"));
    return text;
}

std::string output_of(const Policy& policy, const Context& context, const std::string& script) {
    return output_of(planned(policy, context), context, script);
}

// Can this machine make sandboxes with mounts?
bool has_mounts() {
    const test::Tree tree;
    if (output_of(planned(workspace(), in(tree.root())), in(tree.root()), "echo yes") == "yes\n")
        return true;
    MESSAGE("no sandboxes with mounts on this machine: not tried");
    return false;
}

// Returns "yes" or "no" for each command, in order.
std::string tried(const std::vector<std::string>& commands) {
    std::string script;
    for (const std::string& command : commands)
        script +=
            "if (" + command + ") >/dev/null 2>&1; then printf 'yes '; else printf 'no '; fi\n";
    return script;
}

} // namespace

TEST_CASE("the workspace is writable, and nothing else") {
    const test::Tree tree;
    tree.directory("outside");
    const Context context = in(tree.directory("root"));
    if (!has_mounts()) return;

    const std::string answers =
        output_of(workspace(), context,
                  tried({"touch made", "touch ../outside/made", "chmod 700 ../outside",
                         "mv ../root ../moved", "touch /var/tmp/execward-made"}));

    CHECK(answers == "yes no no no no ");
    CHECK(tree.has("root/made"));
}

TEST_CASE("the machine's /dev and /proc take no place in a sandbox in which all is writable") {
    const std::string hidden = fmt::format("/dev/shm/execward-test-{}", ::getpid());
    REQUIRE(::mkdir(hidden.c_str(), 0700) == 0);
    Policy policy = workspace({at(hidden, Access::deny), at("/proc/self", Access::write)});

    Result<Plan> plan = make_plan(policy, in("/"));

    REQUIRE(::rmdir(hidden.c_str()) == 0);
    REQUIRE(plan);
    for (const Mount& mount : plan->mounts) {
        CAPTURE(mount.path);
        CHECK(mount.path != "/dev");
        CHECK_FALSE(mount.path.starts_with("/proc"));
    }
    policy.protects_metadata = true;
    SearchOrder order(policy);
    order.add_rules({});
    for (const char* const place : {"/dev", "/proc", "/sys"})
        CHECK(std::ranges::find(order.walk().closed, place) != order.walk().closed.end());
}

TEST_CASE("mounts come depth first, parents before children") {
    const test::Tree tree;
    tree.directory("r/a-b");
    tree.directory("r/a/b");
    const Policy policy =
        workspace({at(tree.at("r/a-b"), Access::read), at(tree.at("r/a"), Access::read),
                   at(tree.at("r/a/b"), Access::write)});

    const Plan plan = planned(policy, in(tree.at("r")));

    std::vector<std::string> paths = mounts_below(tree, plan);
    std::erase_if(paths, [](const std::string& path) { return path.find("/.") != path.npos; });
    CHECK(paths == std::vector{tree.at("r"), tree.at("r/a"), tree.at("r/a/b"), tree.at("r/a-b")});
    CHECK(writable_below(tree, plan) == std::vector{tree.at("r"), tree.at("r/a/b")});
}

TEST_CASE("of two entries for a path deny is stronger than write, and write than read") {
    const test::Tree tree;
    tree.directory("r/x");
    tree.directory("r/y");
    const Policy policy =
        workspace({at(tree.at("r/x"), Access::write), at(tree.at("r/x"), Access::deny),
                   at(tree.at("r/y"), Access::read), at(tree.at("r/y"), Access::write)});

    const Plan plan = planned(policy, in(tree.at("r")));

    CHECK(has(plan, Kind::hidden, tree.at("r/x")));
    CHECK_FALSE(has(plan, Kind::read_only, tree.at("r/y")));
}

TEST_CASE("denied files and directories cannot be read, moved or replaced") {
    const test::Tree tree;
    tree.file("r/conf/secret", "s");
    tree.file("r/keys/k", "s");
    const Context context = in(tree.at("r"));
    if (!has_mounts()) return;

    const std::string answers =
        output_of(workspace({at(tree.at("r/conf/secret"), Access::deny),
                             at(tree.at("r/keys"), Access::deny)}),
                  context,
                  tried({"cat conf/secret", "ls keys", "cat keys/k", "mv conf c2", "rm conf/secret",
                         "mv keys k2", "chmod 755 keys", "touch conf/new"}));

    CHECK(answers == "no no no no no no no yes ");
    CHECK(tree.content("r/conf/secret") == "s");
}

TEST_CASE("what is denied through a link is denied where it really is") {
    const test::Tree tree;
    tree.file("r/real/secret", "s");
    tree.link("r/link", "real");
    const Context context = in(tree.at("r"));
    if (!has_mounts()) return;

    const std::string answers = output_of(workspace({at(tree.at("r/link/secret"), Access::deny)}),
                                          context, tried({"cat link/secret", "cat real/secret"}));

    CHECK(answers == "no no ");
}

TEST_CASE("an entry inside a denied tree opens it again there, and only there") {
    const test::Tree tree;
    tree.file("r/d/secret", "s");
    tree.file("r/d/open/x", "x");
    tree.file("r/d/work/y", "y");
    const Context context = in(tree.at("r"));
    const Policy policy =
        workspace({at(tree.at("r/d"), Access::deny), at(tree.at("r/d/open"), Access::read),
                   at(tree.at("r/d/work"), Access::write)});
    if (!has_mounts()) return;

    const std::string answers =
        output_of(policy, context,
                  tried({"cat d/open/x", "touch d/open/new", "touch d/work/new", "ls d",
                         "cat d/secret", "touch d/new", "mkdir d/dir"}));

    CHECK(answers == "yes no yes no no no no ");
}

TEST_CASE("a denied path that is missing cannot be made where it could be, and leaves no trace") {
    const test::Tree tree;
    const Context context = in(tree.directory("r"));
    const Policy policy =
        workspace({at(tree.at("r/a/b/secret"), Access::deny), at("/proc-not/there", Access::deny),
                   at("/etc/execward-missing/x", Access::deny)});
    if (!has_mounts()) return;

    const std::string answers =
        output_of(policy, context,
                  tried({"mkdir -p a/b/secret/x", "ls a/b/secret", "mv a a2", "mv a/b a/b2"}));

    CHECK(answers == "no no no no ");
    CHECK_FALSE(tree.has("r/a"));
}

TEST_CASE("a deny that cannot be kept is an error that names it, or a loss that is told") {
    if (::geteuid() == 0) {
        MESSAGE("root may write everywhere: not tried");
        return;
    }
    const test::Tree tree;
    tree.directory("r/closed");
    std::filesystem::permissions(tree.at("r/closed"), std::filesystem::perms(0555));
    Policy policy = workspace({at(tree.at("r/closed/secret"), Access::deny)});

    Result<Plan> refused = make_plan(policy, in(tree.at("r")));
    policy.enforcement = Enforcement::best_effort;
    const Plan plan = planned(policy, in(tree.at("r")));

    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("closed/secret") != std::string::npos);
    CHECK(plan.missing.has(Guarantee::deny_read));
    CHECK_FALSE(plan.notes.empty());
}

TEST_CASE("patterns hide what matches, and a whole tree is hidden by its root") {
    const test::Tree tree;
    tree.file("r/a/.env", "s");
    tree.file("r/b/key.pem", "s");
    tree.file("gnupg/k", "s");
    const Context context = in(tree.at("r"));
    const Policy policy =
        workspace({glob("**/.env"), glob(tree.at("r/*/*.{pem,key}")), glob(tree.at("gnupg/**"))});
    if (!has_mounts()) return;

    CHECK(has(planned(policy, context), Kind::hidden, tree.at("gnupg")));
    CHECK(output_of(policy, context,
                    tried({"cat a/.env", "cat b/key.pem", "cat ../gnupg/k", "ls a"})) ==
          "no no no yes ");
}

TEST_CASE("a pattern with too many matches is refused by name, or told as a loss") {
    const test::Tree tree;
    tree.directory("r");
    for (std::size_t i = 0; i <= most_matches; ++i)
        tree.file("r/" + std::to_string(i) + ".env");
    Policy policy = workspace({glob("*.env")});

    Result<Plan> refused = make_plan(policy, in(tree.at("r")));
    policy.enforcement = Enforcement::best_effort;

    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::sandbox_unavailable);
    CHECK(refused.error().message.find("*.env") != std::string::npos);
    CHECK(planned(policy, in(tree.at("r"))).missing.has(Guarantee::deny_read));
}

TEST_CASE("without a readable root only what is listed is there, under all its names") {
    const test::Tree tree;
    tree.file("r/x", "x");
    tree.link("name", "r");
    Policy policy;
    policy.entries = {special(Special::minimal, Access::read), at(tree.at("name"), Access::read)};
    const Context context = in(tree.at("name"));
    if (!has_mounts()) return;

    const std::string answers =
        output_of(policy, context,
                  tried({"cat x", "ls /var/log", "ls /root", "ls /home", "touch /new", "touch x",
                         "test -L /bin -o -d /bin", "cat /etc/passwd"}));

    CHECK(answers == "yes no no no no no yes yes ");
}

TEST_CASE("a private /tmp is empty but for the workspace and what is named, and is writable") {
    const test::Tree tree("/tmp");
    tree.file("root/x", "x");
    tree.file("named/y", "y");
    tree.file("other", "o");
    const Context context = in(tree.at("root"));
    Policy policy = workspace({at(tree.at("named"), Access::read)});
    policy.has_private_tmp = true;
    if (!has_mounts()) return;

    const std::string answers =
        output_of(policy, context,
                  tried({"cat x", "touch made", "cat ../named/y", "touch ../named/new",
                         "cat ../other", "touch /tmp/execward-private", "mktemp"}));

    CHECK(answers == "yes yes yes no no yes yes ");
    CHECK(tree.has("root/made"));
    CHECK_FALSE(std::filesystem::exists("/tmp/execward-private"));
}

TEST_CASE("a read-only command in /tmp sees its directory, and cannot write it") {
    const test::Tree tree("/tmp");
    tree.file("root/x", "x");
    const Context context = in(tree.at("root"));
    const Policy policy = policy_of(core::SandboxMode::read_only, {});
    if (!has_mounts()) return;

    CHECK(output_of(policy, context, tried({"cat x", "touch made", "touch /tmp/made"})) ==
          "yes no yes ");
}

TEST_CASE("execward's own directories are out of reach, whatever the policy says") {
    const test::Tree tree;
    tree.file("r/.config/execward/rules", "x");
    Context context = in(tree.at("r"));
    context.hidden = {tree.at("r/.config/execward"), tree.at("r/.local/state/execward")};
    const Policy policy = workspace({at(tree.at("r/.config/execward/rules"), Access::write),
                                     at(tree.at("r/.local/state/execward"), Access::write)});
    if (!has_mounts()) return;

    const std::string answers = output_of(
        policy, context,
        tried({"cat .config/execward/rules", "echo > .config/execward/rules", "mv .config c2",
               "mkdir .local/state/execward/x", "mv .local l2", "touch .config/mine"}));

    CHECK(answers == "no no no no no yes ");
    CHECK(tree.content("r/.config/execward/rules") == "x");
    CHECK_FALSE(tree.has("r/.local"));
}

TEST_CASE("nothing runs in execward's own directories, nor where there is no directory") {
    const test::Tree tree;
    Context inside = in(tree.directory("state/work"));
    inside.hidden = {tree.at("state")};

    CHECK_FALSE(make_plan(workspace(), inside));
    CHECK_FALSE(make_plan(workspace(), in(tree.at("gone"))));
    CHECK_FALSE(make_plan(workspace(), in(tree.file("file"))));
}

TEST_CASE("git works in the workspace, and what it executes stays as it is") {
    const test::Tree tree;
    tree.directory("r");
    const Context context = in(tree.at("r"));
    const std::string setup = "cd '" + tree.at("r") +
                              "' && git init -q . && git init -q sub/nested && "
                              "rm -rf sub/nested/.git/hooks";
    const std::string commit = "git -c user.name=a -c user.email=a@b.invalid commit -qm m";
    if (!has_mounts()) return;
    if (std::system(setup.c_str()) != 0) {
        MESSAGE("no git: not tried");
        return;
    }

    const std::string answers =
        output_of(workspace(), context,
                  tried({"echo a >a && git add a && " + commit,
                         "test -z \"$(git status --short -- a .git .agents .codex)\"",
                         "touch .git/hooks/pre-commit", "git config core.fsmonitor ./evil",
                         "echo >>.git/config", "mv .git g2", "echo ../x >.git/commondir",
                         "rm .git/commondir && echo ../x >.git/commondir", "mkdir .agents/x",
                         "touch sub/nested/.git/hooks/x", "mv sub s2", "mv sub/nested n2",
                         "cd sub/nested && " + commit + " --allow-empty",
                         "git init -q new && touch new/.git/hooks/x"}));

    CHECK(answers == "yes yes no no no no no no no no no no yes yes ");
    CHECK_FALSE(tree.has("r/.git/commondir"));
    CHECK_FALSE(tree.has("r/.agents"));
    CHECK_FALSE(tree.has("r/sub/nested/.git/hooks"));
}

TEST_CASE(
    "a missing .git cannot be made at the top of a workspace, unless that is in a repository") {
    const test::Tree tree;
    tree.directory("fresh");
    tree.git("repository/.git");
    tree.directory("repository/sub");

    const Plan fresh = planned(workspace(), in(tree.at("fresh")));
    const Plan sub = planned(workspace(), in(tree.at("repository/sub")));

    CHECK(holds(fresh, tree.at("fresh/.git")));
    CHECK(holds(fresh, tree.at("fresh/.agents")));
    CHECK(has(fresh, Kind::read_only, tree.at("fresh/.git")));
    CHECK_FALSE(holds(sub, tree.at("repository/sub/.git")));
    CHECK(holds(sub, tree.at("repository/sub/.codex")));
}

TEST_CASE("a placeholder of another sandbox is shared, not taken for granted") {
    const test::Tree tree;
    const Context context = in(tree.directory("r"));
    Placeholder other = std::move(*hold(tree.at("r/.git"), tree.at("journal")));

    CHECK(holds(planned(workspace(), context), tree.at("r/.git")));

    release(std::move(other), tree.at("journal"));
}

TEST_CASE("nothing is made in places for temporary files") {
    const test::Tree tree;
    Context context = in(tree.directory("r"));
    context.tmpdir = tree.directory("t");
    const Policy policy = workspace(
        {special(Special::slash_tmp, Access::write), special(Special::tmpdir, Access::write)});

    const Plan plan = planned(policy, context);

    CHECK(has(plan, Kind::writable, "/tmp"));
    CHECK(has(plan, Kind::writable, tree.at("t")));
    CHECK_FALSE(holds(plan, "/tmp/.git"));
    CHECK_FALSE(holds(plan, tree.at("t/.git")));
}

TEST_CASE("a granted .git is writable, but for its hooks and settings unless these are named") {
    const test::Tree tree;
    tree.git("main/.git");
    tree.directory("r");
    const std::string git = tree.at("main/.git");

    const Plan plan = planned(workspace({at(git, Access::write)}), in(tree.at("r")));
    const Plan named = planned(
        workspace({at(git, Access::write), at(git + "/hooks", Access::write)}), in(tree.at("r")));

    CHECK(has(plan, Kind::writable, git));
    CHECK(has(plan, Kind::read_only, git + "/hooks"));
    CHECK(has(plan, Kind::read_only, git + "/config"));
    CHECK_FALSE(has(named, Kind::read_only, git + "/hooks"));
    CHECK(has(named, Kind::read_only, git + "/config"));
}

TEST_CASE("the repository of a linked worktree is writable only by a grant") {
    const test::Tree tree;
    tree.git("main/.git");
    tree.file("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    tree.file("main/.git/worktrees/w/commondir", "../..\n");
    tree.file("main/.git/worktrees/w/gitdir", tree.at("w/.git"));
    tree.file("w/.git", "gitdir: " + tree.at("main/.git/worktrees/w") + "\n");
    const std::string git = tree.at("main/.git");

    const Plan closed = planned(workspace(), in(tree.at("w")));
    const Plan open = planned(workspace({at(git, Access::write)}), in(tree.at("w")));

    CHECK(has(closed, Kind::read_only, tree.at("w/.git")));
    CHECK_FALSE(mentions(closed, git));
    CHECK(has(open, Kind::writable, git));
    CHECK(has(open, Kind::read_only, git + "/hooks"));
    CHECK(has(open, Kind::read_only, git + "/worktrees/w/commondir"));
}

TEST_CASE("a repository beyond the bound is read-only with its work tree, and that is told") {
    const test::Tree tree;
    tree.git("r/zz/.git");
    for (std::size_t i = 0; i <= most_closed_repositories; ++i)
        tree.directory("r/a/" + std::to_string(i) + "/.git/x");

    const Plan plan = planned(workspace(), in(tree.at("r")));

    CHECK(plan.missing.empty());
    CHECK(has(plan, Kind::read_only, tree.at("r/a/99"))); // the last one by name
    CHECK(has(plan, Kind::read_only, tree.at("r/a/98/.git")));
    CHECK(has(plan, Kind::read_only, tree.at("r/zz/.git")));
    CHECK(tells(plan, "too many repositories"));
}

TEST_CASE("a root with far too many repositories is refused by name, or read-only and told") {
    const test::Tree tree;
    for (std::size_t i = 0; i <= most_closed_repositories + 64; ++i)
        tree.directory("r/" + std::to_string(i) + "/.git/x");
    Policy policy = workspace();

    Result<Plan> refused = make_plan(policy, in(tree.at("r")));
    policy.enforcement = Enforcement::best_effort;
    const Plan plan = planned(policy, in(tree.at("r")));

    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::sandbox_unavailable);
    CHECK(refused.error().message.find("'" + tree.at("r") + "' has too many repositories") !=
          std::string::npos);
    CHECK(refused.error().hint.find("another root") != std::string::npos);
    CHECK(plan.missing.empty());
    CHECK(plan.mounts.size() < 20);
    CHECK_FALSE(has(plan, Kind::writable, tree.at("r")));
    CHECK(tells(plan, "too many repositories"));
}

TEST_CASE("mere names do not take the place of repositories that can be committed to") {
    const test::Tree tree;
    tree.git("r/zz/.git");
    for (std::size_t i = 0; i < 2 * most_repositories; ++i)
        tree.directory("r/a/" + std::to_string(i) + "/.git/x");

    const Plan plan = planned(workspace(), in(tree.at("r")));

    CHECK(has(plan, Kind::read_only, tree.at("r/zz/.git/hooks")));
    CHECK(has(plan, Kind::writable, tree.at("r/zz/.git")));
    CHECK(has(plan, Kind::read_only, tree.at("r/a/0/.git")));
    CHECK(plan.missing.empty());
}

TEST_CASE("a git directory without a HEAD does not become open by that") {
    const test::Tree tree;
    tree.git("r/apart");
    tree.file("r/.git", "gitdir: apart\n");
    tree.git("g/.git");
    std::filesystem::remove(tree.at("r/apart/HEAD"));
    std::filesystem::remove(tree.at("g/.git/HEAD"));

    const Plan led = planned(workspace(), in(tree.at("r")));
    const Plan granted =
        planned(workspace({at(tree.at("g/.git"), Access::write)}), in(tree.at("g")));

    CHECK(has(led, Kind::read_only, tree.at("r/apart")));
    CHECK(has(granted, Kind::read_only, tree.at("g/.git/hooks")));
    CHECK(has(granted, Kind::read_only, tree.at("g/.git/config")));
}

TEST_CASE("a git directory that a command closed does not become open by that") {
    if (::geteuid() == 0) {
        MESSAGE("root may write everywhere: not tried");
        return;
    }
    const test::Tree tree;
    tree.git("r/.git");
    std::filesystem::permissions(tree.at("r/.git"), std::filesystem::perms(0555));

    const Plan plan = planned(workspace(), in(tree.at("r")));

    std::filesystem::permissions(tree.at("r/.git"), std::filesystem::perms(0755));
    CHECK(has(plan, Kind::read_only, tree.at("r/.git")));
    CHECK_FALSE(holds(plan, tree.at("r/.git/commondir")));
    CHECK(tells(plan, "'" + tree.at("r/.git") + "' is read-only"));
}

TEST_CASE("a denied .git stays denied") {
    const test::Tree tree;
    tree.git("r/.git");

    const Plan plan = planned(workspace({at(tree.at("r/.git"), Access::deny)}), in(tree.at("r")));

    CHECK(has(plan, Kind::hidden, tree.at("r/.git")));
    CHECK_FALSE(mentions(plan, tree.at("r/.git/hooks")));
}

TEST_CASE("nothing is mounted over a link") {
    const test::Tree tree;
    tree.git("r/.git");
    tree.directory("elsewhere");
    tree.link("r/.agents", "../elsewhere");
    tree.link("r/.codex", "real");
    tree.directory("r/real");

    const Plan plan = planned(workspace(), in(tree.at("r")));

    CHECK_FALSE(mentions(plan, tree.at("r/.agents")));
    CHECK_FALSE(mentions(plan, tree.at("elsewhere")));
    CHECK_FALSE(mentions(plan, tree.at("r/.codex")));
    CHECK(has(plan, Kind::read_only, tree.at("r/real")));
    CHECK(plan.notes.size() == 2);
}

TEST_CASE("what makes a root look like a git directory takes no protection away") {
    for (const char* const other : {"objects", "commondir"}) {
        const test::Tree tree;
        tree.git("r/.git");
        tree.git("r/nested/.git");
        tree.link("r/HEAD", "nowhere");
        tree.directory(std::string("r/") + other);

        const Plan plan = planned(workspace(), in(tree.at("r")));

        CHECK(has(plan, Kind::read_only, tree.at("r/.git/hooks")));
        CHECK(has(plan, Kind::read_only, tree.at("r/.git/config")));
        CHECK(has(plan, Kind::read_only, tree.at("r/nested/.git/config")));
        CHECK(holds(plan, tree.at("r/.codex")));
        CHECK(holds(plan, tree.at("r/config"))); // it may be one, too
    }
}

TEST_CASE("the directory of a command opens nothing") {
    const test::Tree tree;
    tree.git("r/.git");
    tree.directory("r/.codex");
    tree.git("r/nested/.git");
    for (const char* const name : {"r/.git/hooks", "r/.codex", "r/nested/.git/hooks", "r/.git"}) {
        Context context = in(tree.at("r"));
        context.cwd = tree.at(name);

        const Plan plan = planned(workspace(), context);

        for (const char* const closed : {"r/.git/hooks", "r/.codex", "r/nested/.git/hooks"})
            CHECK(has(plan, Kind::read_only, tree.at(closed)));
    }
}

TEST_CASE("a root in a .git is protected and searched as any other") {
    const test::Tree tree;
    tree.git("r/.git");
    tree.file("r/.git/worktrees/w/commondir", "../..\n");
    tree.file("r/.git/wt/w/.git", "gitdir: ../../worktrees/w\n");
    tree.git("r/.git/wt/w/nested/.git");
    const std::string work_tree = tree.at("r/.git/wt/w");

    const Plan own = planned(workspace(), in(work_tree));
    const Plan above = planned(workspace(), in(tree.at("r")));

    CHECK(has(own, Kind::read_only, work_tree + "/.git"));
    CHECK(holds(own, work_tree + "/.codex"));
    CHECK(has(own, Kind::read_only, work_tree + "/nested/.git/hooks"));
    CHECK(has(above, Kind::read_only, work_tree + "/.git"));
    CHECK(has(above, Kind::read_only, work_tree + "/nested/.git/hooks"));
}

TEST_CASE("a root that cannot be looked into is refused with the reason, or read-only and told") {
    if (::geteuid() == 0) {
        MESSAGE("root may look into every directory: not tried");
        return;
    }
    for (const int mode : {0000, 0111, 0333, 0444, 0666}) {
        const test::Tree tree;
        tree.git("w/.git");
        tree.git("w/deep/er/.git");
        const std::string root = tree.at("w");
        Policy policy = workspace({at(root, Access::write)});
        const Context context = in(tree.directory("r"));
        std::filesystem::permissions(root, std::filesystem::perms(mode));

        Result<Plan> refused = make_plan(policy, context);
        policy.enforcement = Enforcement::best_effort;
        const Plan plan = planned(policy, context);

        std::filesystem::permissions(root, std::filesystem::perms(0755));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message.find("'" + root + "' cannot be read") != std::string::npos);
        CHECK_FALSE(has(plan, Kind::writable, root));
        CHECK(std::ranges::find(plan.writable, root) == plan.writable.end());
        CHECK(tells(plan, "cannot be read"));
    }
}

TEST_CASE("a root in a directory that cannot be looked into is searched by itself") {
    if (::geteuid() == 0) {
        MESSAGE("root may look into every directory: not tried");
        return;
    }
    const test::Tree tree;
    tree.git("r/closed/inner/deep/.git");
    const std::string inner = tree.at("r/closed/inner");
    const Policy policy = workspace({at(inner, Access::write)});
    std::filesystem::permissions(tree.at("r/closed"), std::filesystem::perms(0311));

    const Plan plan = planned(policy, in(tree.at("r")));

    std::filesystem::permissions(tree.at("r/closed"), std::filesystem::perms(0755));
    CHECK(has(plan, Kind::read_only, tree.at("r/closed")));
    CHECK(has(plan, Kind::read_only, inner + "/deep/.git/hooks"));
    CHECK(tells(plan, "cannot be read and searched"));
}

TEST_CASE("a directory that cannot be read is hidden where a pattern might match in it") {
    if (::geteuid() == 0) {
        MESSAGE("root may look into every directory: not tried");
        return;
    }
    for (const int mode : {0111, 0311, 0333, 0444}) {
        const test::Tree tree;
        tree.file("r/svc/sub/.env");
        tree.file("r/open/.env");
        std::filesystem::permissions(tree.at("r/svc"), std::filesystem::perms(mode));

        const Plan plan = planned(workspace({glob("**/.env")}), in(tree.at("r")));

        std::filesystem::permissions(tree.at("r/svc"), std::filesystem::perms(0755));
        CHECK(has(plan, Kind::hidden, tree.at("r/svc")));
        CHECK(has(plan, Kind::hidden_file, tree.at("r/open/.env")));
        CHECK(tells(plan, "'" + tree.at("r/svc") + "' cannot be read"));
    }
}

TEST_CASE("a directory with too many matches is hidden as a whole, and that is told") {
    const test::Tree tree;
    tree.file("r/one.pem");
    for (std::size_t i = 0; i <= most_matches; ++i)
        tree.file("r/many/" + std::to_string(i) + ".pem");

    const Plan plan = planned(workspace({glob("**/*.pem")}), in(tree.at("r")));

    CHECK(has(plan, Kind::hidden, tree.at("r/many")));
    CHECK(has(plan, Kind::hidden_file, tree.at("r/one.pem")));
    CHECK(tells(plan, "has too much in it"));
}

TEST_CASE("alternatives alone make a pattern in the settings of a mode") {
    const test::Tree tree;
    tree.file("r/p.key");
    tree.file("r/q.key");
    tree.file("r/{p}.key");
    ModeOptions options;
    options.deny_read = {"{p,q}.key", tree.at("r/{p}.key")};

    const Plan plan =
        planned(policy_of(core::SandboxMode::workspace_write, options), in(tree.at("r")));

    for (const char* const name : {"r/p.key", "r/q.key", "r/{p}.key"})
        CHECK(has(plan, Kind::hidden_file, tree.at(name)));
}

TEST_CASE("a link in a git directory makes it read-only, and what it leads to is protected") {
    for (const char* const name : {"hooks", "config", "info", "modules", "commondir"}) {
        const test::Tree tree;
        tree.git("r/.git");
        tree.git("r/nested/.git");
        std::filesystem::remove_all(tree.at(std::string("r/.git/") + name));
        tree.directory("r/shared/x");
        tree.link(std::string("r/.git/") + name, "../shared");
        tree.link("r/nested/.git/config.worktree", "../../missing");

        const Plan plan = planned(workspace(), in(tree.at("r")));

        CHECK(has(plan, Kind::read_only, tree.at("r/.git")));
        CHECK(has(plan, Kind::read_only, tree.at("r/shared")));
        CHECK(has(plan, Kind::read_only, tree.at("r/nested/.git")));
        CHECK(holds(plan, tree.at("r/missing")));
        CHECK(tells(plan, "has a link in it"));
    }
}

TEST_CASE("what git would obey in a .git is held where it is missing") {
    const test::Tree tree;
    tree.git("r/.git");

    const Plan plan = planned(workspace(), in(tree.at("r")));

    for (const char* const name : {"config.worktree", "commondir", "info", "modules"})
        CHECK(holds(plan, tree.at(std::string("r/.git/") + name)));
    CHECK_FALSE(holds(plan, tree.at("r/.git/worktrees")));
}

TEST_CASE("where a .git leads is closed with it when there are too many repositories") {
    const test::Tree tree;
    for (std::size_t i = 0; i < most_repositories; ++i)
        tree.git("r/" + std::to_string(i) + "/.git");
    tree.git("r/z/.bare");
    tree.file("r/z/.git", "gitdir: ./.bare\n");

    const Plan plan = planned(workspace(), in(tree.at("r")));

    CHECK(has(plan, Kind::read_only, tree.at("r/z/.git")));
    CHECK(has(plan, Kind::read_only, tree.at("r/z/.bare")));
}

TEST_CASE("what a .git calls a repository, and is none, is read-only and told") {
    const test::Tree tree;
    tree.directory("r/src");
    tree.file("r/y/.git", "gitdir: ../src\n");

    const Plan plan = planned(workspace(), in(tree.at("r")));

    CHECK(has(plan, Kind::read_only, tree.at("r/src")));
    CHECK(tells(plan, "'" + tree.at("r/src") + "'"));
}

TEST_CASE("submodules that need more placeholders than there can be are read-only as a whole") {
    const test::Tree tree;
    tree.git("r/.git");
    for (int i = 0; i < 60; ++i)
        tree.file("r/.git/modules/" + std::to_string(i) + "/HEAD");

    const Plan plan = planned(workspace(), in(tree.at("r")));

    CHECK(has(plan, Kind::read_only, tree.at("r/.git/modules")));
    CHECK(has(plan, Kind::read_only, tree.at("r/.git/hooks")));
    CHECK(plan.placeholders.size() + plan.placeholder_files.size() < 20);
    CHECK(tells(plan, "'" + tree.at("r/.git/modules") + "' is read-only"));
}

TEST_CASE("a link of processes in /proc is no name of a place") {
    const test::Tree tree;
    const Context context = in(tree.directory("r"));
    Context elsewhere = context;
    elsewhere.workspace_roots = {"/proc/self/cwd"};

    for (const char* const path : {"/proc/self/cwd", "/proc/self/root/var/tmp", "/dev/fd/0/x"}) {
        Result<Plan> refused = make_plan(workspace({at(path, Access::write)}), context);
        if (locate(path).kind == ResolvedPath::Kind::unreachable) continue;
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message.find(path) != std::string::npos);
    }
    CHECK_FALSE(make_plan(workspace({at("/proc/self/cwd", Access::deny)}), context));
    CHECK_FALSE(make_plan(workspace(), elsewhere));
}

TEST_CASE("a root that has become something else since it was named is refused") {
    const test::Tree tree;
    const std::string root = tree.directory("r/pkg");
    tree.directory("home");
    Context context = in(root);
    context.known = planned(workspace(), context).roots;
    REQUIRE(context.known.size() == 1);
    CHECK(planned(workspace(), context).roots.empty());
    std::filesystem::rename(root, tree.at("r/pkg0"));
    tree.link("r/pkg", "../home");
    Policy policy = workspace();
    policy.enforcement = Enforcement::best_effort;

    Result<Plan> refused = make_plan(policy, context);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find(root) != std::string::npos);
    CHECK(refused.error().hint.find("new session") != std::string::npos);
}

TEST_CASE("what the policy names as read-only stays so where it exists") {
    const test::Tree tree;
    tree.file("r/.mcp.json");
    tree.file("r/.vscode/tasks.json");
    tree.file("home/.bashrc");
    tree.file("r/own/file");
    Policy policy = workspace({at(tree.at("home"), Access::write)});
    policy.read_only = {".mcp.json", ".vscode/tasks.json", ".claude",
                        "~/.bashrc", "~/.zshrc",           tree.at("r/own")};
    Context context = in(tree.at("r"));
    context.home = tree.at("home");

    const Plan plan = planned(policy, context);

    for (const char* const name : {"r/.mcp.json", "r/.vscode/tasks.json", "home/.bashrc", "r/own"})
        CHECK(has(plan, Kind::read_only, tree.at(name)));
    CHECK_FALSE(mentions(plan, tree.at("r/.claude")));
    CHECK_FALSE(holds(plan, tree.at("home/.zshrc")));
    CHECK(tells(plan, "is your home directory"));
}

TEST_CASE("without roots of a workspace project_roots matches nothing") {
    const test::Tree tree;
    Context context;
    context.cwd = tree.root();

    CHECK(writable_below(tree, planned(workspace(), context)).empty());
    Policy policy = policy_of(core::SandboxMode::workspace_write, {});
    policy.has_private_tmp = false;
    CHECK(writable_below(tree, planned(policy, context)) == std::vector{tree.root()});
}

TEST_CASE("what is below a special place can be given another access") {
    const test::Tree tree;
    tree.directory("r/docs");

    const Plan plan = planned(workspace({special(Special::project_roots, Access::read, "docs"),
                                         special(Special::unknown, Access::write)}),
                              in(tree.at("r")));

    CHECK(has(plan, Kind::read_only, tree.at("r/docs")));
}

TEST_CASE("a writable root that is missing is left out and told, unless that was expected") {
    const test::Tree tree;
    tree.directory("r");
    Entry expected = at(tree.at("perhaps"), Access::write);
    expected.skip_if_missing = true;

    const Plan plan =
        planned(workspace({at(tree.at("gone"), Access::write), expected}), in(tree.at("r")));

    CHECK_FALSE(mentions(plan, tree.at("gone")));
    REQUIRE(plan.notes.size() == 1);
    CHECK(plan.notes.front().find("gone") != std::string::npos);
}

TEST_CASE("unrestricted files without a network leave all writable but execward's own") {
    const test::Tree tree;
    tree.directory("state");
    tree.directory("r");
    Policy policy;
    policy.file_system = FileSystem::unrestricted;
    Context context = in(tree.at("r"));
    context.hidden = {tree.at("state")};
    if (!has_mounts()) return;

    const std::string answers = output_of(
        policy, context, tried({"touch ../made", "touch ../state/x", "mv ../state ../s"}));

    CHECK(answers == "yes no no ");
}

TEST_CASE("the settings of the kernel cannot be written, whoever we are") {
    const test::Tree tree;
    if (!has_mounts()) return;

    const std::string answers =
        output_of(workspace(), in(tree.root()),
                  tried({"cat /proc/sys/kernel/core_pattern",
                         "cat /proc/sys/kernel/core_pattern >/proc/sys/kernel/core_pattern",
                         "test -w /proc/sysrq-trigger", "echo 1 >/proc/self/oom_score_adj"}));

    CHECK(answers == "yes no no yes ");
}

TEST_CASE("directories are read once for a plan, however many patterns are hidden") {
    const test::Tree tree;
    const std::string deep = tree.directory("src/deep");
    const std::string deeper = tree.directory("src/deep/er");
    const auto reads = [&](int patterns) {
        std::vector<Entry> hidden;
        for (int i = 0; i < patterns; ++i)
            hidden.push_back(glob("**/*.secret" + std::to_string(i)));
        const UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
        // Two directories: the kernel merges equal events that follow each other.
        for (const std::string& directory : {deep, deeper})
            REQUIRE(::inotify_add_watch(watch.get(), directory.c_str(), IN_OPEN) >= 0);
        (void)planned(workspace(hidden), in(tree.root()));
        std::array<char, 16384> events = {};
        return ::read(watch.get(), events.data(), events.size());
    };

    CHECK(reads(1) > 0);
    CHECK(reads(15) == reads(1));
}
