#include "protocol/approval.h"
#include "protocol/decode.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
#include "protocol/policy.h"
#include "protocol/process_output.h"
#include "protocol/process_start.h"
#include "protocol/session.h"
#include "protocol/settings.h"
#include "protocol/stored_approvals.h"
#include "support/parsed.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using ew::ErrorKind;
using ew::Result;
using ew::protocol::decode;
using namespace ew::protocol;

namespace {

// The params of a start with one member more.
std::string start_with(std::string_view member) {
    return R"({"processId":"p","argv":["true"],"cwd":"/","env":{},"tty":false,)" +
           std::string(member) + "}";
}

template <class Params>
Params decoded(std::string_view json) {
    ew::test::Parsed parsed(json);
    REQUIRE(parsed.is_json());
    Result<Params> params = decode<Params>(parsed.value());
    if (!params) FAIL(params.error().message);
    return std::move(*params);
}

template <class Params>
ew::Error error_of(std::string_view json) {
    ew::test::Parsed parsed(json);
    REQUIRE(parsed.is_json());
    Result<Params> params = decode<Params>(parsed.value());
    REQUIRE_FALSE(params);
    return params.error();
}

} // namespace

TEST_SUITE_BEGIN("protocol/decode");

TEST_CASE("a start with nothing but what is required has the defaults") {
    const auto params = decoded<StartParams>(start_with(R"("unknown":1)"));

    CHECK(params.argv == std::vector<std::string>{"true"});
    CHECK(params.cwd.native == "/");
    CHECK_FALSE(params.pipe_stdin);
    CHECK_FALSE(params.sandbox.has_value());
    CHECK_FALSE(params.timeout_ms.has_value());
    CHECK(params.grace_ms == 0);
}

TEST_CASE("an error of params names the member and what is expected of it") {
    const ew::Error error = error_of<StartParams>(start_with(R"("size":{"rows":0,"cols":1})"));

    CHECK(error.kind == ErrorKind::invalid_params);
    CHECK(error.path == "size.rows");
    CHECK(error.message == "size.rows: expected a whole number from 1 to 65535");
}

TEST_CASE("params that are no object say so") {
    CHECK(error_of<ReadParams>("5").message == "params: expected an object");
    CHECK(error_of<ReadParams>("[1]").message == "params: expected an object");
}

TEST_CASE("absent params and an empty array count as an empty object") {
    CHECK(decode<ReadParams>(nullptr).error().path == "processId");
    CHECK(error_of<ReadParams>("[]").path == "processId");
    CHECK(decode<InitializeParams>(nullptr));
}

TEST_CASE("an empty argv is refused") {
    CHECK(error_of<StartParams>(R"({"processId":"p","argv":[],"cwd":"/","env":{},"tty":false})")
              .path == "argv");
}

