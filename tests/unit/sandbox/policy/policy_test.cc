#include "sandbox/policy/policy.h"
#include "support/testing.h"

#include <algorithm>
#include <string>

using namespace ew;
using namespace ew::sandbox;

namespace {

Entry at(std::string path, Access access) {
    Entry entry;
    entry.path = std::move(path);
    entry.access = access;
    return entry;
}

Entry special(Special place, Access access, std::string below = "") {
    Entry entry = at(std::move(below), access);
    entry.kind = Entry::Kind::special;
    entry.special = place;
    return entry;
}

Entry glob(std::string pattern) {
    Entry entry = at(std::move(pattern), Access::deny);
    entry.kind = Entry::Kind::glob;
    return entry;
}

bool has(const Policy& policy, const Entry& entry) {
    return std::ranges::find(policy.entries, entry) != policy.entries.end();
}

Policy with(std::vector<Entry> entries) {
    Policy policy;
    policy.entries = std::move(entries);
    return policy;
}

std::string place_of_fault(const Policy& policy) {
    Result<void> result = check(policy);
    if (result) return "";
    CHECK(result.error().kind == ErrorKind::invalid_params);
    return result.error().path;
}

} // namespace

TEST_CASE("a read-only mode reads all, writes nothing of the machine's, and has its own /tmp") {
    ModeOptions options;
    options.writable_roots = {"/srv"};

    const Policy policy = policy_of(core::SandboxMode::read_only, options);

    CHECK(policy.entries == std::vector{special(Special::root, Access::read)});
    CHECK(policy.has_private_tmp);
    CHECK(policy.network == Network::restricted);
    CHECK(needs_sandbox(policy));
}

TEST_CASE("the workspace mode writes the workspace, the roots it is given, and its own /tmp") {
    ModeOptions options;
    options.writable_roots = {"/srv/more"};
    options.deny_read = {"/etc/secret", "/srv/**/*.env"};

    const Policy policy = policy_of(core::SandboxMode::workspace_write, options);

    CHECK(has(policy, special(Special::workspace, Access::write)));
    CHECK(has(policy, at("/srv/more", Access::write)));
    CHECK(has(policy, at("/etc/secret", Access::deny)));
    CHECK(has(policy, glob("/srv/**/*.env")));
    CHECK_FALSE(has(policy, special(Special::slash_tmp, Access::write)));
    CHECK(policy.has_private_tmp);
}

TEST_CASE("a shared /tmp and $TMPDIR are writable unless they are excluded") {
    ModeOptions options;
    options.shares_tmp = true;

    const Policy shared = policy_of(core::SandboxMode::workspace_write, options);
    options.excludes_slash_tmp = true;
    options.excludes_tmpdir = true;
    const Policy excluded = policy_of(core::SandboxMode::workspace_write, options);

    CHECK(has(shared, special(Special::slash_tmp, Access::write)));
    CHECK(has(shared, special(Special::tmpdir, Access::write)));
    CHECK_FALSE(shared.has_private_tmp);
    CHECK_FALSE(has(excluded, special(Special::slash_tmp, Access::write)));
    CHECK_FALSE(has(excluded, special(Special::tmpdir, Access::write)));
}

TEST_CASE("a sandbox is needed for restricted files or a restricted network, not where others do") {
    CHECK_FALSE(needs_sandbox(policy_of(core::SandboxMode::danger_full_access, {})));
    CHECK_FALSE(needs_sandbox(policy_of(core::SandboxMode::external_sandbox, {})));

    Policy offline;
    offline.file_system = FileSystem::unrestricted;
    CHECK(needs_sandbox(offline));

    Policy all = with({special(Special::root, Access::write)});
    CHECK(needs_sandbox(all));
    all.network = Network::enabled;
    CHECK_FALSE(needs_sandbox(all));
    all.entries.push_back(at("/etc/secret", Access::deny));
    CHECK(needs_sandbox(all));

    Policy wanted = policy_of(core::SandboxMode::danger_full_access, {});
    wanted.is_wanted = true;
    CHECK(needs_sandbox(wanted));
    CHECK(names_of(needed_by(wanted)) ==
          "kernelSettings, procHidden, signals, endsTogether, systemCalls");
    wanted.file_system = FileSystem::external;
    CHECK_FALSE(needs_sandbox(wanted));
}

TEST_CASE("additions widen a restricted policy, and no other") {
    Additions additions;
    additions.read = {"/srv/r", ""};
    additions.write = {"/srv/w", "/srv/w"};
    additions.network = true;

    const Policy wide = widened(with({special(Special::root, Access::read)}), additions);
    Policy outside;
    outside.file_system = FileSystem::external;

    std::vector entries = {special(Special::root, Access::read), at("/srv/r", Access::read),
                           at("/srv/w", Access::write)};
    entries[1].is_granted = entries[2].is_granted = true;
    CHECK(wide.entries == entries);
    CHECK(wide.network == Network::enabled);
    CHECK(widened(outside, additions) == outside);
}

TEST_CASE("a policy needs the promises that it makes") {
    const GuaranteeSet workspace =
        needed_by(policy_of(core::SandboxMode::workspace_write, ModeOptions{}));
    for (const Guarantee guarantee :
         {Guarantee::fs_write, Guarantee::fs_metadata, Guarantee::protected_paths,
          Guarantee::private_tmp, Guarantee::net_off, Guarantee::socket_files,
          Guarantee::named_pipes, Guarantee::abstract_sockets, Guarantee::kernel_settings,
          Guarantee::system_calls})
        CHECK_MESSAGE(workspace.has(guarantee), name_of(guarantee));
    CHECK_FALSE(workspace.has(Guarantee::deny_read));

    ModeOptions options;
    options.has_network = true;
    options.shares_tmp = true;
    options.deny_read = {"/x"};
    const GuaranteeSet other = needed_by(policy_of(core::SandboxMode::read_only, options));
    CHECK(other.has(Guarantee::deny_read));
    CHECK_FALSE(other.has(Guarantee::net_off));
    CHECK_FALSE(other.has(Guarantee::private_tmp));
    CHECK_FALSE(other.has(Guarantee::protected_paths));

    CHECK(needed_by(with({special(Special::minimal, Access::read)})).has(Guarantee::deny_read));
    CHECK(needed_by(policy_of(core::SandboxMode::danger_full_access, {})).empty());
}

TEST_CASE("an entry that cannot be meant is named") {
    CHECK(place_of_fault(with({at("/ok", Access::read), at("not/absolute", Access::read)})) ==
          "entries[1].path");
    CHECK(place_of_fault(with({at("/a/../b", Access::read)})) == "entries[0].path");
    CHECK(place_of_fault(with({at(std::string("/a\0b", 4), Access::read)})) == "entries[0].path");
    CHECK(place_of_fault(with({at("", Access::read)})) == "entries[0].path");
    CHECK(place_of_fault(with({glob("/a/[b")})) == "entries[0].path");
    CHECK(place_of_fault(with({special(Special::project_roots, Access::read, "../x")})) ==
          "entries[0].path");
    CHECK(place_of_fault(with({special(Special::project_roots, Access::read, "/x")})) ==
          "entries[0].path");
    CHECK(place_of_fault(with({special(Special::unknown, Access::read, "../x")})) == "");
    CHECK(place_of_fault(with({at("/a..b/..c", Access::read), glob("**/*.env")})) == "");
    CHECK(place_of_fault(with(std::vector(most_entries, at("/a", Access::read)))) == "");
    CHECK(place_of_fault(with(std::vector(most_entries + 1, at("/a", Access::read)))) == "entries");
}
