// The two forms in which process/start is told how to confine.
#include "protocol/decode.h"
#include "protocol/process_start.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <string>
#include <vector>

using ew::ErrorKind;
using ew::Result;
using ew::protocol::decode;
using namespace ew::protocol;

namespace {

std::string start_with(const std::string& sandbox) {
    return R"({"processId":"p","argv":["true"],"cwd":"/","env":{},"tty":false,"sandbox":)" +
           sandbox + "}";
}

SandboxRequest request_of(const std::string& sandbox) {
    CAPTURE(sandbox);
    ew::test::Parsed parsed(start_with(sandbox));
    REQUIRE(parsed.is_json());
    Result<StartParams> params = decode<StartParams>(parsed.value());
    if (!params) FAIL(params.error().message);
    REQUIRE(params->sandbox.has_value());
    return *params->sandbox;
}

ew::Error error_of(const std::string& sandbox) {
    ew::test::Parsed parsed(start_with(sandbox));
    CAPTURE(sandbox);
    REQUIRE(parsed.is_json());
    Result<StartParams> params = decode<StartParams>(parsed.value());
    REQUIRE_FALSE(params);
    CHECK(params.error().kind == ErrorKind::invalid_params);
    return params.error();
}

struct Wrong {
    std::string json;
    std::string path;
};

void check_each(const std::vector<Wrong>& all, const std::string& before, const std::string& where,
                const std::string& after) {
    for (const Wrong& one : all) {
        CAPTURE(one.json);
        CHECK(error_of(before + one.json + after).path == where + one.path);
    }
}

std::string with_entry(const std::string& entry) {
    return R"({"permissions":{"type":"managed","network":"restricted",
               "file_system":{"type":"restricted","entries":[)" +
           entry + "]}}}";
}

} // namespace

TEST_SUITE_BEGIN("protocol/decode_sandbox");

TEST_CASE("the form of Codex is read as it is sent") {
    const SandboxRequest request = request_of(
        R"({"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[
             {"path":{"type":"special","value":{"kind":"root"}},"access":"read"},
             {"path":{"type":"special","value":{"kind":"project_roots","subpath":".git"}},
              "access":"read","missing_path_behavior":"skip"},
             {"path":{"type":"path","path":"file:///srv/w/my%20secret"},"access":"none"},
             {"path":{"type":"glob_pattern","pattern":"**/.env"},"access":"deny"}],
             "glob_scan_max_depth":3},"network":"restricted"},
            "policyContext":{"cwd":"file:///srv/w","workspaceRoots":["file:///srv/w"]},
            "userHomeDir":"file:///root","temporaryDirectories":[],
            "windowsSandboxLevel":"restricted-token","windowsSandboxProxySettingsMode":"reconcile",
            "useLegacyLandlock":false})");

    CHECK_FALSE(request.is_disabled());
    REQUIRE(request.permissions.has_value());
    CHECK(request.permissions->network == NetworkPolicy::restricted);
    const FileSystemPolicy& files = *request.permissions->file_system;
    CHECK(files.glob_scan_max_depth == 3);
    REQUIRE(files.entries->size() == 4);
    CHECK((*files.entries)[0].path.value->kind == SpecialKind::root);
    CHECK((*files.entries)[1].path.value->subpath == ".git");
    CHECK((*files.entries)[1].missing_path_behavior == MissingPath::skip);
    CHECK((*files.entries)[2].path.path->native == "/srv/w/my secret");
    CHECK((*files.entries)[2].access == EntryAccess::none);
    CHECK((*files.entries)[3].path.pattern == "**/.env");
    CHECK(request.policy_context->cwd->native == "/srv/w");
    CHECK(request.windows_sandbox_level == WindowsLevel::restricted_token);
}

