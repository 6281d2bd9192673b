// The audit: the queue of rows to write, and the rows in the database.
#pragma once

#include "base/result.h"
#include "store/database.h"
#include "store/types.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ew::store {

// The length of the longest text in a row. A longer text is cut and ends with "…".
constexpr std::size_t audit_text_limit = 16 << 10;

// Audit rows and uses of grants between two flushes. The queue is bounded: rows that do not fit are
// counted.
class AuditQueue {
public:
    static constexpr std::size_t most_rows = 4096;
    static constexpr std::size_t most_bytes = 4 << 20; // of argv and detail
    static constexpr std::size_t most_used_grants = 1024;

    // How long to wait after a failed write before the next attempt.
    static constexpr Millis retry_delay{5000};

    explicit AuditQueue(Millis delay) : delay_(delay) {}

    void add(AuditRow row, TimePoint now);
    void note_use(std::int64_t grant, Moment now);

    bool is_empty() const { return rows_.empty() && uses_.empty() && dropped_ == 0; }

    std::optional<TimePoint> flush_at() const { return flush_at_; }

    // Writes everything inside a transaction of the caller. The caller then calls forget() or
    // postpone().
    Result<void> write(Database& database, UnixMs now) const;
    void forget();                // after a commit
    void postpone(TimePoint now); // after a failure

private:
    struct Use {
        std::int64_t grant = 0;
        std::int64_t count = 0;
        UnixMs last = 0;
    };

    void schedule(TimePoint now);

    Millis delay_;
    std::vector<AuditRow> rows_;
    std::vector<Use> uses_;
    std::size_t bytes_ = 0;
    std::int64_t dropped_ = 0; // number of rows
    std::optional<TimePoint> flush_at_;
};

Result<void> write_audit(Database& database, const AuditRow& row);

// Deletes rows from before `oldest`, at most prune_batch of them. Returns true if there may be
// more.
constexpr std::int64_t prune_batch = 500;
Result<bool> prune_audit(Database& database, UnixMs oldest);

Result<std::vector<AuditRow>> audit_tail(Database& database, std::int64_t count);
Result<std::vector<AuditRow>> audit_after(Database& database, std::int64_t after,
                                          std::int64_t count);

} // namespace ew::store
