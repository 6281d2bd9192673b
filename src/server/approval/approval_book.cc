#include "server/approval/approval_book.h"

#include "config/rule_amendment.h"
#include "json/strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace ew::server {

namespace {

using protocol::ApprovalInfo;
using store::Grant;
using store::GrantKind;
using store::GrantScope;

constexpr std::string_view rule_id = "rule:";

// Such a grant is a row of the database, but only the rule in the file allows anything.
bool stands_for_rule(const Grant& grant) {
    return grant.kind == GrantKind::prefix && grant.scope == GrantScope::always &&
           !grant.expires_at;
}

// Returns the words of a rule. Returns nullopt if the rule has alternatives.
std::optional<std::vector<std::string>> words_of(const core::PrefixRule& rule) {
    std::vector<std::string> words;
    for (const std::vector<std::string>& alternatives : rule.prefix) {
        if (alternatives.size() != 1) return std::nullopt;
        words.push_back(alternatives.front());
    }
    return words;
}

core::PrefixRule* find_rule(std::vector<core::PrefixRule>& rules,
                            const std::vector<std::string>& words) {
    const auto at = std::find_if(rules.begin(), rules.end(), [&](const core::PrefixRule& rule) {
        return rule.decision == core::Decision::allow && words_of(rule) == words;
    });
    return at == rules.end() ? nullptr : &*at;
}

template <class Text>
std::optional<std::string> unless_empty(Text&& text) {
    if (text.empty()) return std::nullopt;
    return std::forward<Text>(text);
}

std::optional<std::uint64_t> unsigned_ms(std::optional<store::UnixMs> time) {
    if (!time) return std::nullopt;
    return static_cast<std::uint64_t>(*time);
}

ApprovalInfo info_of(const Grant& grant) {
    ApprovalInfo info;
    info.id = fmt::format("{}", grant.id);
    info.kind = to_wire(grant.kind);
    info.scope = to_wire(grant.scope);
    info.command = grant.command;
    if (grant.kind == GrantKind::prefix) info.prefix = prefix_of_key(grant.key);
    info.directory = unless_empty(grant.directory);
    info.project = unless_empty(grant.project);
    info.session = unless_empty(grant.session);
    info.origin = grant.origin;
    info.reason = unless_empty(grant.reason);
    info.created_at_ms = unsigned_ms(grant.created_at);
    info.expires_at_ms = unsigned_ms(grant.expires_at);
    info.last_used_at_ms = unsigned_ms(grant.last_used_at);
    info.uses = static_cast<std::uint64_t>(grant.uses);
    return info;
}

std::string id_of_rule(const std::vector<std::string>& words) {
    return fmt::format("{}{}", rule_id, fmt::join(words, " "));
}

ApprovalInfo info_of(const core::PrefixRule& rule, const std::vector<std::string>& words) {
    ApprovalInfo info;
    info.id = id_of_rule(words);
    info.kind = protocol::GrantKindName::prefix;
    info.scope = protocol::ApprovalScope::always;
    info.command = fmt::format("{}", fmt::join(words, " "));
    info.prefix = words;
    info.origin = rule.origin;
    info.reason = unless_empty(rule.justification);
    return info;
}

} // namespace

GrantScope to_store(protocol::ApprovalScope scope) {
    switch (scope) {
    case protocol::ApprovalScope::directory: return GrantScope::directory;
    case protocol::ApprovalScope::workspace: return GrantScope::workspace;
    case protocol::ApprovalScope::session: return GrantScope::session;
    case protocol::ApprovalScope::project: return GrantScope::project;
    case protocol::ApprovalScope::always: return GrantScope::always;
    }
    return GrantScope::directory;
}

protocol::ApprovalScope to_wire(GrantScope scope) {
    switch (scope) {
    case GrantScope::directory: return protocol::ApprovalScope::directory;
    case GrantScope::workspace: return protocol::ApprovalScope::workspace;
    case GrantScope::session: return protocol::ApprovalScope::session;
    case GrantScope::project: return protocol::ApprovalScope::project;
    case GrantScope::always: return protocol::ApprovalScope::always;
    }
    return protocol::ApprovalScope::directory;
}

protocol::GrantKindName to_wire(GrantKind kind) {
    switch (kind) {
    case GrantKind::command: return protocol::GrantKindName::command;
    case GrantKind::prefix: return protocol::GrantKindName::prefix;
    case GrantKind::denial: return protocol::GrantKindName::denial;
    case GrantKind::question: return protocol::GrantKindName::question;
    case GrantKind::host: return protocol::GrantKindName::host;
    }
    return protocol::GrantKindName::command;
}

std::string key_of_prefix(const std::vector<std::string>& words) {
    return json::strings_to_json(words);
}

std::vector<std::string> prefix_of_key(const std::string& key) {
    return json::strings_from_json(key).value_or(std::vector<std::string>());
}

std::string key_of_host(std::string_view host, std::uint16_t port) {
    return json::strings_to_json({"network", std::string(host), fmt::format("{}", port)});
}

bool is_key_of_host(const std::string& key) {
    const std::optional<std::vector<std::string>> words = json::strings_from_json(key);
    return words && words->size() == 3 && words->front() == "network";
}

std::vector<core::PrefixRule> ApprovalBook::approved_rules() const {
    const std::string file = fmt::format("{}/{}", rules_dir_, config::approved_file);
    return std::move(config::load_rule_files({file}).rules.rules);
}

