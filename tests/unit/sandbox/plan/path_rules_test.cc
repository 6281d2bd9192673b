#include "sandbox/plan/plan.h"
#include "sandbox/plan/resolved_path.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

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

Entry special(Special place, Access access) {
    Entry entry = at("", access);
    entry.kind = Entry::Kind::special;
    entry.special = place;
    return entry;
}

Policy workspace(std::vector<Entry> more = {}) {
    Policy policy;
    policy.entries = std::move(more);
    policy.entries.push_back(special(Special::root, Access::read));
    policy.entries.push_back(special(Special::project_roots, Access::write));
    return policy;
}

Context in(std::vector<std::string> roots) {
    Context context;
    context.cwd = roots.front();
    context.workspace_roots = std::move(roots);
    return context;
}

Plan planned(const Policy& policy, const Context& context) {
    Result<Plan> plan = make_plan(policy, context);
    REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().message));
    return std::move(*plan);
}

bool has(const Plan& plan, Kind kind, const std::string& path) {
    return std::ranges::any_of(
        plan.mounts, [&](const Mount& mount) { return mount.kind == kind && mount.path == path; });
}

bool writes(const Plan& plan, const std::string& path) {
    return std::ranges::find(plan.writable, path) != plan.writable.end();
}

bool says(const std::vector<std::string>& notes, const std::string& part) {
    return std::ranges::any_of(
        notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

// The refusal must name that path.
bool is_refused(const Policy& policy, const Context& context, const std::string& named) {
    Result<Plan> plan = make_plan(policy, context);
    if (plan) return false;
    CHECK(plan.error().kind == ErrorKind::sandbox_unavailable);
    CHECK_FALSE(plan.error().hint.empty());
    return plan.error().message.find("'" + named + "'") != std::string::npos;
}

// A policy with which $TMPDIR is writable.
Policy with_tmpdir() {
    return workspace({special(Special::tmpdir, Access::write)});
}

Context with_tmpdir(const std::string& root, std::string tmpdir) {
    Context context = in({root});
    context.tmpdir = std::move(tmpdir);
    return context;
}

bool is_root() {
    if (::geteuid() != 0) return false;
    MESSAGE("root may look into every directory: not tried");
    return true;
}

} // namespace

TEST_CASE("what is to be writable is not looked for through a link that a command may have made") {
    const test::Tree tree;
    tree.directory("a/real");
    tree.directory("victim");
    tree.link("a/link", "../victim");
    tree.link("a/inside", "real");

    CHECK(is_refused(workspace(), in({tree.at("a"), tree.at("a/link")}), tree.at("a/link")));
    CHECK(is_refused(workspace({at(tree.at("a/link"), Access::write)}), in({tree.at("a")}),
                     tree.at("a/link")));
    CHECK(is_refused(workspace({at(tree.at("a/link/new"), Access::write)}), in({tree.at("a")}),
                     tree.at("a/link")));
    CHECK(make_plan(workspace({at(tree.at("a/inside"), Access::write)}), in({tree.at("a")})));
}

TEST_CASE("a link that a command may have made is found behind other links and steps upwards") {
    const test::Tree tree;
    tree.directory("a/b");
    tree.directory("victim");
    tree.link("outer", "a/b/../hop");
    tree.link("a/hop", tree.at("victim"));

    CHECK(is_refused(workspace({at(tree.at("outer"), Access::write)}), in({tree.at("a")}),
                     tree.at("a/hop")));
}

TEST_CASE("a link from one writable place to another that is granted too is harmless") {
    const test::Tree tree;
    tree.directory("a");
    tree.directory("b");
    tree.link("a/link", "../b");

    const Plan plan = planned(workspace({at(tree.at("a/link"), Access::write)}),
                              in({tree.at("a"), tree.at("b")}));

    CHECK(writes(plan, tree.at("b")));
}

TEST_CASE("two links do not vouch for each other") {
    const test::Tree tree;
    tree.directory("a");
    tree.directory("victim/inner");
    tree.link("a/one", "../victim");
    tree.link("a/two", "../victim/inner");
    const Policy policy =
        workspace({at(tree.at("a/one"), Access::write), at(tree.at("a/two"), Access::write)});

    CHECK(is_refused(policy, in({tree.at("a")}), tree.at("a/one")));
}

TEST_CASE("a workspace may be named by a link that nothing confined can write") {
    const test::Tree tree;
    tree.directory("real");
    tree.link("name", "real");

    CHECK(writes(planned(workspace(), in({tree.at("name")})), tree.at("real")));
}

TEST_CASE("what is to be opened for reading is not looked for through such a link either") {
    const test::Tree tree;
    tree.directory("a");
    tree.directory("d/secret");
    tree.link("a/link", "../d/secret");
    const Policy policy =
        workspace({at(tree.at("d"), Access::deny), at(tree.at("a/link"), Access::read)});

    CHECK(is_refused(policy, in({tree.at("a")}), tree.at("a/link")));
}

TEST_CASE("a pattern does not open what a link leads to") {
    const test::Tree tree;
    tree.directory("a");
    tree.directory("victim");
    tree.link("a/x.cache", "../victim");
    Entry entry = at("*.cache", Access::write);
    entry.kind = Entry::Kind::glob;

    CHECK(is_refused(workspace({entry}), in({tree.at("a")}), tree.at("a/x.cache")));
}

TEST_CASE("a writable place in another one cannot be renamed or replaced") {
    const test::Tree tree;
    tree.directory("a/deep/b");

    const Plan plan = planned(workspace(), in({tree.at("a"), tree.at("a/deep/b")}));

    CHECK(has(plan, Kind::writable, tree.at("a/deep/b")));
    CHECK(has(plan, Kind::writable, tree.at("a/deep")));
}

TEST_CASE("a directory for temporary files that leads through such a link is left out and told") {
    const test::Tree tree;
    tree.directory("a");
    tree.directory("victim");
    tree.link("a/tmp", "../victim");

    const Plan plan = planned(with_tmpdir(), with_tmpdir(tree.at("a"), tree.at("a/tmp")));

    CHECK_FALSE(writes(plan, tree.at("victim")));
    CHECK(says(plan.notes, tree.at("a/tmp")));
}

TEST_CASE("$TMPDIR is writable where it is a directory for temporary files and nothing else") {
    const test::Tree tree;
    tree.directory("home/work");
    tree.directory("home/tmp");
    tree.directory("state/execward");
    tree.file("file");
    const auto is_taken = [&](const std::string& tmpdir) {
        Context context = with_tmpdir(tree.at("home/work"), tmpdir);
        context.home = tree.at("home");
        context.hidden = {tree.at("state/execward")};
        const Plan plan = planned(with_tmpdir(), context);
        CHECK(plan.notes.empty() == writes(plan, tmpdir));
        CHECK(says(plan.notes, "'" + tmpdir + "'") != writes(plan, tmpdir));
        return writes(plan, tmpdir);
    };

    CHECK(is_taken(tree.at("home/tmp")));
    CHECK(is_taken("/dev/shm"));
    CHECK_FALSE(is_taken("/"));
    CHECK_FALSE(is_taken("/usr"));
    CHECK_FALSE(is_taken("/etc"));
    CHECK_FALSE(is_taken("/home"));
    CHECK_FALSE(is_taken("/var"));
    CHECK_FALSE(is_taken(tree.root()));
    CHECK_FALSE(is_taken(tree.at("home")));
    CHECK_FALSE(is_taken(tree.at("state")));
    CHECK_FALSE(is_taken(tree.at("file")));
    CHECK_FALSE(is_taken(tree.at("gone")));
}

TEST_CASE("what is of the machine is told apart from where people work") {
    for (const char* const path : {"/", "/usr", "/usr/lib", "/etc/x", "/lib64", "/boot", "/home",
                                   "/run", "/run/user", "/run/user/1000", "/dev", "/proc/self"})
        CHECK_MESSAGE(is_of_the_machine(path), path);
    for (const char* const path : {"/tmp", "/tmp/x", "/var/tmp", "/dev/shm", "/run/user/1000/tmp",
                                   "/home/someone", "/scratch", "/library"})
        CHECK_MESSAGE(!is_of_the_machine(path), path);
}

TEST_CASE("execward's own places are not looked for through a link that could be another one") {
    const test::Tree tree;
    tree.file("home/dotfiles/config/execward/config.toml");
    tree.link("home/.config", "dotfiles/config");
    Context context = in({tree.at("home")});
    context.hidden = {tree.at("home/.config/execward")};
    Policy best = workspace();
    best.enforcement = Enforcement::best_effort;

    CHECK(is_refused(workspace(), context, tree.at("home/.config")));
    CHECK(is_refused(best, context, tree.at("home/.config")));

    context.hidden = {tree.at("home/.config/gone/execward")};
    CHECK(is_refused(workspace(), context, tree.at("home/.config")));

    context.hidden = {tree.at("home/dotfiles/config/execward")};
    CHECK(
        has(planned(workspace(), context), Kind::hidden, tree.at("home/dotfiles/config/execward")));
}

TEST_CASE("execward's own places that are missing are held, with all that is missing above them") {
    const test::Tree tree;
    Context context = in({tree.directory("home")});
    context.hidden = {tree.at("home/.local/state/execward")};

    const Plan plan = planned(workspace(), context);

    for (const char* const part : {"home/.local", "home/.local/state"}) {
        CHECK(std::ranges::count(plan.placeholders, tree.at(part)) == 1);
        CHECK(has(plan, Kind::writable, tree.at(part)));
    }
    CHECK(has(plan, Kind::hidden, tree.at("home/.local/state/execward")));
}

TEST_CASE("the programs that the next start executes are read-only, and stay where they are") {
    const test::Tree tree;
    tree.file("r/build/libexec/execward-init", "x");
    tree.file("elsewhere", "x");
    Context context = in({tree.at("r")});
    context.read_only = {tree.at("r/build/libexec/execward-init"), tree.at("elsewhere"),
                         tree.at("r/build/gone"), ""};

    const Plan plan =
        planned(workspace({at(tree.at("r/build/libexec/execward-init"), Access::write)}), context);

    CHECK(has(plan, Kind::read_only, tree.at("r/build/libexec/execward-init")));
    CHECK(has(plan, Kind::writable, tree.at("r/build/libexec")));
    CHECK(has(plan, Kind::writable, tree.at("r/build")));
    CHECK_FALSE(has(plan, Kind::read_only, tree.at("elsewhere")));
}

TEST_CASE("they are read-only also where everything else can be written") {
    const test::Tree tree;
    tree.directory("r");
    Context context = in({tree.at("r")});
    context.read_only = {tree.file("bin/execward")};
    Policy policy;
    policy.file_system = FileSystem::unrestricted;

    CHECK(has(planned(policy, context), Kind::read_only, tree.at("bin/execward")));

    tree.link("name", "bin");
    context.read_only = {tree.at("name/execward")};
    CHECK(is_refused(policy, context, tree.at("name")));
}

TEST_CASE("what is denied is not forgotten because a command closed the directory above it") {
    if (is_root()) return;
    const test::Tree tree;
    tree.file("r/closed/secret", "s");
    std::filesystem::permissions(tree.at("r/closed"), std::filesystem::perms::none);
    Policy policy = workspace({at(tree.at("r/closed/secret"), Access::deny)});
    CHECK(has(planned(policy, in({tree.at("r")})), Kind::read_only, tree.at("r/closed")));

    policy.protects_metadata = false;
    CHECK(is_refused(policy, in({tree.at("r")}), tree.at("r/closed/secret")));
    policy.enforcement = Enforcement::best_effort;
    CHECK(planned(policy, in({tree.at("r")})).missing.has(Guarantee::deny_read));

    std::filesystem::permissions(tree.at("r/closed"), std::filesystem::perms::owner_all);
}

TEST_CASE("what is denied is not forgotten because a link on the way leads in a circle") {
    const test::Tree tree;
    tree.directory("r");
    tree.link("r/circle", "circle");

    CHECK(is_refused(workspace({at(tree.at("r/circle/secret"), Access::deny)}), in({tree.at("r")}),
                     tree.at("r/circle/secret")));
}
