#include "server/approval/records.h"

#include "core/network/internet.h"
#include "core/text/display.h"
#include "json/strings.h"
#include "server/approval/approval_grant.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

using protocol::ApprovalAnswer;
using protocol::ApprovalDecision;

namespace {

store::AuditRow decision_row(const Question& question, const ApprovalAnswer& answer) {
    store::AuditRow row;
    row.event = "decision";
    row.call = question.request.call_id;
    row.argv = json::strings_to_json(question.request.argv);
    row.directory = question.request.workdir;
    row.decision = json::name_of(answer.decision);
    row.decided_by = "client";
    if (answer.scope) row.detail = json::name_of(*answer.scope);
    if (const std::optional<protocol::NetworkTarget>& target = question.request.network)
        row.detail = fmt::format(
            "{}{}{}", core::shown(target->host, static_cast<std::uint16_t>(target->port)),
            row.detail.empty() ? "" : ", ", row.detail);
    if (question.request.environment)
        row.detail += fmt::format("{}environment {}", row.detail.empty() ? "" : ", ",
                                  *question.request.environment);
    if (answer.decision == ApprovalDecision::edited)
        row.detail +=
            fmt::format("{}to {}", row.detail.empty() ? "" : ", ",
                        answer.command ? *answer.command : core::shell_quoted(*answer.argv));
    if (answer.reason)
        row.detail += fmt::format("{}{}", row.detail.empty() ? "" : ": ", *answer.reason);
    return row;
}

// What a person can approve later by the same key: only what its command shows whole.
bool is_to_be_kept(const protocol::ApprovalRequest& request) {
    const bool is_network = request.kind == protocol::ApprovalKind::network;
    if (is_network) return true; // its command goes on whatever it gets
    if (request.stdin_text || request.tty || !request.display.environment.empty()) return false;
    switch (request.kind) {
    case protocol::ApprovalKind::command:
    case protocol::ApprovalKind::escalation:
    case protocol::ApprovalKind::permissions:
    case protocol::ApprovalKind::network: return true;
    case protocol::ApprovalKind::retry:
    case protocol::ApprovalKind::patch: return false;
    }
    return false;
}

bool is_to_be_remembered(const Question& question, const ApprovalAnswer& answer) {
    if (answer.decision == ApprovalDecision::unasked) return is_to_be_kept(question.request);
    return answer.decision == ApprovalDecision::approved_for_session ||
           answer.decision == ApprovalDecision::approved_with_prefix_rule ||
           ((answer.decision == ApprovalDecision::approved_widened ||
             answer.decision == ApprovalDecision::denied) &&
            answer.scope);
}

} // namespace

Records::Records(const Session& session, Warn warn, const TimePoint& now)
    : session_(session), warn_(std::move(warn)), now_(now) {
    store::StoreSettings settings;
    settings.audit_delay = session.settings().config.audit_flush;
    settings.audit_keep_days = session.settings().config.audit_keep_days;
    settings.session_keep_days = session.settings().config.session_keep_days;
    store_ = store::Store::unopened(session.database(), settings);
}

void Records::warn_of_store(const Error& error) {
    if (!std::exchange(has_warned_of_store_, true)) warn_(error);
}

void Records::begin_session() {
    if (is_session_begun_) return;
    Result<void> begun =
        store_->begin_session(session_.id(), session_.project(), store::Moment::now().wall);
    is_session_begun_ = static_cast<bool>(begun);
    if (begun)
        has_warned_of_store_ = false;
    else
        warn_of_store(begun.error());
}

store::AuditRow Records::stamped(store::AuditRow row) const {
    row.at = store::Moment::now().wall;
    row.session = session_.id();
    return row;
}

void Records::audit(store::AuditRow row) {
    store_->audit(stamped(std::move(row)), now_);
}

std::int64_t Records::keep(const Question& question, const ApprovalAnswer& answer) {
    const store::AuditRow row = stamped(decision_row(question, answer));
    Result<std::int64_t> kept =
        is_to_be_remembered(question, answer)
            ? book().record(row, approval_grant(question, answer, session_.id()))
            : store_->record(row, std::nullopt);
    if (kept) return *kept;
    store_->audit(row, now_); // it is written later
    Error error = kept.error();
    error.message = fmt::format("the answer to {} counts this once and is not remembered: {}",
                                question.id, error.message);
    warn_(error);
    return 0;
}

std::optional<std::int64_t> Records::find_grant(const std::string& key,
                                                const std::string& directory,
                                                const std::string& project) {
    Result<std::optional<store::Grant>> grant =
        store_->find_command(key, directory, session_.id(), project, store::Moment::now().wall);
    if (!grant) warn_of_store(grant.error());
    if (!grant || !*grant) return std::nullopt;
    return (*grant)->id;
}

std::optional<std::int64_t> Records::find_host(const std::string& key, const std::string& directory,
                                               const std::string& project) {
    Result<std::optional<store::Grant>> grant =
        store_->find_host(key, directory, session_.id(), project, store::Moment::now().wall);
    if (!grant) warn_of_store(grant.error());
    if (!grant || !*grant) return std::nullopt;
    return (*grant)->id;
}

std::optional<store::Grant> Records::find_denial(const std::string& key,
                                                 const std::string& directory,
                                                 const std::string& project) {
    Result<std::optional<store::Grant>> denial =
        store_->find_denial(key, directory, session_.id(), project, store::Moment::now().wall);
    if (denial) return std::move(*denial);
    warn_of_store(denial.error());
    return std::nullopt;
}

void Records::note_use(std::int64_t grant) {
    store_->note_use(grant, moment());
}

std::vector<core::PrefixRule> Records::granted_rules(const std::string& project,
                                                     config::LoadedRules& loaded) {
    Result<std::vector<core::PrefixRule>> rules =
        book().rules(session_.id(), project, store::Moment::now().wall, loaded);
    if (rules) return std::move(*rules);
    warn_of_store(rules.error());
    return {};
}

bool Records::trusts_project() {
    Result<bool> trusted = store_->is_project_trusted(session_.project());
    if (!trusted) warn_of_store(trusted.error());
    return !trusted || *trusted;
}

Result<std::vector<protocol::ApprovalInfo>> Records::list() {
    (void)store_->flush(moment()); // otherwise the counts of uses are old
    return book().list(store::Moment::now().wall);
}

Result<std::uint64_t> Records::revoke(const protocol::ApprovalsRevokeParams& what) {
    store::AuditRow author;
    author.event = "revocation";
    author.decided_by = "client";
    return book().revoke(what, stamped(std::move(author)));
}

Result<std::int64_t> Records::grant(const store::Grant& grant, store::AuditRow author) {
    return book().record(stamped(std::move(author)), grant);
}

void Records::on_time() {
    if (const std::optional<Error> loss = store_->take_loss()) warn_(*loss);
    if (!is_due(store_->flush_at(), now_)) return;
    Result<void> flushed = store_->flush(moment());
    if (!flushed) warn_of_store(flushed.error());
}

std::optional<TimePoint> Records::next_deadline() const {
    return store_->flush_at();
}

void Records::flush_all() {
    Result<void> flushed = store_->flush_all(moment());
    if (!flushed) warn_of_store(flushed.error());
}

} // namespace ew::server