TEST_CASE("a confinement that is null is none, and one of another type is refused") {
    for (const std::string member : {"sandbox", "managedNetwork", "networkProxy"}) {
        CAPTURE(member);
        const auto params = decoded<StartParams>(start_with('"' + member + R"(":null)"));
        CHECK_FALSE((params.sandbox || params.managed_network || params.network_proxy));

        const ew::Error error = error_of<StartParams>(start_with('"' + member + R"(":"x")"));
        CHECK(error.path == member);
        CHECK(error.message.starts_with(member + ": expected an object"));
    }
}

TEST_CASE("the id that a cancel names is compared as the id of a request is kept") {
    CHECK(decoded<CancelParams>(R"({"id":"a"})").id.json == R"("a")");
    CHECK(decoded<CancelParams>(R"({"id":-1})").id.json == "-1");
    CHECK(error_of<CancelParams>(R"({"id":null})").path == "id");
}

TEST_CASE("a command with nothing but what runs has the defaults") {
    const auto params =
        decoded<ExecCommandParams>(R"({"command":"true","size":null,"login":null})");

    CHECK(params.command == "true");
    CHECK_FALSE(params.argv.has_value());
    CHECK_FALSE(params.login.has_value());
    CHECK_FALSE(params.size.has_value());
    CHECK_FALSE(params.yield_time_ms.has_value());
    CHECK_FALSE(params.tty);
    CHECK(params.on_cancel == OnCancel::keep);
    CHECK(params.sandbox_permissions == SandboxPermissions::use_default);
    CHECK(params.format == ResultFormat::full);
    CHECK(params.env.empty());
}

TEST_CASE("everything that a command may say is read") {
    const auto params = decoded<ExecCommandParams>(
        R"({"argv":["ls","-l"],"workdir":"src","shell":"bash","login":true,"tty":true,
            "size":{"rows":40,"cols":132},"stdin":"in","yieldTimeMs":1,"quietMs":2,
            "onCancel":"terminate","maxOutputTokens":3,"timeoutMs":4,
            "sandboxPermissions":"withAdditionalPermissions",
            "additionalPermissions":{"network":{"enabled":true},"fileSystem":{"write":["build"]}},
            "justification":"why","prefixRule":["ls"],"env":{"A":"b"},"format":"model",
            "callId":"c"})");

    CHECK(params.argv == std::vector<std::string>{"ls", "-l"});
    CHECK(params.workdir == "src");
    CHECK(params.size->cols == 132);
    CHECK(params.stdin_text == "in");
    CHECK(params.yield_time_ms == 1);
    CHECK(params.quiet_ms == 2);
    CHECK(params.on_cancel == OnCancel::terminate);
    CHECK(params.max_output_tokens == 3);
    CHECK(params.timeout_ms == 4);
    CHECK(params.sandbox_permissions == SandboxPermissions::with_additional_permissions);
    CHECK(params.additional_permissions->network->enabled);
    CHECK(params.additional_permissions->file_system->read.empty());
    CHECK(params.additional_permissions->file_system->write == std::vector<std::string>{"build"});
    CHECK(params.prefix_rule == std::vector<std::string>{"ls"});
    CHECK(params.env.front().second == "b");
    CHECK(params.format == ResultFormat::model);
    CHECK(params.call_id == "c");
}

TEST_CASE("a command that is wrong is refused with the member that is") {
    struct Case {
        std::string json;
        std::string path;
    };

    for (const Case& one : std::vector<Case>{
             {R"({"command":5})", "command"},
             {R"({"command":["ls"]})", "command"},
             {R"({"argv":"ls"})", "argv"},
             {R"({"argv":[]})", "argv"},
             {R"({"argv":["ls",5]})", "argv[1]"},
             {R"({"login":"yes"})", "login"},
             {R"({"size":{"rows":24,"cols":65536}})", "size.cols"},
             {R"({"yieldTimeMs":-1})", "yieldTimeMs"},
             {R"({"yieldTimeMs":1.5})", "yieldTimeMs"},
             {R"({"timeoutMs":1e9})", "timeoutMs"},
             {R"({"onCancel":"kill"})", "onCancel"},
             {R"({"sandboxPermissions":"require_escalated"})", "sandboxPermissions"},
             {R"({"additionalPermissions":[]})", "additionalPermissions"},
             {R"({"additionalPermissions":{"network":true}})", "additionalPermissions.network"},
             {R"({"additionalPermissions":{"network":{"enabled":1}}})",
              "additionalPermissions.network.enabled"},
             {R"({"additionalPermissions":{"fileSystem":{"read":["a",5]}}})",
              "additionalPermissions.fileSystem.read[1]"},
             {R"({"prefixRule":"ls"})", "prefixRule"},
             {R"({"env":{"A":5}})", "env.A"},
             {R"({"env":[]})", "env"},
             {R"({"format":"text"})", "format"}}) {
        CAPTURE(one.json);
        const ew::Error error = error_of<ExecCommandParams>(one.json);
        CHECK(error.kind == ErrorKind::invalid_params);
        CHECK(error.path == one.path);
    }
}

TEST_CASE("a callId may have 1024 bytes and no more") {
    const auto with_length = [](std::size_t length) {
        return R"({"command":"true","callId":")" + std::string(length, 'c') + "\"}";
    };

    CHECK(decoded<ExecCommandParams>(with_length(1024)).call_id->size() == 1024);
    CHECK(error_of<ExecCommandParams>(with_length(1025)).path == "callId");
}

