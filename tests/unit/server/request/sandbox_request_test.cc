#include "protocol/decode.h"
#include "protocol/process_start.h"
#include "server/request/sandbox_request.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <algorithm>
#include <string>
#include <vector>

using ew::ErrorKind;
using ew::Result;
using ew::protocol::StartParams;
using ew::sandbox::Access;
using ew::sandbox::Enforcement;
using ew::sandbox::Entry;
using ew::sandbox::FileSystem;
using ew::sandbox::Network;
using ew::sandbox::Special;
using namespace ew::server;

namespace {

StartParams start(const std::string& members, const std::string& env = "{}") {
    ew::test::Parsed parsed(
        R"({"processId":"p","argv":["true"],"cwd":"/run/here","tty":false,"env":)" + env +
        (members.empty() ? "" : ",") + members + "}");
    REQUIRE(parsed.is_json());
    Result<StartParams> params = ew::protocol::decode<StartParams>(parsed.value());
    if (!params) FAIL(params.error().message);
    return std::move(*params);
}

std::optional<SandboxOrder> order_for(const std::string& members, const ServerSide& side = {}) {
    Result<std::optional<SandboxOrder>> order = sandbox_of(start(members), side);
    if (!order) FAIL(order.error().message);
    return std::move(*order);
}

SandboxOrder some_order(const std::string& members, const ServerSide& side = {}) {
    std::optional<SandboxOrder> order = order_for(members, side);
    REQUIRE(order.has_value());
    return std::move(*order);
}

ew::Error refusal_of(const std::string& members) {
    CAPTURE(members);
    Result<std::optional<SandboxOrder>> order = sandbox_of(start(members), {});
    REQUIRE_FALSE(order);
    return order.error();
}

std::string managed(const std::string& entries, const std::string& network = "restricted",
                    const std::string& more = "") {
    return R"("sandbox":{"permissions":{"type":"managed","network":")" + network +
           R"(","file_system":{"type":"restricted","entries":[)" + entries + "]}}" + more + "}";
}

std::string special(const std::string& kind, const std::string& access) {
    return R"({"path":{"type":"special","value":{"kind":")" + kind + R"("}},"access":")" + access +
           "\"}";
}

bool grants_write(const ew::sandbox::Policy& policy, Special place) {
    return std::ranges::any_of(policy.entries, [place](const Entry& entry) {
        return entry.kind == Entry::Kind::special && entry.special == place &&
               entry.access == Access::write;
    });
}

} // namespace

TEST_SUITE_BEGIN("server/sandbox_request");

TEST_CASE("nothing asked for, and what is disabled or external, is no order") {
    for (const std::string members :
         {"", R"("sandbox":null)", R"("sandbox":{"permissions":{"type":"disabled"}})",
          R"("sandbox":{"permissions":{"type":"external","network":"restricted"}})",
          R"("sandbox":{"mode":"disabled"})", R"("sandbox":{"mode":"forbid","policy":"read-only"})",
          R"("sandbox":{"mode":"auto","policy":"external-sandbox"})",
          R"("sandbox":{"mode":"auto","fileSystemPolicy":{"type":"external"}})",
          R"("enforceManagedNetwork":false,"managedNetwork":null)"}) {
        CAPTURE(members);
        CHECK_FALSE(order_for(members).has_value());
    }
}

TEST_CASE("a policy with nothing to enforce is no order, unless a sandbox is required") {
    CHECK_FALSE(order_for(R"("sandbox":{"permissions":{"type":"managed","network":"enabled",
                             "file_system":{"type":"unrestricted"}}})"));
    CHECK_FALSE(order_for(managed(special("root", "write"), "enabled")));
    CHECK_FALSE(order_for(R"("sandbox":{"mode":"auto","policy":"danger-full-access"})"));

    const SandboxOrder order =
        some_order(R"("sandbox":{"mode":"require","policy":"danger-full-access"})");
    CHECK(order.policy.is_wanted);
    CHECK(ew::sandbox::needed_by(order.policy).has(ew::sandbox::Guarantee::proc_hidden));
    CHECK(order.policy.file_system == FileSystem::unrestricted);
}