Result<std::vector<ApprovalInfo>> ApprovalBook::list(store::UnixMs now) {
    std::vector<Grant> grants = TRY(store_.list({}, now));
    std::vector<core::PrefixRule> rules = approved_rules();
    std::vector<ApprovalInfo> approvals;
    for (const Grant& grant : grants) {
        core::PrefixRule* const rule =
            stands_for_rule(grant) ? find_rule(rules, prefix_of_key(grant.key)) : nullptr;
        if (stands_for_rule(grant) && rule == nullptr) continue;
        if (rule != nullptr) rule->grant = grant.id;
        approvals.push_back(info_of(grant));
    }
    for (const core::PrefixRule& rule : rules)
        if (const auto words = words_of(rule); words && rule.grant == 0)
            approvals.push_back(info_of(rule, *words));
    return approvals;
}

Result<std::uint64_t> ApprovalBook::revoke(const protocol::ApprovalsRevokeParams& what,
                                           const store::AuditRow& author) {
    const int named = int{what.id.has_value()} + int{what.session.has_value()} +
                      int{what.project.has_value()} + int{what.everything};
    if (named != 1)
        return Error{ErrorKind::invalid_params,
                     "id: expected exactly one of id, session, project and everything", "", "id"};
    if (what.id) return revoke_one(*what.id, author);
    if (what.everything) return revoke_everything(author);
    const store::RevokeWhat which = what.session
                                        ? store::RevokeWhat(store::GrantsOfSession{*what.session})
                                        : store::GrantsOfProject{what.project->native};
    return static_cast<std::uint64_t>(TRY(store_.revoke(which, author)));
}

// Only for a rule without a grant: the database writes the audit row of a grant by itself.
Result<void> ApprovalBook::record_removal(const std::vector<std::string>& words,
                                          const std::string& origin,
                                          const store::AuditRow& author) {
    store::AuditRow row = author;
    row.argv = json::strings_to_json(words);
    row.rule = origin;
    (void)TRY(store_.record(row, std::nullopt));
    return {};
}

Result<std::uint64_t> ApprovalBook::revoke_one(const std::string& id,
                                               const store::AuditRow& author) {
    const Error unknown = {ErrorKind::unknown_approval, fmt::format("no approval '{}'", id),
                           "approvals/list shows them with their ids", "id"};
    for (const core::PrefixRule& rule : approved_rules()) {
        const std::optional<std::vector<std::string>> words = words_of(rule);
        if (!words || id_of_rule(*words) != id) continue;
        if (!TRY(config::remove_rule(rules_dir_, *words))) return unknown;
        TRY(record_removal(*words, rule.origin, author));
        return std::uint64_t{1};
    }
    std::int64_t number = 0;
    const auto parsed = std::from_chars(id.data(), id.data() + id.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != id.data() + id.size()) return unknown;
    for (const Grant& grant : TRY(store_.list({}, author.at)))
        if (grant.id == number && stands_for_rule(grant))
            (void)TRY(config::remove_rule(rules_dir_, prefix_of_key(grant.key)));
    const std::int64_t revoked = TRY(store_.revoke(store::OneGrant{number}, author));
    if (revoked == 0) return unknown;
    return static_cast<std::uint64_t>(revoked);
}

Result<std::uint64_t> ApprovalBook::revoke_everything(const store::AuditRow& author) {
    std::uint64_t rules = 0;
    for (const ApprovalInfo& info : TRY(list(author.at))) {
        if (info.scope != protocol::ApprovalScope::always || !info.prefix || info.expires_at_ms)
            continue;
        const bool is_known = info.created_at_ms.has_value(); // it is counted as a grant
        if (!TRY(config::remove_rule(rules_dir_, *info.prefix)) || is_known) continue;
        TRY(record_removal(*info.prefix, info.origin, author));
        ++rules;
    }
    return rules + static_cast<std::uint64_t>(TRY(store_.revoke(store::EveryGrant{}, author)));
}

Result<std::int64_t> ApprovalBook::record(const store::AuditRow& decision, const Grant& grant) {
    if (stands_for_rule(grant))
        TRY(config::append_rule(rules_dir_,
                                {prefix_of_key(grant.key), grant.reason, grant.created_at}));
    return store_.record(decision, grant);
}

Result<std::vector<core::PrefixRule>> ApprovalBook::rules(const std::string& session,
                                                          const std::string& project,
                                                          store::UnixMs now,
                                                          config::LoadedRules& loaded) {
    std::vector<core::PrefixRule> rules;
    for (const Grant& grant : TRY(store_.prefixes(session, project, now))) {
        const std::vector<std::string> words = prefix_of_key(grant.key);
        if (words.empty()) continue; // not execward's; an empty prefix would allow everything
        if (stands_for_rule(grant)) {
            core::PrefixRule* const rule = find_rule(loaded.rules.rules, words);
            if (rule != nullptr) rule->grant = grant.id;
            continue;
        }
        core::PrefixRule& rule = rules.emplace_back();
        for (const std::string& word : words)
            rule.prefix.push_back({word});
        rule.decision = core::Decision::allow;
        rule.further = core::FurtherWords::harmless;
        rule.layer = core::RuleLayer::session;
        rule.origin = fmt::format("grant {}", grant.id);
        rule.justification = grant.reason;
        rule.grant = grant.id;
    }
    return rules;
}

} // namespace ew::server
