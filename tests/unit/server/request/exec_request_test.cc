// How a call is confined, and what an approval of it has to agree in.
#include "server/request/exec_request.h"
#include "support/testing.h"

#include <string>
#include <utility>

using namespace ew::server;
using ew::core::SandboxMode;
using ew::core::SandboxPermissions;
using ew::protocol::ExecCommandParams;

namespace {

SessionSettings confining() {
    SessionSettings settings;
    settings.config.sandbox = SandboxMode::workspace_write;
    settings.workspace_roots = {"/usr"};
    return settings;
}

ExecCommandParams call_of(std::vector<std::string> write = {}) {
    ExecCommandParams params;
    params.argv = std::vector<std::string>{"true"};
    if (write.empty()) return params;
    params.sandbox_permissions = SandboxPermissions::with_additional_permissions;
    params.additional_permissions.emplace().file_system.emplace().write = std::move(write);
    return params;
}

ExecPlan plan_of(const SessionSettings& settings, const ExecCommandParams& params) {
    const ew::os::ShellProgram shell = {"sh", "/bin/sh"};
    ew::Result<ExecPlan> plan = plan_exec(params, {settings, shell, "tag", {"/hidden"}});
    REQUIRE(plan);
    return std::move(*plan);
}

std::string key_of(const SessionSettings& settings, const ExecCommandParams& params = call_of()) {
    const ExecPlan plan = plan_of(settings, params);
    return approval_key(plan, params, plan.extra);
}

} // namespace

TEST_CASE("a call is confined as the session says, whatever the session says later") {
    SessionSettings settings = confining();
    const ExecPlan plan = plan_of(settings, call_of());

    settings.config.sandbox = SandboxMode::danger_full_access;
    settings.workspace_roots = {"/"};

    const auto start = confined_start(plan, plan.extra);
    REQUIRE(start);
    CHECK(start->policy.network == ew::sandbox::Network::restricted);
    CHECK(start->context.workspace_roots == std::vector<std::string>{"/usr"});
    CHECK(start->context.hidden == std::vector<std::string>{"/hidden"});
}

TEST_CASE("only who leaves the sandbox, or has none, runs unconfined") {
    const ExtraPermissions outside = {SandboxPermissions::require_escalated, {}};
    SessionSettings settings = confining();

    CHECK(confined_start(plan_of(settings, call_of()), {}));
    CHECK_FALSE(confined_start(plan_of(settings, call_of()), outside));
    for (const SandboxMode mode :
         {SandboxMode::danger_full_access, SandboxMode::external_sandbox}) {
        settings.config.sandbox = mode;
        const ExecPlan plan = plan_of(settings, call_of({"/tmp"}));
        CHECK_FALSE(confined_start(plan, plan.extra));
        CHECK(plan.extra.additions.empty());
    }
}

TEST_CASE("the directory for temporary files is not for the call to name") {
    ExecCommandParams params = call_of();
    params.env = {{"TMPDIR", "/home"}};

    CHECK(plan_of(confining(), params).context.tmpdir != "/home");
}

TEST_CASE("an approval is one for this confinement") {
    const SessionSettings settings = confining();
    SessionSettings with_network = settings;
    with_network.config.confinement.network_access = true;
    SessionSettings with_root = settings;
    with_root.config.confinement.writable_roots = {"/opt"};
    SessionSettings unconfined = settings;
    unconfined.config.sandbox = SandboxMode::danger_full_access;

    const std::string key = key_of(settings);

    CHECK(key == key_of(confining()));
    CHECK(key != key_of(with_network));
    CHECK(key != key_of(with_root));
    CHECK(key != key_of(unconfined));
}

TEST_CASE("an approval is one for a login shell, or for another one") {
    const auto key = [](std::vector<std::string> argv) {
        ExecCommandParams params;
        params.argv = std::move(argv);
        return key_of(confining(), params);
    };

    CHECK(key({"bash", "-c", "touch x"}) != key({"bash", "-lc", "touch x"}));
    CHECK(key({"bash", "-c", "a; b"}) != key({"bash", "-lc", "a; b"}));
}

TEST_CASE("an approval of a relative program is one for its directory") {
    const auto key = [](std::vector<std::string> argv, const char* directory) {
        ExecCommandParams params;
        params.argv = std::move(argv);
        params.workdir = directory;
        return key_of(confining(), params);
    };

    for (const char* script : {"./b.sh", "sub/b.sh x", "ls; ./b.sh"}) {
        CAPTURE(script);
        CHECK(key({"sh", "-c", script}, "/usr") != key({"sh", "-c", script}, "/usr/bin"));
    }
    for (const char* script : {"make", "/bin/ls", "ls ./a"}) {
        CAPTURE(script);
        CHECK(key({"sh", "-c", script}, "/usr") == key({"sh", "-c", script}, "/usr/bin"));
    }
}

TEST_CASE("an approval is one for these additions, however the call spells them") {
    const SessionSettings settings = confining();
    const std::string key = key_of(settings, call_of({"/usr/bin"}));

    CHECK(key == key_of(settings, call_of({"/usr/bin/", "./bin", "bin/../bin"})));
    CHECK(key != key_of(settings, call_of({"/usr/lib"})));
    CHECK(key != key_of(settings));
}

TEST_CASE("an approval to run outside is the same whatever the sandbox would have allowed") {
    const ExtraPermissions outside = {SandboxPermissions::require_escalated, {}};
    SessionSettings with_network = confining();
    with_network.config.confinement.network_access = true;
    const ExecCommandParams params = call_of();

    CHECK(approval_key(plan_of(confining(), params), params, outside) ==
          approval_key(plan_of(with_network, params), params, outside));
}

TEST_CASE("what a second attempt may reach is what a call could have asked for") {
    const ExecCommandParams plain = call_of();
    const ExecPlan plan = plan_of(confining(), plain);
    ExtraPermissions widened = {SandboxPermissions::with_additional_permissions, {}};
    widened.additions.write = {"/usr/bin"};

    CHECK(approval_key(plan, plain, widened) == key_of(confining(), call_of({"/usr/bin"})));
}