TEST_CASE("unrestricted files with a restricted network are an order") {
    const SandboxOrder order =
        some_order(R"("sandbox":{"permissions":{"type":"managed","network":"restricted",
                      "file_system":{"type":"unrestricted"}}})");

    CHECK(order.policy.file_system == FileSystem::unrestricted);
    CHECK(order.policy.network == Network::restricted);
    CHECK_FALSE(order.policy.is_wanted);
}

TEST_CASE("entries become entries, with older names as the newer ones") {
    const SandboxOrder order = some_order(managed(
        special("root", "read") + "," + special("minimal", "read") + "," +
            special("current_working_directory", "write") + "," + special("tmpdir", "write") + "," +
            special("slash_tmp", "none") + "," + special("unknown", "read") +
            R"(,{"path":{"type":"special","value":{"kind":"project_roots","subpath":".git"}},
                 "access":"read","missing_path_behavior":"skip"},
                {"path":{"type":"path","path":"file:///a%20b"},"access":"deny"},
                {"path":{"type":"glob_pattern","pattern":"/a/*.key"},"access":"deny"})",
        "enabled"));

    std::vector<Entry> expected(9);
    for (Entry& entry : expected)
        entry.kind = Entry::Kind::special;
    expected[0] = {Entry::Kind::special, "", Special::root, Access::read, false};
    expected[1].special = Special::minimal;
    expected[2] = {Entry::Kind::special, "", Special::workspace, Access::write, false};
    expected[3] = {Entry::Kind::special, "", Special::tmpdir, Access::write, false};
    expected[4] = {Entry::Kind::special, "", Special::slash_tmp, Access::deny, false};
    expected[5].special = Special::unknown;
    expected[6] = {Entry::Kind::special, ".git", Special::project_roots, Access::read, true};
    expected[7] = {Entry::Kind::path, "/a b", Special::root, Access::deny, false};
    expected[8] = {Entry::Kind::glob, "/a/*.key", Special::root, Access::deny, false};
    CHECK(order.policy.entries == expected);
    CHECK(order.policy.network == Network::enabled);
    CHECK_FALSE(order.policy.has_private_tmp);
    CHECK(order.policy.protects_metadata);
}

