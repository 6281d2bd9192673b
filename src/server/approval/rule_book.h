// The rules in force: those in the files of the user, of the system and of a trusted project, and
// those from approvals. Files are read again when they have changed.
#pragma once

#include "config/rule_files.h"
#include "config/rule_watch.h"
#include "core/judgement/judgement.h"
#include "server/approval/records.h"
#include "server/approval/warning.h"
#include "server/session/session.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::server {

class RuleBook {
public:
    RuleBook(const Session& session, Records& records, Warn warn)
        : session_(session), records_(records), warn_(std::move(warn)) {}

    // Judges a command by the current rules. Approvals count for `project`: if it is empty,
    // approvals of projects do not count; if it is nullopt, no approval counts. Warns of new
    // mistakes in files.
    core::Judgement judge(const core::JudgedCommand& judged, const core::ProgramTrust& trust,
                          const std::optional<std::string>& project);

    // The rules about hosts that are in force now, with those of a session that observes.
    std::vector<core::HostRule> host_rules();

private:
    void refresh();

    const Session& session_;
    Records& records_;
    Warn warn_;
    std::optional<config::LoadedRules> files_;
    std::optional<config::RuleWatch> watch_; // nullopt: files are read for each call
    bool has_linked_rules_ = false; // changes behind links are not seen: read for each call
    bool is_project_trusted_ = false;
};

} // namespace ew::server
