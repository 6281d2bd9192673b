#include "base/unique_fd.h"
#include "os/directory.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/resolved_path.h"
#include "support/testing.h"
#include "unit/sandbox/plan/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

using namespace ew;
using namespace ew::sandbox;

namespace {

// With far more mounts bubblewrap would take seconds.
constexpr std::size_t bearable = 1000;

Result<Plan> plan_for(const std::string& root, Enforcement enforcement = Enforcement::require) {
    Policy policy;
    policy.enforcement = enforcement;
    for (const auto& [place, access] : {std::pair(Special::root, Access::read),
                                        std::pair(Special::project_roots, Access::write)}) {
        Entry entry;
        entry.kind = Entry::Kind::special;
        entry.special = place;
        entry.access = access;
        policy.entries.push_back(std::move(entry));
    }
    Context context;
    context.cwd = root;
    context.workspace_roots = {root};
    return make_plan(policy, context);
}

Plan planned(const std::string& root) {
    Result<Plan> plan = plan_for(root);
    REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().message));
    return std::move(*plan);
}

// Decided by the innermost mount at or above the path: mounts are depth first.
bool is_read_only(const Plan& plan, const std::string& path) {
    const auto nearest =
        std::find_if(plan.mounts.rbegin(), plan.mounts.rend(),
                     [&path](const Mount& mount) { return is_at_or_below(path, mount.path); });
    return nearest == plan.mounts.rend() || nearest->kind == Mount::Kind::read_only;
}

// Makes nested directories, even deeper than any path can name.
void make_deep(const std::string& path, const std::string& name, int levels) {
    UniqueFd at(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int level = 0; level < levels; ++level) {
        REQUIRE(::mkdirat(at.get(), name.c_str(), 0755) == 0);
        at = UniqueFd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
}

std::string levels_of(const std::string& name, int levels) {
    std::string path;
    for (int level = 0; level < levels; ++level)
        path += "/" + name;
    return path;
}

} // namespace

TEST_CASE("a tree deeper than a path can name costs few mounts, and only its inside is closed") {
    const test::Tree tree;
    const std::string root = tree.directory("r");
    make_deep(root, "directory", 1000);

    const Plan plan = planned(root);

    CHECK(plan.mounts.size() < 60);
    CHECK(is_read_only(plan, root + levels_of("directory", 400)));
    CHECK_FALSE(is_read_only(plan, root + levels_of("directory", 30)));
    CHECK(std::ranges::any_of(plan.notes, [](const std::string& note) {
        return note.find("read-only as a whole") != std::string::npos;
    }));
}

TEST_CASE("a repository far down is protected by a directory above it") {
    const test::Tree tree;
    const std::string far = "r" + levels_of("d", 100);
    tree.git(far + "/.git");
    tree.git("r/near/.git");

    const Plan plan = planned(tree.at("r"));

    CHECK(plan.mounts.size() < 80);
    CHECK(is_read_only(plan, tree.at(far + "/.git/config")));
    CHECK(is_read_only(plan, tree.at("r/near/.git/config")));
    CHECK_FALSE(is_read_only(plan, tree.at("r/near/.git/HEAD")));
    CHECK_FALSE(is_read_only(plan, tree.at("r/d/d")));
}

TEST_CASE("what bubblewrap may not name is protected by a directory above it") {
    const test::Tree tree;
    const std::string name(200, 'n');
    const std::string far = "r" + levels_of(name, 18);
    tree.git(far + "/.git");

    const Plan plan = planned(tree.at("r"));

    CHECK(is_read_only(plan, tree.at(far + "/.git/config")));
    CHECK_FALSE(is_read_only(plan, tree.at("r/" + name)));
    CHECK(std::ranges::all_of(plan.mounts, [](const Mount& m) { return m.path.size() <= 2048; }));
}

TEST_CASE("a root far down is protected as any other") {
    const test::Tree tree;
    const std::string root = "r" + levels_of("d", 50);
    tree.git(root + "/.git");

    const Plan plan = planned(tree.at(root));

    CHECK(is_read_only(plan, tree.at(root + "/.git/config")));
    CHECK_FALSE(is_read_only(plan, tree.at(root + "/.git/HEAD")));
}

TEST_CASE("where a file leads that is called .git is protected, however far down") {
    const test::Tree tree;
    const std::string far = "r" + levels_of("d", 300);
    tree.git(far);
    tree.file("r/.git", "gitdir: " + tree.at(far) + "\n");

    const Plan plan = planned(tree.at("r"));

    CHECK(plan.mounts.size() < 60);
    CHECK(is_read_only(plan, tree.at(far + "/config")));
}

