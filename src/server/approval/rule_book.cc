#include "server/approval/rule_book.h"

#include "config/project.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ew::server {

void RuleBook::refresh() {
    const bool is_trusted = records_.trusts_project();
    const bool has_changed = !watch_ || watch_->take_changes() || has_linked_rules_;
    if (files_ && !has_changed && is_trusted == is_project_trusted_) return;

    config::RulePlaces places;
    places.user_dir = session_.setup().paths.rules_directory;
    places.system_dir = session_.setup().system_rules_directory;
    places.writable = session_.settings().workspace_roots;
    const std::vector<std::string>& more = session_.settings().config.confinement.writable_roots;
    places.writable.insert(places.writable.end(), more.begin(), more.end());
    if (is_trusted) places.project_dir = config::project_rules_dir(session_.project());
    if (!watch_ || is_trusted != is_project_trusted_) {
        watch_.reset();
        if (Result<config::RuleWatch> watch = config::RuleWatch::open(places))
            watch_.emplace(std::move(*watch));
    }
    is_project_trusted_ = is_trusted;
    std::vector<config::RuleProblem> before;
    if (files_) before = std::move(files_->problems);
    files_ = config::load_rules(places);
    has_linked_rules_ = config::has_links(places);
    for (const config::RuleProblem& problem : files_->problems)
        if (std::find(before.begin(), before.end(), problem) == before.end())
            warn_({ErrorKind::config_invalid, toml::describe(problem),
                   "execward policy check shows all problems"});
}

std::vector<core::HostRule> RuleBook::host_rules() {
    refresh();
    std::vector<core::HostRule> rules = files_->hosts;
    if (session_.settings().config.confinement.network_observe)
        for (core::HostRule& rule : core::observing_rules("network_observe"))
            rules.push_back(std::move(rule));
    return rules;
}

core::Judgement RuleBook::judge(const core::JudgedCommand& judged, const core::ProgramTrust& trust,
                                const std::optional<std::string>& project) {
    refresh();
    std::vector<core::PrefixRule>& rules = files_->rules.rules;
    const std::size_t from_files = rules.size();
    if (project) {
        const std::vector<core::PrefixRule> granted = records_.granted_rules(*project, *files_);
        rules.insert(rules.end(), granted.begin(), granted.end());
    }
    core::Judgement judgement = core::judge(judged, files_->rules, trust);
    rules.resize(from_files);
    return judgement;
}

} // namespace ew::server
