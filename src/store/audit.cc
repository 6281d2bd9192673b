#include "store/audit.h"

#include "store/grants.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace ew::store {

namespace {

constexpr std::string_view insert_row =
    "insert into audit (at, session, call, event, argv, directory, decision, decided_by, rule,"
    " detail) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
constexpr std::string_view delete_rows =
    "delete from audit where id in (select id from audit where at < ?1 order by at limit ?2)";

// Copies a whole row; collect() reads the columns in the order of the table.
constexpr std::string_view select_tail =
    "select * from (select * from audit order by id desc limit ?1) order by id";
constexpr std::string_view select_after = "select * from audit where id > ?1 order by id limit ?2";

// Returns the part of a text that a row keeps: all of it, or its start, cut between characters, and
// "…".
std::string kept(std::string_view text) {
    if (text.size() <= audit_text_limit) return std::string(text);
    std::size_t end = audit_text_limit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end;
    return std::string(text.substr(0, end)) + "…";
}

Result<std::vector<AuditRow>> collect(Statement& statement) {
    std::vector<AuditRow> rows;
    while (TRY(statement.step())) {
        AuditRow row;
        row.id = statement.integer(0);
        row.at = statement.integer(1);
        int column = 2;
        for (std::string* text : {&row.session, &row.call, &row.event, &row.argv, &row.directory,
                                  &row.decision, &row.decided_by, &row.rule, &row.detail})
            *text = statement.text(column++);
        rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace

void AuditQueue::add(AuditRow row, TimePoint now) {
    schedule(now);
    row.argv = kept(row.argv);
    row.detail = kept(row.detail);
    const std::size_t size = row.argv.size() + row.detail.size();
    if (rows_.size() >= most_rows || bytes_ + size > most_bytes) {
        ++dropped_;
        return;
    }
    bytes_ += size;
    rows_.push_back(std::move(row));
}

void AuditQueue::note_use(std::int64_t grant, Moment now) {
    schedule(now.steady);
    const auto known = std::ranges::find(uses_, grant, &Use::grant);
    if (known != uses_.end()) {
        ++known->count;
        known->last = std::max(known->last, now.wall);
    } else if (uses_.size() < most_used_grants) {
        uses_.push_back(Use{grant, 1, now.wall});
    }
}

void AuditQueue::schedule(TimePoint now) {
    if (!flush_at_) flush_at_ = now + delay_;
}

Result<void> AuditQueue::write(Database& database, UnixMs now) const {
    for (const AuditRow& row : rows_)
        TRY(write_audit(database, row));
    for (const Use& use : uses_)
        TRY(add_uses(database, use.grant, use.count, use.last));
    if (dropped_ == 0) return {};
    AuditRow row;
    row.at = now;
    row.event = "dropped";
    row.detail = fmt::format("{} rows could not be kept", dropped_);
    return write_audit(database, row);
}

void AuditQueue::forget() {
    rows_.clear();
    uses_.clear();
    bytes_ = 0;
    dropped_ = 0;
    flush_at_.reset();
}

void AuditQueue::postpone(TimePoint now) {
    if (!is_empty()) flush_at_ = now + retry_delay;
}

Result<void> write_audit(Database& database, const AuditRow& row) {
    Statement statement = TRY(database.prepare(insert_row));
    statement.bind(row.at).bind(row.session).bind(row.call).bind(row.event);
    statement.bind(kept(row.argv)).bind(row.directory).bind(row.decision);
    statement.bind(row.decided_by).bind(row.rule).bind(kept(row.detail));
    return statement.run();
}

Result<bool> prune_audit(Database& database, UnixMs oldest) {
    Statement statement = TRY(database.prepare(delete_rows));
    TRY(statement.bind(oldest).bind(prune_batch).run());
    return database.changed_rows() >= prune_batch;
}

Result<std::vector<AuditRow>> audit_tail(Database& database, std::int64_t count) {
    Statement statement = TRY(database.prepare(select_tail));
    return collect(statement.bind(count));
}

Result<std::vector<AuditRow>> audit_after(Database& database, std::int64_t after,
                                          std::int64_t count) {
    Statement statement = TRY(database.prepare(select_after));
    return collect(statement.bind(after).bind(count));
}

} // namespace ew::store
