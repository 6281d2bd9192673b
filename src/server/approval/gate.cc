#include "server/approval/gate.h"

#include "base/log.h"
#include "config/project.h"
#include "core/text/paths.h"
#include "json/strings.h"
#include "os/io.h"
#include "os/programs.h"
#include "protocol/methods.h"
#include "server/connection/notify.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::server {

namespace {

using core::Decision;
using protocol::ApprovalChoice;
using protocol::ApprovalDecision;
using protocol::ApprovalKind;
using protocol::ApprovalScope;

core::JudgedCommand question_about(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                                   const SessionSettings& settings, bool is_confined) {
    core::JudgedCommand question;
    question.argv = plan.argv;
    question.policy = settings.config.approval_policy;
    question.granular = settings.config.granular;
    question.is_confined = is_confined;
    question.permissions = params.sandbox_permissions;
    if (params.prefix_rule) question.requested_prefix = *params.prefix_rule;
    question.has_risky_environment = plan.has_risky_variable;
    question.has_utf8_locale = has_utf8_locale(plan);
    question.workdir = plan.workdir;
    if (plan.remote) { // what its programs and links are, nobody here knows
        question.workspace_roots = plan.remote->workspace_roots;
        return question;
    }
    question.program = plan.program;
    question.workspace_roots = settings.workspace_roots;
    question.stays_inside = [roots = settings.workspace_roots](std::string_view path) {
        const std::optional<std::string> real = os::real_path(std::string(path));
        return real && std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
                   return core::is_at_or_below(*real, root);
               });
    };
    return question;
}

// What decided, when nothing has to be asked.
void say_who_allowed(Gate::Ruling& ruling) {
    ruling.decided_by = ruling.judgement.is_safe_listed ? "safe list" : "policy";
    for (const core::CommandVerdict& verdict : ruling.judgement.commands) {
        if (verdict.grant != 0) ruling.grants.push_back(verdict.grant);
        if (verdict.rule_origin.empty() || !ruling.rule.empty()) continue;
        ruling.rule = verdict.rule_origin;
        ruling.decided_by = verdict.rule_origin.starts_with("grant ") ? "grant" : "rule";
    }
}

// Where an approval counts, if not on this machine, and what it reaches beyond the session's
// sandbox: for the list of approvals.
std::string reach_of(const Question& question, bool is_widened) {
    std::string reach;
    if (question.request.environment)
        reach = fmt::format("in the environment {}", *question.request.environment);
    const std::string_view separator = reach.empty() ? "" : ", ";
    if (question.request.kind == ApprovalKind::escalation)
        return fmt::format("{}{}outside the sandbox", reach, separator);
    if (!is_widened && question.request.kind != ApprovalKind::permissions) return reach;
    return fmt::format("{}{}in the sandbox, and it may also {}", reach, separator,
                       described(question.widening.value_or(sandbox::Additions{})));
}

} // namespace

Gate::Gate(const Session& session, Outbox& outbox) : session_(session), outbox_(outbox) {
    store::StoreSettings settings;
    settings.audit_delay = session.settings().config.audit_flush;
    settings.audit_keep_days = session.settings().config.audit_keep_days;
    settings.session_keep_days = session.settings().config.session_keep_days;
    store_ = store::Store::unopened(session.database(), settings);
}

void Gate::warn_of_store(const Error& error) {
    if (!std::exchange(has_warned_of_store_, true)) warn(error);
}

void Gate::warn(const Error& error) {
    log::warning("gate", "{}", error.message);
    protocol::WarningEvent event;
    event.kind = protocol::name_of(error.kind);
    event.message =
        error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint);
    notify(outbox_, "execward/warning", event);
}

void Gate::begin_session() {
    if (is_session_begun_) return;
    const store::UnixMs now = store::Moment::now().wall;
    Result<void> begun = store_->begin_session(session_.id(), session_.project(), now);
    is_session_begun_ = static_cast<bool>(begun);
    if (begun)
        has_warned_of_store_ = false;
    else
        warn_of_store(begun.error());
}

const os::ShellProgram& Gate::login_shell() {
    if (login_shell_) return *login_shell_;
    const std::string& configured = session_.settings().config.shell;
    Result<os::ShellProgram> found =
        os::find_shell(configured.empty() ? std::nullopt : std::optional<std::string>(configured));
    if (!found) {
        warn(found.error());
        found = os::find_shell(std::nullopt);
    }
    return login_shell_.emplace(found ? std::move(*found) : os::ShellProgram{"sh", "/bin/sh"});
}

