#include "mcp/instructions.h"

#include "core/text/display.h"

#include <fmt/format.h>

#include <string_view>

namespace ew::mcp {

namespace {

std::string_view about_policy(core::ApprovalPolicy policy) {
    switch (policy) {
    case core::ApprovalPolicy::untrusted:
        return "Commands that are known to be harmless run unasked; every other command is shown "
               "to a person first.";
    case core::ApprovalPolicy::on_failure:
        return "Commands run unasked in the sandbox, except those that are known to destroy "
               "something and those that a rule forbids or wants to be shown to a person. If the "
               "sandbox stops one, a person is asked whether it may run again.";
    case core::ApprovalPolicy::on_request:
    case core::ApprovalPolicy::granular:
        return "Commands run unasked in the sandbox, except those that are known to destroy "
               "something and those that a rule forbids or wants to be shown to a person. A call "
               "with network or write_paths asks a person.";
    case core::ApprovalPolicy::never:
        return "Nobody is asked: what would need a question is refused.";
    }
    return "";
}

std::string_view about_mode(core::SandboxMode mode) {
    switch (mode) {
    case core::SandboxMode::danger_full_access: return "Commands are NOT confined.";
    case core::SandboxMode::read_only:
        return "The sandbox lets commands read files, and write nothing but temporary files.";
    case core::SandboxMode::workspace_write:
        return "The sandbox lets commands write only in the workspace and to temporary files.";
    case core::SandboxMode::external_sandbox:
        return "Another program confines execward and its commands.";
    }
    return "";
}

} // namespace

std::string mode_of(const protocol::Settings& settings) {
    return std::string(
        json::name_of(settings.sandbox.value_or(core::SandboxMode::workspace_write)));
}

std::string instructions_for(const protocol::Settings& settings) {
    const core::SandboxMode mode = settings.sandbox.value_or(core::SandboxMode::workspace_write);
    const bool is_confined =
        mode == core::SandboxMode::read_only || mode == core::SandboxMode::workspace_write;
    const protocol::ConfinementSettings confinement =
        settings.confinement.value_or(protocol::ConfinementSettings());
    const bool observes = is_confined && confinement.network_observe.value_or(false);
    const bool has_hosts = is_confined && confinement.network_by_host.value_or(false);
    const bool has_network = !is_confined || confinement.network_access.value_or(false);
    const std::string_view network = observes      ? " They reach public hosts, which are noted."
                                     : has_hosts   ? " They reach only the hosts that rules allow."
                                     : has_network ? ""
                                                   : " They have no network.";
    std::string text = "execward runs commands on this machine for you.";
    if (settings.workspace_roots && !settings.workspace_roots->empty())
        text +=
            fmt::format(" Workspace: {}.", core::visible(settings.workspace_roots->front().native));
    text += fmt::format(
        " {}{} {}", about_mode(mode), network,
        about_policy(settings.approval_policy.value_or(core::ApprovalPolicy::on_request)));
    text +=
        " check_command tells beforehand what would happen. A command that takes longer than "
        "timeout_ms goes on: use its id with wait or read_output, and stop_process when it is "
        "no longer needed. All processes end with this session. If an answer has human_command, "
        "a person must type it; you must not run it.";
    return text;
}

} // namespace ew::mcp
