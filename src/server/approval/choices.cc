#include "server/approval/choices.h"

#include "core/text/paths.h"
#include "server/request/extra_permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ew::server {

using protocol::ApprovalChoice;
using protocol::ApprovalDecision;
using protocol::ApprovalKind;
using protocol::ApprovalScope;

namespace {

// Returns the first root that holds the directory, or an empty text.
std::string root_of(const std::string& directory, const std::vector<std::string>& roots) {
    const auto root = std::ranges::find_if(
        roots, [&](const std::string& one) { return core::is_at_or_below(directory, one); });
    return root == roots.end() ? "" : *root;
}

} // namespace

ApprovalExtent extent_at(const std::string& directory, const Session& session) {
    ApprovalExtent extent;
    extent.workspace_root = root_of(directory, session.settings().workspace_roots);
    if (core::is_at_or_below(directory, session.project())) extent.project = session.project();
    return extent;
}

// The project of the session is a directory of this machine.
ApprovalExtent extent_of(const ExecPlan& plan, const Session& session) {
    if (!plan.remote) return extent_at(plan.workdir, session);
    return {root_of(plan.workdir, plan.remote->workspace_roots), ""};
}

std::vector<ApprovalChoice> choices(const ApprovalExtent& extent, const core::Judgement& judgement,
                                    ApprovalKind kind) {
    using enum ApprovalDecision;
    std::vector<ApprovalChoice> choices;
    const auto offer = [&](ApprovalDecision decision, std::optional<ApprovalScope> scope,
                           std::string description) {
        const bool allows = decision != denied && decision != abort;
        if (kind == ApprovalKind::escalation && allows) description += ", outside the sandbox";
        if (kind == ApprovalKind::permissions && allows) description += ", with these permissions";
        choices.push_back({decision, scope, std::move(description)});
    };
    const bool is_in_project = !extent.project.empty();
    offer(approved, {}, "run it this once");
    offer(approved_for_session, ApprovalScope::directory,
          "allow exactly this command in this directory, for this session");
    if (!extent.workspace_root.empty())
        offer(approved_for_session, ApprovalScope::workspace,
              "allow exactly this command anywhere in the workspace, for this session");
    if (is_in_project)
        offer(approved_for_session, ApprovalScope::project,
              "allow exactly this command in this project, also later");
    offer(approved_for_session, ApprovalScope::always,
          "allow exactly this command everywhere, also later");
    if (kind == ApprovalKind::command && !judgement.proposed_prefix.empty()) {
        offer(approved_with_prefix_rule, ApprovalScope::session,
              "allow this command, also with harmless further words, for this session");
        if (is_in_project)
            offer(approved_with_prefix_rule, ApprovalScope::project,
                  "allow this command, also with harmless further words, in this project, also "
                  "later");
        offer(approved_with_prefix_rule, ApprovalScope::always,
              "allow this command, also with harmless further words, everywhere: add a rule");
    }
    choices.push_back({edited, {}, "run another command in its place, which is judged anew"});
    offer(denied, {}, "do not run it");
    offer(denied, ApprovalScope::session,
          "do not run exactly this command, and do not ask about it again in this session");
    offer(denied, ApprovalScope::always,
          "do not run exactly this command, and do not ask about it again, also later");
    offer(abort, {}, "do not run it, nor anything else that is being asked about");
    return choices;
}

std::vector<ApprovalChoice> retry_choices(const ApprovalExtent& extent,
                                          const std::optional<sandbox::Additions>& widening) {
    using enum ApprovalDecision;
    std::vector<ApprovalChoice> choices;
    const auto offer_widened = [&](std::optional<ApprovalScope> scope, std::string_view when) {
        choices.push_back({approved_widened, scope,
                           fmt::format("run it again in the sandbox, where it may also {}{}",
                                       described(*widening), when),
                           to_wire(*widening)});
    };
    if (widening) {
        offer_widened({}, "");
        offer_widened(ApprovalScope::directory,
                      "; so from now on for exactly this command in this directory, for this "
                      "session");
        if (!extent.workspace_root.empty())
            offer_widened(ApprovalScope::workspace,
                          "; so from now on for exactly this command anywhere in the workspace, "
                          "for this session");
        if (!extent.project.empty())
            offer_widened(ApprovalScope::project,
                          "; so from now on for exactly this command in this project, also later");
    }
    choices.push_back({approved, {}, "run it again this once, outside the sandbox"});
    choices.push_back({denied, {}, "do not run it again"});
    choices.push_back({denied, ApprovalScope::session,
                       "do not run exactly this command again after a denial, nor outside the "
                       "sandbox, and do not ask about that in this session"});
    choices.push_back({denied, ApprovalScope::always,
                       "do not run exactly this command again after a denial, nor outside the "
                       "sandbox, and do not ask about that, also later"});
    choices.push_back(
        {abort, {}, "do not run it again, nor anything else that is being asked about"});
    return choices;
}

} // namespace ew::server