void Gate::refresh_rules() {
    Result<bool> trusted = store_->is_project_trusted(session_.project());
    // Not knowing is no reason to leave them out: they can only tighten.
    const bool is_trusted = !trusted || *trusted;
    if (!trusted) warn_of_store(trusted.error());
    const bool has_changed = !watch_ || watch_->take_changes() || has_linked_rules_;
    if (rules_ && !has_changed && is_trusted == is_project_trusted_) return;

    config::RulePlaces places;
    places.user_dir = session_.setup().paths.rules_directory;
    places.system_dir = session_.setup().system_rules_directory;
    if (is_trusted) places.project_dir = config::project_rules_dir(session_.project());
    if (!watch_ || is_trusted != is_project_trusted_) {
        watch_.reset();
        if (Result<config::RuleWatch> watch = config::RuleWatch::open(places))
            watch_.emplace(std::move(*watch));
    }
    is_project_trusted_ = is_trusted;
    std::vector<config::RuleProblem> before;
    if (rules_) before = std::move(rules_->problems);
    rules_ = config::load_rules(places);
    has_linked_rules_ = config::has_links(places);
    for (const config::RuleProblem& problem : rules_->problems)
        if (std::find(before.begin(), before.end(), problem) == before.end())
            warn({ErrorKind::config_invalid, toml::describe(problem),
                  "execward policy check shows all problems"});
}

core::Judgement Gate::judge(const ExecPlan& plan, const core::JudgedCommand& question,
                            const core::RuleSet* only_rules) {
    os::TrustPlaces places;
    places.path = search_path(plan);
    places.workspace_roots = session_.settings().workspace_roots;
    places.temporary_directories.push_back(session_.environment().temp_dir.native);
    const os::TrustedPrograms trusted(places);
    const auto is_trusted = [&](std::string_view word) {
        // There, only the shell of which the server says that it is one.
        return plan.remote ? word == plan.remote->shell : trusted.is_trusted(word);
    };
    if (only_rules != nullptr) return core::judge(question, *only_rules, is_trusted);

    refresh_rules();
    std::vector<core::PrefixRule>& rules = rules_->rules.rules;
    const std::size_t from_files = rules.size();
    // What a person has allowed to begin so for a session or project was meant for this machine.
    Result<std::vector<core::PrefixRule>> granted = std::vector<core::PrefixRule>();
    if (!plan.remote)
        granted =
            book().rules(session_.id(), project_for(plan), store::Moment::now().wall, *rules_);
    if (granted)
        rules.insert(rules.end(), granted->begin(), granted->end());
    else
        warn_of_store(granted.error());
    core::Judgement judgement = core::judge(question, rules_->rules, is_trusted);
    rules.resize(from_files);
    return judgement;
}

// What was approved for a project counts for calls in it. Empty: this one is not.
std::string Gate::project_for(const ExecPlan& plan) const {
    if (plan.remote) return {};
    return core::is_at_or_below(plan.workdir, session_.project()) ? session_.project()
                                                                  : std::string();
}

std::optional<std::int64_t> Gate::find_grant(const std::string& key, const std::string& directory,
                                             const std::string& project) {
    Result<std::optional<store::Grant>> grant =
        store_->find_command(key, directory, session_.id(), project, store::Moment::now().wall);
    if (!grant) warn_of_store(grant.error());
    if (!grant || !*grant) return std::nullopt;
    return (*grant)->id;
}

std::string Gate::find_approval(const std::string& key, const std::string& directory,
                                bool uses_it) {
    const std::optional<std::int64_t> grant = find_grant(key, directory, "");
    return grant ? named(*grant, uses_it) : std::string();
}

std::string Gate::take_approval(const std::string& key, const ExecPlan& plan) {
    const std::optional<std::int64_t> grant = find_grant(key, plan.workdir, project_for(plan));
    return grant ? named(*grant, true) : std::string();
}

std::string Gate::named(std::int64_t grant, bool uses_it) {
    if (uses_it) store_->note_use(grant, {store::Moment::now().wall, now_});
    return fmt::format("grant {}", grant);
}