TEST_CASE("input for a command needs its process; nothing to type is a poll") {
    const auto params = decoded<ExecWriteParams>(R"({"processId":"1000"})");

    CHECK(params.chars.empty());
    CHECK_FALSE(params.close_stdin);
    CHECK_FALSE(params.no_timeout);
    CHECK(error_of<ExecWriteParams>(R"({"chars":"y"})").path == "processId");
    CHECK(error_of<ExecWriteParams>(R"({"processId":1000})").path == "processId");
    CHECK(error_of<ExecWriteParams>(R"({"processId":"1000","chars":null})").path == "chars");
    CHECK(error_of<ExecWriteParams>(R"({"processId":"1000","quietMs":"1"})").path == "quietMs");
    CHECK(decode<ExecTerminateAllParams>(nullptr));
}

TEST_CASE("an answer to a question is one of the decisions, with one of the scopes or none") {
    const auto answer = decoded<ApprovalAnswer>(
        R"({"decision":"approvedWithPrefixRule","scope":"project","expiresInMs":5,"reason":"r"})");

    CHECK(answer.decision == ApprovalDecision::approved_with_prefix_rule);
    CHECK(answer.scope == ApprovalScope::project);
    CHECK(answer.expires_in_ms == 5);
    CHECK_FALSE(decoded<ApprovalAnswer>(R"({"decision":"abort","scope":null})").scope.has_value());
    CHECK(error_of<ApprovalAnswer>("{}").path == "decision");
    CHECK(error_of<ApprovalAnswer>(R"({"decision":"yes"})").path == "decision");
    CHECK(error_of<ApprovalAnswer>(R"({"decision":"Approved"})").path == "decision");
    CHECK(error_of<ApprovalAnswer>(R"({"decision":"approved","scope":"ever"})").path == "scope");
    CHECK(error_of<ApprovalAnswer>(R"({"decision":"approved","expiresInMs":-1})").path ==
          "expiresInMs");
    CHECK(error_of<ApprovalAnswer>("null").message == "params: expected an object");
}

TEST_CASE("approvals are revoked and granted by members of the right type") {
    CHECK(
        decoded<ApprovalsRevokeParams>(R"({"project":"file:///srv/my%20work"})").project->native ==
        "/srv/my work");
    CHECK(error_of<ApprovalsRevokeParams>(R"({"id":12})").path == "id");
    CHECK(error_of<ApprovalsRevokeParams>(R"({"project":"work"})").path == "project");
    CHECK(error_of<ApprovalsRevokeParams>(R"({"everything":"yes"})").path == "everything");

    CHECK(decoded<ApprovalsGrantParams>(R"({"prefix":["ls"],"scope":"always"})").scope ==
          ApprovalScope::always);
    CHECK(error_of<ApprovalsGrantParams>(R"({"prefix":["ls"]})").path == "scope");
    CHECK(error_of<ApprovalsGrantParams>(R"({"prefix":[],"scope":"always"})").path == "prefix");
    CHECK(error_of<ApprovalsGrantParams>(R"({"prefix":["a",1],"scope":"always"})").path ==
          "prefix[1]");
}

TEST_CASE("what policy/explain is to assume is read, and wrong rules are found by their place") {
    const auto params = decoded<PolicyExplainParams>(
        R"({"command":"ls","approvalPolicy":"on-failure","sandbox":"read-only",
            "rules":[{"prefix":["ls"],"decision":"forbidden"}]})");

    CHECK(params.approval_policy == ApprovalPolicy::on_failure);
    CHECK(params.sandbox == SandboxMode::read_only);
    CHECK(params.rules->front().decision == DecisionName::forbidden);
    CHECK(error_of<PolicyExplainParams>(R"({"argv":[]})").path == "argv");
    CHECK(error_of<PolicyExplainParams>(R"({"rules":[{"prefix":["ls"]}]})").path ==
          "rules[0].decision");
    CHECK(error_of<PolicyExplainParams>(R"({"rules":[{"prefix":[],"decision":"allow"}]})").path ==
          "rules[0].prefix");
    CHECK(error_of<PolicyExplainParams>(R"({"sandbox":"none"})").path == "sandbox");
}

