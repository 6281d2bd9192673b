// Approvals that count more than once, from both places that keep them: grants in the database, and
// the rules that always allow a prefix, in the user's rules (config/rule_amendment.h). For such a
// rule the database has only its time and its number of uses; the file decides.
#pragma once

#include "base/result.h"
#include "config/rule_files.h"
#include "protocol/approval.h"
#include "protocol/stored_approvals.h"
#include "store/store.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

class ApprovalBook {
public:
    // `store` must outlive the book. `rules_dir` is the user's rules.d.
    ApprovalBook(store::Store& store, const std::string& rules_dir)
        : store_(store), rules_dir_(rules_dir) {}

    // Returns the grants of the database, newest first, then the rules that it does not know.
    Result<std::vector<protocol::ApprovalInfo>> list(store::UnixMs now);

    // Returns the number of approvals that were removed. Errors: invalid_params, unknown_approval,
    // store_unavailable, config_invalid. `author` is the audit row to write for each.
    Result<std::uint64_t> revoke(const protocol::ApprovalsRevokeParams& what,
                                 const store::AuditRow& author);

    // Writes a decision and the grant that follows from it. Both are on the disk when it returns.
    // Returns the id of the grant.
    Result<std::int64_t> record(const store::AuditRow& decision, const store::Grant& grant);

    // Returns allow rules from the grants that count now for a session in a project. Leaves out
    // grants that stand for a rule in a file: it notes their ids in the rules of `loaded`.
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

// Convert between the scopes of the database and of the wire.
store::GrantScope to_store(protocol::ApprovalScope scope);
protocol::ApprovalScope to_wire(store::GrantScope scope);
protocol::GrantKindName to_wire(store::GrantKind kind);

// Convert between a prefix and the key of its grant, a JSON array of the words. prefix_of_key()
// returns an empty prefix if the key is not an array of strings.
std::string key_of_prefix(const std::vector<std::string>& words);
std::vector<std::string> prefix_of_key(const std::string& key);

// The key of a grant for a host and port, or of a denial of them.
std::string key_of_host(std::string_view host, std::uint16_t port);
bool is_key_of_host(const std::string& key);

} // namespace ew::server