TEST_CASE("the older form of Codex has the directories beside the permissions") {
    const SandboxRequest request =
        request_of(R"({"permissions":{"type":"managed","network":"enabled",
                       "file_system":{"type":"unrestricted"}},
                       "cwd":"file:///srv/w","workspaceRoots":["file:///srv/w","/srv/x"]})");

    CHECK_FALSE(request.policy_context.has_value());
    CHECK(request.cwd->native == "/srv/w");
    CHECK(request.workspace_roots->back().native == "/srv/x");
    CHECK_FALSE(request.windows_sandbox_level.has_value());
}

TEST_CASE("a sandbox is disabled when permissions or mode say so, and not otherwise") {
    CHECK(request_of(R"({"permissions":{"type":"disabled"}})").is_disabled());
    CHECK(request_of(R"({"mode":"disabled"})").is_disabled());
    CHECK(request_of(R"({"mode":"forbid","policy":"read-only"})").is_disabled());

    CHECK_FALSE(
        request_of(R"({"permissions":{"type":"external","network":"enabled"}})").is_disabled());
    CHECK_FALSE(request_of(R"({"mode":"auto","policy":"read-only"})").is_disabled());
}

TEST_CASE("the form with a mode is read, with a policy or only its name") {
    const SandboxRequest named = request_of(R"({"mode":"auto","policy":"workspace-write"})");
    CHECK(named.mode == LaunchMode::automatic);
    CHECK(named.policy->type == SandboxMode::workspace_write);
    CHECK_FALSE(named.policy->shared_tmp);

    const SandboxRequest full = request_of(
        R"({"mode":"require","policy":{"type":"workspace-write","writableRoots":["/a"],
            "denyRead":["file:///b%20c","*.key"],"networkAccess":true,"sharedTmp":true,
            "excludeSlashTmp":true,"excludeTmpdirEnvVar":true},"networkPolicy":"enabled",
            "policyCwd":"/w","enforceManagedNetwork":true,"enforcement":"require",
            "reportWrites":true})");
    CHECK(full.mode == LaunchMode::require);
    CHECK(full.policy->writable_roots->front().native == "/a");
    CHECK(full.policy->deny_read == std::vector<std::string>{"/b c", "*.key"});
    CHECK(full.policy->network_access);
    CHECK(full.policy->shared_tmp);
    CHECK(full.policy->exclude_slash_tmp);
    CHECK(full.policy->exclude_tmpdir_env_var);
    CHECK_FALSE(full.file_system_policy.has_value());
    CHECK(full.network_policy == NetworkPolicy::enabled);
    CHECK(full.policy_cwd->native == "/w");
    CHECK(full.enforce_managed_network);
    CHECK(full.enforcement == Enforcement::require);
    CHECK(full.report_writes == true);
}

TEST_CASE("other spellings of a policy mean the same") {
    const SandboxRequest snake = request_of(
        R"({"mode":"auto","policy":{"type":"workspaceWrite","writable_roots":["/a"],
            "deny_read":["/b"],"network_access":true,"shared_tmp":true,"exclude_slash_tmp":true,
            "exclude_tmpdir_env_var":true},"sandboxPolicyCwd":"/w"})");

    CHECK(snake.policy->type == SandboxMode::workspace_write);
    CHECK(snake.policy->writable_roots->front().native == "/a");
    CHECK(snake.policy->deny_read == std::vector<std::string>{"/b"});
    CHECK(snake.policy->network_access);
    CHECK(snake.policy->shared_tmp);
    CHECK(snake.policy->exclude_slash_tmp);
    CHECK(snake.policy->exclude_tmpdir_env_var);
    CHECK(snake.policy_cwd->native == "/w");

    const SandboxRequest files =
        request_of(R"({"mode":"auto","file_system_policy":{"kind":"external"}})");
    CHECK(files.file_system_policy->type == FileSystemType::external);
}

