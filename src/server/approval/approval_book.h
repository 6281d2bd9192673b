// What was allowed for more than once, from both places that keep it: grants in the database, and
// the rules that allow a prefix for ever, in the user's rules (config/rule_amendment.h). Of such a
// rule the database only knows when it came and how often it was used; the file is what counts.
#pragma once

#include "base/result.h"
#include "config/rule_files.h"
#include "protocol/approval.h"
#include "store/store.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ew::server {

class ApprovalBook {
public:
    // Both outlive the book. `rules_dir`: the user's rules.d.
    ApprovalBook(store::Store& store, const std::string& rules_dir)
        : store_(store), rules_dir_(rules_dir) {}

    // The database's first, newest first, then rules that it does not know.
    Result<std::vector<protocol::ApprovalInfo>> list(store::UnixMs now);

    // Returns how many are gone. Errors: invalid_params, unknown_approval, store_unavailable,
    // config_invalid. `author` is the audit row to write for each.
    Result<std::uint64_t> revoke(const protocol::ApprovalsRevokeParams& what,
                                 const store::AuditRow& author);

    // Writes a decision and what it allows from now on, for good before it returns. Returns the id
    // of the grant.
    Result<std::int64_t> record(const store::AuditRow& decision, const store::Grant& grant);

    // Allow rules from grants that count now for a session in a project. Grants that stand for a
    // rule in a file are not among them: the rule counts, and names its grant.
    Result<std::vector<core::PrefixRule>> rules(const std::string& session,
                                                const std::string& project, store::UnixMs now,
                                                config::LoadedRules& loaded);

private:
    Result<std::uint64_t> revoke_one(const std::string& id, const store::AuditRow& author);
    Result<void> record_removal(const std::vector<std::string>& words, const std::string& origin,
                                const store::AuditRow& author);
    Result<std::uint64_t> revoke_everything(const store::AuditRow& author);
    std::vector<core::PrefixRule> approved_rules() const;

    store::Store& store_;
    std::string rules_dir_;
};

// The names of the database and of the wire for the same.
store::GrantScope to_store(protocol::ApprovalScope scope);
protocol::ApprovalScope to_wire(store::GrantScope scope);
protocol::GrantKindName to_wire(store::GrantKind kind);

// A prefix as it is kept in a grant: a JSON array of its words; and back. Not an array of strings:
// empty.
std::string key_of_prefix(const std::vector<std::string>& words);
std::vector<std::string> prefix_of_key(const std::string& key);

} // namespace ew::server