Gate::Ruling Gate::find_ruling(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                               const SessionSettings& settings, bool is_confined,
                               const core::RuleSet* only_rules) {
    Ruling ruling;
    ruling.judgement = judge(plan, question_about(plan, params, settings, is_confined), only_rules);
    if (plan.remote) ruling.judgement.proposed_prefix.clear();
    ruling.decision = ruling.judgement.decision;
    ruling.key = approval_key(plan, params, plan.extra);
    ruling.decided_by = ruling.judgement.is_by_rule ? "rule" : "policy";
    if (ruling.decision == Decision::allow) {
        ruling.is_harmless = ruling.judgement.is_safe_listed;
        say_who_allowed(ruling);
    }
    if (ruling.decision != Decision::prompt || only_rules != nullptr) return ruling;
    const std::optional<std::int64_t> grant =
        find_grant(ruling.key, plan.workdir, project_for(plan));
    if (!grant) return ruling;
    ruling.decision = Decision::allow;
    ruling.decided_by = "grant";
    ruling.rule = fmt::format("grant {}", *grant);
    ruling.grants.push_back(*grant);
    return ruling;
}

void Gate::note_uses(const Ruling& ruling) {
    for (const std::int64_t grant : ruling.grants)
        store_->note_use(grant, {store::Moment::now().wall, now_});
}

Gate::Ruling Gate::rule_on(const ExecPlan& plan, const protocol::ExecCommandParams& params,
                           bool is_confined) {
    begin_session();
    Ruling ruling = find_ruling(plan, params, session_.settings(), is_confined, nullptr);
    note_uses(ruling);
    return ruling;
}

std::string Gate::root_of(const ExecPlan& plan) const {
    const std::vector<std::string>& roots =
        plan.remote ? plan.remote->workspace_roots : session_.settings().workspace_roots;
    for (const std::string& root : roots)
        if (core::is_at_or_below(plan.workdir, root)) return root;
    return {};
}

std::vector<ApprovalChoice> Gate::choices(const ExecPlan& plan, const Ruling& ruling,
                                          ApprovalKind kind) const {
    using enum ApprovalDecision;
    std::vector<ApprovalChoice> choices;
    const auto offer = [&](ApprovalDecision decision, std::optional<ApprovalScope> scope,
                           std::string description) {
        const bool allows = decision != denied && decision != abort;
        if (kind == ApprovalKind::escalation && allows) description += ", outside the sandbox";
        if (kind == ApprovalKind::permissions && allows) description += ", with these permissions";
        choices.push_back({decision, scope, std::move(description)});
    };
    const bool is_in_project = !project_for(plan).empty();
    offer(approved, {}, "run it this once");
    offer(approved_for_session, ApprovalScope::directory,
          "allow exactly this command in this directory, for this session");
    if (!root_of(plan).empty())
        offer(approved_for_session, ApprovalScope::workspace,
              "allow exactly this command anywhere in the workspace, for this session");
    if (is_in_project)
        offer(approved_for_session, ApprovalScope::project,
              "allow exactly this command in this project, also later");
    offer(approved_for_session, ApprovalScope::always,
          "allow exactly this command everywhere, also later");
    if (kind == ApprovalKind::command && !ruling.judgement.proposed_prefix.empty()) {
        offer(approved_with_prefix_rule, ApprovalScope::session,
              "allow every command that begins so, for this session");
        if (is_in_project)
            offer(approved_with_prefix_rule, ApprovalScope::project,
                  "allow every command that begins so in this project, also later");
        offer(approved_with_prefix_rule, ApprovalScope::always,
              "allow every command that begins so everywhere: add a rule");
    }
    offer(denied, {}, "do not run it");
    offer(abort, {}, "do not run it, nor anything else that is being asked about");
    return choices;
}

std::vector<ApprovalChoice>
Gate::retry_choices(const ExecPlan& plan, const std::optional<sandbox::Additions>& widening) const {
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
        if (!root_of(plan).empty())
            offer_widened(ApprovalScope::workspace,
                          "; so from now on for exactly this command anywhere in the workspace, "
                          "for this session");
        if (!project_for(plan).empty())
            offer_widened(ApprovalScope::project,
                          "; so from now on for exactly this command in this project, also later");
    }
    choices.push_back({approved, {}, "run it again this once, outside the sandbox"});
    choices.push_back({denied, {}, "do not run it again"});
    choices.push_back(
        {abort, {}, "do not run it again, nor anything else that is being asked about"});
    return choices;
}