TEST_CASE("settings that are absent or null change nothing, and wrong ones are named") {
    const auto none = decoded<Settings>(R"({"approvalPolicy":null,"workspaceRoots":null})");
    CHECK_FALSE(none.approval_policy.has_value());
    CHECK_FALSE(none.workspace_roots.has_value());
    CHECK_FALSE(none.approval_timeout_ms.has_value());

    const auto some = decoded<Settings>(
        R"({"sandbox":"danger-full-access","workspaceRoots":["/a","file:///b"]})");
    CHECK(some.sandbox == SandboxMode::danger_full_access);
    CHECK(some.workspace_roots->back().native == "/b");

    CHECK_FALSE(some.confinement.has_value());

    CHECK(error_of<Settings>(R"({"approvalPolicy":"sometimes"})").path == "approvalPolicy");
    CHECK(error_of<Settings>(R"({"workspaceRoots":[]})").path == "workspaceRoots");
    CHECK(error_of<Settings>(R"({"workspaceRoots":["/a","b"]})").path == "workspaceRoots[1]");
    CHECK(error_of<Settings>(R"({"granular":{"rules":true}})").path == "granular.sandboxApproval");
    CHECK(error_of<InitializeParams>(R"({"settings":{"maxOutputTokens":"x"}})").path ==
          "settings.maxOutputTokens");
}

TEST_CASE("settings of the confinement are each there or not") {
    const auto none = decoded<Settings>(R"({"confinement":{"networkAccess":null}})");
    CHECK_FALSE(none.confinement->network_access.has_value());
    CHECK_FALSE(none.confinement->deny_read.has_value());
    CHECK_FALSE(none.confinement->enforcement.has_value());

    const auto some = decoded<Settings>(
        R"({"confinement":{"writableRoots":["/a","file:///b%20c"],"sharedTmp":true,
            "denyRead":["/x","file:///y%20z","**/.env"],"networkAccess":true,
            "excludeSlashTmp":true,"excludeTmpdirEnvVar":true,"enforcement":"best-effort",
            "reportWrites":true}})");
    const ConfinementSettings& confinement = *some.confinement;
    CHECK(confinement.writable_roots->back().native == "/b c");
    CHECK(confinement.deny_read == std::vector<std::string>{"/x", "/y z", "**/.env"});
    CHECK(confinement.network_access == true);
    CHECK(confinement.shared_tmp == true);
    CHECK(confinement.exclude_slash_tmp == true);
    CHECK(confinement.exclude_tmpdir_env_var == true);
    CHECK(confinement.enforcement == Enforcement::best_effort);
    CHECK(confinement.report_writes == true);
}

TEST_CASE("settings of the confinement that are wrong are named") {
    const auto path_of = [](const std::string& confinement) {
        return error_of<Settings>("{\"confinement\":" + confinement + "}").path;
    };

    CHECK(path_of("5") == "confinement");
    CHECK(path_of(R"({"writableRoots":["a"]})") == "confinement.writableRoots[0]");
    CHECK(path_of(R"({"denyRead":["/a","b"]})") == "confinement.denyRead[1]");
    CHECK(path_of(R"({"denyRead":["file://far.example/a"]})") == "confinement.denyRead[0]");
    CHECK(path_of(R"({"denyRead":"/a"})") == "confinement.denyRead");
    CHECK(path_of(R"({"enforcement":"hard"})") == "confinement.enforcement");
    CHECK(path_of(R"({"networkAccess":"on"})") == "confinement.networkAccess");
}

TEST_SUITE_END();