TEST_CASE("the directories come from the newer place, else the older, else the start") {
    const std::string read = special("root", "read");
    const SandboxOrder newer = some_order(managed(
        read, "restricted", R"(,"policyContext":{"cwd":"/n","workspaceRoots":["/n/1","/n/2"]},
                                        "cwd":"/o","workspaceRoots":["/o"])"));
    CHECK(newer.context.cwd == "/n");
    CHECK(newer.context.workspace_roots == std::vector<std::string>{"/n/1", "/n/2"});

    const SandboxOrder older = some_order(
        managed(read, "restricted", R"(,"cwd":"file:///o","workspaceRoots":["file:///o/1"])"));
    CHECK(older.context.cwd == "/o");
    CHECK(older.context.workspace_roots == std::vector<std::string>{"/o/1"});

    const SandboxOrder none = some_order(managed(read));
    CHECK(none.context.cwd == "/run/here");
    CHECK(none.context.workspace_roots.empty());
}

TEST_CASE("with a mode the directory is the workspace root") {
    const SandboxOrder here = some_order(R"("sandbox":{"mode":"auto","policy":"workspace-write"})");
    CHECK(here.context.workspace_roots == std::vector<std::string>{"/run/here"});

    const SandboxOrder named =
        some_order(R"("sandbox":{"mode":"auto","policy":"workspace-write","policyCwd":"/w"})");
    CHECK(named.context.cwd == "/w");
    CHECK(named.context.workspace_roots == std::vector<std::string>{"/w"});
}

TEST_CASE("a mode with options is the policy of that mode") {
    const SandboxOrder order = some_order(
        R"("sandbox":{"mode":"auto","policy":{"type":"workspace-write","writableRoots":["/x"],
           "denyRead":["/y"],"networkAccess":true,"sharedTmp":true,"excludeSlashTmp":true}})");

    ew::sandbox::ModeOptions options;
    options.writable_roots = {"/x"};
    options.deny_read = {"/y"};
    options.has_network = true;
    options.shares_tmp = true;
    options.excludes_slash_tmp = true;
    CHECK(order.policy == ew::sandbox::policy_of(ew::core::SandboxMode::workspace_write, options));
    CHECK_FALSE(grants_write(order.policy, Special::slash_tmp));
    CHECK(grants_write(order.policy, Special::tmpdir));
}

TEST_CASE("policies of their own for files and network win over the mode") {
    const SandboxOrder order = some_order(
        R"("sandbox":{"mode":"auto","policy":"workspace-write","networkPolicy":"enabled",
           "fileSystemPolicy":{"type":"restricted","glob_scan_max_depth":2,"entries":[)" +
        special("root", "read") + "]}}");

    CHECK(order.policy.entries.size() == 1);
    CHECK(order.policy.glob_depth == 2);
    CHECK_FALSE(order.policy.has_private_tmp);
    CHECK(order.policy.network == Network::enabled);

    const SandboxOrder alone =
        some_order(R"("sandbox":{"mode":"auto","fileSystemPolicy":{"type":"unrestricted"}})");
    CHECK(alone.policy.network == Network::restricted);
}

TEST_CASE("what the request does not say about enforcement, the server says") {
    ServerSide side;
    side.enforcement = Enforcement::best_effort;
    side.reports_writes = true;
    side.hidden = {"/h"};
    const std::string read = special("root", "read");

    const SandboxOrder silent = some_order(managed(read), side);
    CHECK(silent.policy.enforcement == Enforcement::best_effort);
    CHECK(silent.policy.reports_writes);
    CHECK(silent.context.hidden == std::vector<std::string>{"/h"});

    const SandboxOrder telling = some_order(
        managed(read, "restricted", R"(,"enforcement":"require","reportWrites":false)"), side);
    CHECK(telling.policy.enforcement == Enforcement::require);
    CHECK_FALSE(telling.policy.reports_writes);

    const SandboxOrder required =
        some_order(R"("sandbox":{"mode":"require","policy":"read-only"})", side);
    CHECK(required.policy.enforcement == Enforcement::require);
    CHECK(some_order(managed(read, "restricted", R"(,"enforcement":"best-effort")"))
              .policy.enforcement == Enforcement::best_effort);
}

TEST_CASE("the temporary directory is that of the environment the program gets") {
    const std::string sandbox = managed(special("root", "read"));
    const auto tmpdir = [&](const std::string& env, const std::string& more = "") {
        Result<std::optional<SandboxOrder>> order = sandbox_of(start(sandbox + more, env), {});
        REQUIRE(order);
        return (*order)->context.tmpdir;
    };
    const std::string policy =
        R"(,"envPolicy":{"inherit":"none","ignoreDefaultExcludes":true,"exclude":[],
            "set":{"TMPDIR":"/set"},"includeOnly":[]})";

    CHECK(tmpdir("{}").empty());
    CHECK(tmpdir(R"({"TMPDIR":"/t"})") == "/t");
    CHECK(tmpdir(R"({"TMPDIR":"t"})").empty());
    CHECK(tmpdir("{}", policy) == "/set");
    CHECK(tmpdir(R"({"TMPDIR":"/t"})", policy) == "/t");
    CHECK(tmpdir(R"({"TMPDIR":""})", policy).empty());
}

TEST_CASE("a managed network cannot be had, with a sandbox or without") {
    for (const auto& [members, path] :
         {std::pair(R"("enforceManagedNetwork":true)", "enforceManagedNetwork"),
          std::pair(R"("managedNetwork":{})", "managedNetwork"),
          std::pair(R"("networkProxy":{"proxy":{"enabled":true,"mode":"full"}})", "networkProxy"),
          std::pair(R"("sandbox":{"permissions":{"type":"disabled"}},"managedNetwork":{})",
                    "managedNetwork"),
          std::pair(
              R"("sandbox":{"mode":"auto","policy":"read-only","enforceManagedNetwork":true})",
              "sandbox.enforceManagedNetwork")}) {
        const ew::Error error = refusal_of(members);
        CHECK(error.kind == ErrorKind::sandbox_unavailable);
        CHECK(error.path == path);
    }
}

namespace {

// A start in a sandbox with a proxy that is to let these domains through.
std::string with_domains(const std::string& domains, const std::string& more = "") {
    return R"("sandbox":{"mode":"auto","policy":"read-only"},"enforceManagedNetwork":true,)"
           R"("networkProxy":{"proxy":{"enabled":true,"mode":"full","domains":{)" +
           domains + "}" + more + "}}";
}

ew::core::Decision decision_in(const SandboxOrder& order, const char* host,
                               std::uint16_t port = 443) {
    return ew::core::rule_on(order.context.hosts, {host, ew::core::read_internet(host), port})
        .decision;
}

} // namespace