TEST_CASE("what a mode without confinement says beside its type means nothing, but for paths") {
    const SandboxRequest request = request_of(
        R"({"mode":"auto","policy":{"type":"external-sandbox","network_access":"restricted"}})");

    CHECK(request.policy->type == SandboxMode::external_sandbox);
    CHECK_FALSE(request.policy->network_access);
    CHECK(request_of(R"({"mode":"auto","policy":{"type":"danger-full-access","denyRead":[],
                         "writableRoots":null,"sharedTmp":"yes"}})")
              .policy->deny_read.empty());

    for (const std::string mode : {"danger-full-access", "externalSandbox"})
        check_each({{R"("denyRead":["/a"])", "denyRead"},
                    {R"("deny_read":["/a"])", "deny_read"},
                    {R"("denyRead":"/a")", "denyRead"},
                    {R"("writableRoots":["/a"])", "writableRoots"},
                    {R"("networkAccess":false,"writable_roots":["/a"])", "writable_roots"}},
                   R"({"mode":"auto","policy":{"type":")" + mode + "\",", "sandbox.policy.", "}}");
}

TEST_CASE("paths of a policy are refused beside a file system policy, which would replace them") {
    check_each({{R"("denyRead":["/a"])", "denyRead"},
                {R"("deny_read":["**/.env"])", "denyRead"},
                {R"("writableRoots":["/a"])", "writableRoots"}},
               R"({"mode":"auto","fileSystemPolicy":{"type":"restricted","entries":[]},
                   "policy":{"type":"workspace-write",)",
               "sandbox.policy.", "}}");

    const SandboxRequest request =
        request_of(R"({"mode":"auto","fileSystemPolicy":{"type":"restricted","entries":[]},
                       "policy":{"type":"workspace-write","writableRoots":[],"denyRead":[]}})");
    CHECK(request.file_system_policy->type == FileSystemType::restricted);
}

TEST_CASE("whoever requires a sandbox cannot leave it to somebody else") {
    check_each({{R"("policy":"external-sandbox")", "policy"},
                {R"("policy":{"type":"external-sandbox"},"networkPolicy":"restricted")", "policy"},
                {R"("fileSystemPolicy":{"type":"external"})", "fileSystemPolicy.type"},
                {R"("policy":"read-only","fileSystemPolicy":{"type":"external"})",
                 "fileSystemPolicy.type"}},
               R"({"mode":"require",)", "sandbox.", "}");

    const SandboxRequest request = request_of(R"({"mode":"require","policy":"external-sandbox",
                       "fileSystemPolicy":{"type":"restricted","entries":[]}})");
    CHECK(request.mode == LaunchMode::require);
}

TEST_CASE("a sandbox that is in neither form, or in both, is refused") {
    CHECK(error_of("{}").path == "sandbox.permissions");
    CHECK(error_of(R"({"permissions":null,"windowsSandboxLevel":"disabled"})").path ==
          "sandbox.permissions");
    CHECK(error_of(R"({"type":"disabled"})").path == "sandbox.permissions");
    check_each({{R"("mode":"auto")", "mode"},
                {R"("mode":"disabled")", "mode"},
                {R"("policy":"read-only")", "policy"},
                {R"("fileSystemPolicy":{"type":"unrestricted"})", "fileSystemPolicy"},
                {R"("networkPolicy":"enabled")", "networkPolicy"}},
               R"({"permissions":{"type":"disabled"},)", "sandbox.", "}");
}

TEST_CASE("wrong permissions are refused with the member that is wrong") {
    check_each(
        {{"5", ""},
         {"{}", ".type"},
         {R"({"type":"zz"})", ".type"},
         {R"({"type":"managed"})", ".file_system"},
         {R"({"type":"managed","network":"enabled"})", ".file_system"},
         {R"({"type":"managed","file_system":{"type":"unrestricted"}})", ".network"},
         {R"({"type":"external"})", ".network"},
         {R"({"type":"external","network":"zz"})", ".network"},
         {R"({"type":"managed","network":true,"file_system":{}})", ".file_system.type"},
         {R"({"type":"managed","file_system":{"type":"restricted"}})", ".file_system.entries"},
         {R"({"type":"managed","file_system":{"type":"restricted","entries":[],
                     "glob_scan_max_depth":0}})",
          ".file_system.glob_scan_max_depth"}},
        "{\"permissions\":", "sandbox.permissions", "}");
}