store::AuditRow Gate::row(std::string_view event) const {
    store::AuditRow row;
    row.at = store::Moment::now().wall;
    row.session = session_.id();
    row.event = event;
    return row;
}

void Gate::audit(store::AuditRow row) {
    row.at = store::Moment::now().wall;
    row.session = session_.id();
    store_->audit(std::move(row), now_);
}

store::Grant Gate::grant_for(const Question& question,
                             const protocol::ApprovalAnswer& answer) const {
    store::Grant grant;
    const bool is_prefix = answer.decision == ApprovalDecision::approved_with_prefix_rule;
    const std::vector<std::string>& argv = question.request.argv;
    const std::vector<std::string> prefix =
        question.request.proposed_prefix_rule.value_or(std::vector<std::string>());
    grant.kind = is_prefix ? store::GrantKind::prefix : store::GrantKind::command;
    grant.scope = static_cast<store::GrantScope>(
        answer.scope.value_or(is_prefix ? ApprovalScope::session : ApprovalScope::directory));
    const bool is_widened = answer.decision == ApprovalDecision::approved_widened;
    grant.key = is_prefix    ? key_of_prefix(prefix)
                : is_widened ? question.widened_key
                             : question.grant_key;
    grant.command = is_prefix ? fmt::format("{}", fmt::join(prefix, " "))
                              : fmt::format("{}", fmt::join(core::canonical_argv(argv), " "));
    grant.directory = question.request.workdir;
    if (grant.scope == store::GrantScope::workspace) grant.directory = question.workspace_root;
    if (store::ends_with_session(grant.scope)) grant.session = session_.id();
    grant.project = question.project;
    grant.origin = "approval";
    grant.reason = answer.reason.value_or(question.request.justification.value_or(""));
    if (const std::string reach = reach_of(question, is_widened); !reach.empty())
        grant.reason = fmt::format("{}{}{}", reach, grant.reason.empty() ? "" : ": ", grant.reason);
    grant.created_at = store::Moment::now().wall;
    if (answer.expires_in_ms)
        grant.expires_at =
            grant.created_at +
            static_cast<std::int64_t>(std::min(*answer.expires_in_ms, std::uint64_t{1} << 52));
    return grant;
}

void Gate::keep(const Question& question, const protocol::ApprovalAnswer& answer) {
    store::AuditRow decision = row("decision");
    decision.call = question.request.call_id;
    decision.argv = json::strings_to_json(question.request.argv);
    decision.directory = question.request.workdir;
    decision.decision = json::name_of(answer.decision);
    decision.decided_by = "client";
    if (answer.scope) decision.detail = json::name_of(*answer.scope);
    if (question.request.environment)
        decision.detail += fmt::format("{}environment {}", decision.detail.empty() ? "" : ", ",
                                       *question.request.environment);
    if (answer.reason)
        decision.detail += fmt::format("{}{}", decision.detail.empty() ? "" : ": ", *answer.reason);
    const bool is_to_be_remembered =
        answer.decision == ApprovalDecision::approved_for_session ||
        answer.decision == ApprovalDecision::approved_with_prefix_rule ||
        (answer.decision == ApprovalDecision::approved_widened && answer.scope);
    Result<std::int64_t> kept = is_to_be_remembered
                                    ? book().record(decision, grant_for(question, answer))
                                    : store_->record(decision, std::nullopt);
    if (kept) return;
    store_->audit(decision, now_); // later, then
    Error error = kept.error();
    error.message = fmt::format("the answer to {} counts this once and is not remembered: {}",
                                question.id, error.message);
    warn(error);
}

void Gate::on_time() {
    if (is_due(store_->flush_at(), now_)) flush();
}

std::optional<TimePoint> Gate::next_deadline() const {
    return store_->flush_at();
}

void Gate::flush_all() {
    Result<void> flushed = store_->flush_all({store::Moment::now().wall, now_});
    if (!flushed) log::warning("gate", "{}", flushed.error().message);
}

void Gate::flush() {
    Result<void> flushed = store_->flush({store::Moment::now().wall, now_});
    if (!flushed) warn_of_store(flushed.error());
}

} // namespace ew::server