TEST_CASE("a proxy that is to be started stands for a network by host with its domains") {
    const SandboxOrder order =
        some_order(with_domains(R"("one.example":"allow","*.below.example":"allow",)"
                                R"("**.both.example":"allow","bad.both.example":"deny",)"
                                R"("192.0.2.7":"allow","none.example":"none")",
                                R"(,"enableSocks5":true,"unixSockets":{"/x":"none"})"));

    CHECK(order.policy.network == Network::hosts);
    for (const char* host : {"one.example", "a.below.example", "a.b.below.example", "both.example",
                             "a.both.example", "192.0.2.7"})
        CHECK_MESSAGE(decision_in(order, host, 22) == ew::core::Decision::allow, host);
    for (const char* host :
         {"a.one.example", "below.example", "none.example", "other.example", "192.0.2.8"})
        CHECK_MESSAGE(decision_in(order, host) == ew::core::Decision::prompt, host);
    CHECK(decision_in(order, "bad.both.example") == ew::core::Decision::forbidden);
}

TEST_CASE("a proxy that allows every host allows names and public addresses, but what it denies") {
    const SandboxOrder order = some_order(with_domains(R"("*":"allow","bad.example":"deny")"));
    CHECK(decision_in(order, "any.example") == ew::core::Decision::allow);
    CHECK(decision_in(order, "192.0.2.8") == ew::core::Decision::allow);
    CHECK(decision_in(order, "bad.example") == ew::core::Decision::forbidden);
}

TEST_CASE("what a network by host does not keep of a proxy refuses the start, with its member") {
    const auto proxy = [](const std::string& members) {
        return R"("sandbox":{"mode":"auto","policy":"read-only"},"networkProxy":{"proxy":{)" +
               members + "}}";
    };
    const std::string place = "networkProxy.proxy.";
    for (const auto& [members, member] : {
             std::pair(proxy(R"("enabled":false,"mode":"full")"), "enabled"),
             std::pair(proxy(R"("enabled":true,"mode":"limited")"), "mode"),
             std::pair(with_domains("", R"(,"dangerouslyAllowAllUnixSockets":true)"),
                       "dangerouslyAllowAllUnixSockets"),
             std::pair(with_domains("", R"(,"unixSockets":{"/x":"allow"})"), "unixSockets"),
             std::pair(with_domains(R"("*":"deny")"), "domains"),
             std::pair(with_domains(R"("a*.example":"allow")"), "domains"),
             std::pair(with_domains(R"("a.example:443":"allow")"), "domains"),
             std::pair(with_domains(R"("192.0.2.0/24":"deny")"), "domains"),
             std::pair(with_domains(R"("a.example":"ask")"), "domains"),
         }) {
        const ew::Error error = refusal_of(members);
        CHECK_MESSAGE(error.kind == ErrorKind::sandbox_unavailable, members);
        CHECK_MESSAGE(error.path == place + member, members);
    }
}

TEST_CASE("a network by host is a managed one, also without a proxy") {
    const std::string by_host = R"("mode":"auto","policy":{"type":"read-only","network":"hosts"})";
    CHECK(order_for(R"("enforceManagedNetwork":true,"sandbox":{)" + by_host + "}"));
    CHECK(order_for(R"("sandbox":{"enforceManagedNetwork":true,)" + by_host + "}"));
    CHECK(
        refusal_of(R"("enforceManagedNetwork":true,"sandbox":{"mode":"auto","policy":"read-only"})")
            .path == "enforceManagedNetwork");
}

TEST_CASE("a policy that makes no sense is refused with the place of it") {
    const ew::Error entry = refusal_of(managed(
        special("root", "read") +
        R"(,{"path":{"type":"special","value":{"kind":"tmpdir","subpath":"../x"}},"access":"read"})"));
    CHECK(entry.kind == ErrorKind::invalid_params);
    CHECK(entry.path.starts_with("sandbox.permissions.file_system."));

    const ew::Error mode = refusal_of(
        R"("sandbox":{"mode":"auto","policy":{"type":"read-only","denyRead":["/a/../b"]}})");
    CHECK(mode.kind == ErrorKind::invalid_params);
    CHECK(mode.path == "sandbox.policy");
}