TEST_CASE("a wrong entry is refused with its place") {
    for (const Wrong& one : std::vector<Wrong>{
             {"5", ""},
             {R"({"access":"read"})", ".path"},
             {R"({"path":{"type":"special","value":{"kind":"root"}}})", ".access"},
             {R"({"path":{"type":"special","value":{"kind":"root"}},"access":"zz"})", ".access"},
             {R"({"path":{"type":"special","value":{"kind":"zz"}},"access":"read"})",
              ".path.value.kind"},
             {R"({"path":{"type":"special"},"access":"read"})", ".path.value"},
             {R"({"path":{"type":"path"},"access":"read"})", ".path.path"},
             {R"({"path":{"type":"glob_pattern"},"access":"read"})", ".path.pattern"},
             {R"({"path":{"type":"zz"},"access":"read"})", ".path.type"},
             {R"({"path":"/a","access":"read"})", ".path"},
             {R"({"path":{"type":"path","path":"/a"},"access":"read"})", ".path.path"},
             {R"({"path":{"type":"path","path":"http://a/"},"access":"read"})", ".path.path"},
             {R"({"path":{"type":"path","path":"file:///a"},"access":"read",
                  "missing_path_behavior":"make"})",
              ".missing_path_behavior"}}) {
        CAPTURE(one.json);
        CHECK(error_of(with_entry(one.json)).path ==
              "sandbox.permissions.file_system.entries[0]" + one.path);
    }
}

TEST_CASE("wrong members around the permissions are refused") {
    check_each({{R"("policyContext":5)", "policyContext"},
                {R"("policyContext":{"cwd":"w"})", "policyContext.cwd"},
                {R"("policyContext":{"workspaceRoots":["w"]})", "policyContext.workspaceRoots[0]"},
                {R"("cwd":"w")", "cwd"},
                {R"("workspaceRoots":"/w")", "workspaceRoots"},
                {R"("windowsSandboxLevel":"zz")", "windowsSandboxLevel"},
                {R"("useLegacyLandlock":"no")", "useLegacyLandlock"},
                {R"("enforcement":"zz")", "enforcement"},
                {R"("reportWrites":1)", "reportWrites"}},
               R"({"permissions":{"type":"disabled"},)", "sandbox.", "}");
}

TEST_CASE("a wrong form with a mode is refused with the member that is wrong") {
    check_each(
        {{R"("zz")", "mode"},
         {R"("auto")", "policy"},
         {R"("require","networkPolicy":"enabled")", "policy"},
         {R"("auto","policy":5)", "policy"},
         {R"("auto","policy":"zz")", "policy"},
         {R"("auto","policy":{})", "policy.type"},
         {R"("auto","policy":{"type":"zz"})", "policy.type"},
         {R"("auto","policy":{"type":"read-only","networkAccess":"on"})", "policy.networkAccess"},
         {R"("auto","policy":{"type":"workspace-write","writable_roots":["a"]})",
          "policy.writable_roots[0]"},
         {R"("auto","policy":{"type":"read-only","denyRead":["a"]})", "policy.denyRead[0]"},
         {R"("auto","policy":{"type":"read-only","sharedTmp":true,"shared_tmp":false})",
          "policy.sharedTmp"},
         {R"("auto","policy":{"type":"read-only","access":{"type":"restricted"}})",
          "policy.access"},
         {R"("auto","fileSystemPolicy":{"type":"restricted"})", "fileSystemPolicy.entries"},
         {R"("auto","policy":"read-only","networkPolicy":"zz")", "networkPolicy"},
         {R"("auto","policy":"read-only","policyCwd":"w")", "policyCwd"},
         {R"("require","policy":"read-only","enforcement":"best-effort")", "enforcement"}},
        "{\"mode\":", "sandbox.", "}");
}

TEST_SUITE_END();