TEST_CASE("repositories with much to protect share a bound, and none is left open") {
    const test::Tree tree;
    for (std::size_t i = 0; i < most_repositories; ++i) {
        const std::string git = "r/" + std::to_string(i) + "/.git";
        tree.git(git);
        for (int module = 0; module < 20; ++module)
            tree.git(git + "/modules/" + std::to_string(module));
    }

    const Plan plan = planned(tree.at("r"));

    CHECK(plan.mounts.size() < bearable);
    for (std::size_t i = 0; i < most_repositories; ++i)
        for (int module = 0; module < 20; ++module)
            CHECK(is_read_only(plan, tree.at("r/" + std::to_string(i) + "/.git/modules/" +
                                             std::to_string(module) + "/config")));
    CHECK_FALSE(is_read_only(plan, tree.at("r/0/.git/modules/0/HEAD")));
    CHECK_FALSE(is_read_only(plan, tree.at("r/23/file")));
}

TEST_CASE("repositories far from one another share a bound, and none is left open") {
    const test::Tree tree;
    const auto far = [](std::size_t i) { return "r/" + std::to_string(i) + levels_of("d", 25); };
    for (std::size_t i = 0; i < 2 * most_repositories; ++i)
        tree.git(far(i) + "/.git");

    const Plan plan = planned(tree.at("r"));

    CHECK(plan.mounts.size() < bearable);
    for (std::size_t i = 0; i < 2 * most_repositories; ++i)
        CHECK(is_read_only(plan, tree.at(far(i) + "/.git/config")));
}

TEST_CASE("submodules in one another are protected as a whole from some level on") {
    const test::Tree tree;
    std::string module = "r/.git";
    tree.git(module);
    for (int level = 0; level < 30; ++level)
        tree.git(module += "/modules/m");

    const Plan plan = planned(tree.at("r"));

    CHECK(plan.mounts.size() < 60);
    CHECK(is_read_only(plan, tree.at(module + "/config")));
    CHECK_FALSE(is_read_only(plan, tree.at("r/.git/HEAD")));
}

TEST_CASE("a root with far too many directories to close is refused by name, or read-only") {
    const test::Tree tree;
    const std::string name(255, 'n');
    for (int i = 0; i < 201; ++i)
        make_deep(tree.directory("r/" + std::to_string(i)), name, 17);

    Result<Plan> refused = plan_for(tree.at("r"));
    Result<Plan> plan = plan_for(tree.at("r"), Enforcement::best_effort);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("too many directories") != std::string::npos);
    REQUIRE(plan);
    CHECK(plan->missing.empty());
    CHECK(is_read_only(*plan, tree.at("r")));
    CHECK(plan->mounts.size() < bearable);
}

namespace {

Plan planned_with_a_look(const std::string& root) {
    Policy policy = policy_of(core::SandboxMode::workspace_write, {});
    Context context;
    context.cwd = root;
    context.workspace_roots = {root};
    context.looks_afterwards = true;
    Result<Plan> plan = make_plan(policy, context);
    REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().message));
    return std::move(*plan);
}

} // namespace

TEST_CASE("names that do not exist get no placeholder if they are looked at afterwards") {
    const test::Tree tree;
    const std::string root = tree.directory("r");

    const Plan plan = planned_with_a_look(root);

    CHECK(plan.placeholders.empty());
    CHECK(plan.placeholder_files.empty());
    CHECK(plan.look.roots == std::vector{root});
    CHECK(plan.look.absent ==
          std::vector{root + "/.git", root + "/.agents", root + "/.codex", root + "/.execward"});
}

TEST_CASE("a root inside a repository has no .git, and is looked at for one afterwards") {
    const test::Tree tree;
    tree.git(".git");

    const Plan plan = planned_with_a_look(tree.directory("packages/a"));

    CHECK(std::ranges::count(plan.look.absent, tree.at("packages/a/.git")) == 1);
}

TEST_CASE("repositories that exist keep their placeholders, and are looked at afterwards") {
    const test::Tree tree;
    const std::string root = tree.directory("r");
    tree.git("r/.git");
    tree.git("r/nested/.git");

    const Plan plan = planned_with_a_look(root);

    CHECK(plan.placeholder_files.size() == 4); // commondir and config.worktree
    CHECK(plan.look.repositories ==
          std::vector<LookPlaces::Repository>{{root, root + "/.git"},
                                              {root + "/nested", root + "/nested/.git"}});
    CHECK(plan.look.nested == std::vector{root + "/nested"});
    CHECK(plan.look.closed == std::vector{root + "/.git/hooks", root + "/nested/.git/hooks"});
}

TEST_CASE("the placeholders of another start are shared in nested repositories too") {
    const test::Tree tree;
    const std::string root = tree.directory("r");
    tree.git("r/nested/.git");
    tree.file("r/nested/.git/commondir", ".\n");

    const Plan plan = planned(root);

    CHECK(std::ranges::count(plan.placeholders, root + "/nested/.git/hooks") == 1);
    CHECK(std::ranges::count(plan.placeholder_files,
                             PlaceholderFile{root + "/nested/.git/commondir", ".\n"}) == 1);
}