TEST_CASE("a place that nobody here knows cannot be denied") {
    CHECK(refusal_of(managed(special("unknown", "deny"))).kind == ErrorKind::sandbox_unavailable);
}

TEST_CASE("roots of the workspace cannot be denied where there are none") {
    for (const std::string context :
         {"", R"(,"policyContext":{"cwd":"/n"})", R"(,"policyContext":{"workspaceRoots":[]})",
          R"(,"workspaceRoots":[])"})
        for (const std::string access : {"deny", "none"}) {
            const ew::Error error =
                refusal_of(managed(special("project_roots", access), "restricted", context));
            CHECK(error.kind == ErrorKind::sandbox_unavailable);
            CHECK(error.path == "sandbox");
        }

    const std::string denied = special("project_roots", "deny");
    CHECK(order_for(managed(denied, "restricted", R"(,"workspaceRoots":["/w"])")).has_value());
    CHECK(order_for(managed(special("project_roots", "write"))).has_value());
    CHECK(order_for(managed(special("current_working_directory", "deny"))).has_value());
}

TEST_CASE("refused writes are reported where the approval policy may ask after them") {
    using ew::core::ApprovalPolicy;
    SessionSettings settings;
    settings.config.sandbox = ew::core::SandboxMode::workspace_write;
    const auto reports = [&settings](ApprovalPolicy policy) {
        settings.config.approval_policy = policy;
        return policy_of(settings).reports_writes;
    };
    for (const ApprovalPolicy policy :
         {ApprovalPolicy::untrusted, ApprovalPolicy::on_failure, ApprovalPolicy::granular})
        CHECK(reports(policy));
    for (const ApprovalPolicy policy : {ApprovalPolicy::on_request, ApprovalPolicy::never})
        CHECK_FALSE(reports(policy));
    settings.config.granular.sandbox_approval = false;
    CHECK_FALSE(reports(ApprovalPolicy::granular));
}

TEST_CASE("the settings of a session are a policy") {
    SessionSettings settings;
    settings.workspace_roots = {"/w"};
    settings.config.sandbox = ew::core::SandboxMode::workspace_write;
    settings.config.confinement.writable_roots = {"/x"};
    settings.config.confinement.network_access = true;
    settings.config.confinement.enforcement = ew::config::Enforcement::best_effort;
    settings.config.confinement.report_writes = true;

    const ew::sandbox::Policy policy = policy_of(settings);
    CHECK(policy.network == Network::enabled);
    CHECK(policy.enforcement == Enforcement::best_effort);
    CHECK(policy.reports_writes);
    CHECK(policy.has_private_tmp);
    CHECK(std::ranges::any_of(policy.entries, [](const Entry& entry) {
        return entry.path == "/x" && entry.access == Access::write;
    }));

    const ew::sandbox::Context context = context_of(settings, "/w/src", "/t", {"/h"});
    CHECK(context.cwd == "/w/src");
    CHECK(context.workspace_roots == settings.workspace_roots);
    CHECK(context.tmpdir == "/t");
    CHECK(context.hidden == std::vector<std::string>{"/h"});
}

TEST_CASE("execward's own places are directories, and files where they lie elsewhere") {
    const ew::config::Paths paths = ew::config::paths_below("/c", "/s", "/home/u");
    using List = std::vector<std::string>;

    CHECK(hidden_places(paths, "") == List{"/c/execward", "/s/execward"});
    CHECK(hidden_places(paths, "/s/execward/x.db") == List{"/c/execward", "/s/execward"});
    CHECK(hidden_places(paths, ":memory:") == List{"/c/execward", "/s/execward"});
    CHECK(hidden_places(paths, "/home/u/x.db") == List{"/c/execward", "/s/execward", "/home/u/x.db",
                                                       "/home/u/x.db-journal", "/home/u/x.db-wal",
                                                       "/home/u/x.db-shm"});
    CHECK(hidden_places(paths, "/s/execward2/x.db").size() == 6);

    ew::config::Paths other = paths;
    other.config_file = "/home/u/e.toml";
    CHECK(hidden_places(other, "") == List{"/c/execward", "/s/execward", "/home/u/e.toml"});
    CHECK(hidden_places({}, "").empty());
}

TEST_SUITE_END();
