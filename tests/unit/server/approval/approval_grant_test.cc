#include "server/approval/approval_book.h"
#include "server/approval/approval_grant.h"
#include "support/testing.h"

#include <limits>

using namespace ew;
using namespace ew::server;
using protocol::ApprovalDecision;
using protocol::ApprovalScope;

namespace {

Question about_make() {
    Question question;
    question.grant_key = "as asked";
    question.widened_key = "widened";
    question.widening = sandbox::Additions{};
    question.widening->network = true;
    question.project = "/tree";
    question.workspace_root = "/tree/part";
    question.request.argv = {"make", "test"};
    question.request.workdir = "/tree/part/sub";
    question.request.proposed_prefix_rule = std::vector<std::string>{"make"};
    return question;
}

store::Grant granted(ApprovalDecision decision, std::optional<ApprovalScope> scope = {}) {
    protocol::ApprovalAnswer answer;
    answer.decision = decision;
    answer.scope = scope;
    return approval_grant(about_make(), answer, "this session");
}

} // namespace

TEST_SUITE_BEGIN("server/approval_grant");

TEST_CASE("an approval for the session counts for this command in this directory") {
    const store::Grant grant = granted(ApprovalDecision::approved_for_session);

    CHECK(grant.kind == store::GrantKind::command);
    CHECK(grant.scope == store::GrantScope::directory);
    CHECK(grant.key == "as asked");
    CHECK(grant.command == "make test");
    CHECK(grant.directory == "/tree/part/sub");
    CHECK(grant.session == "this session");
}

TEST_CASE("an answer about a host is a grant for that host, for the session without a scope") {
    Question question = about_make();
    question.request.kind = protocol::ApprovalKind::network;
    question.request.network.emplace();
    question.request.network->host = "good.example";
    question.request.network->port = 443;
    protocol::ApprovalAnswer answer;
    answer.decision = ApprovalDecision::approved_for_session;

    const store::Grant grant = approval_grant(question, answer, "this session");

    CHECK(grant.kind == store::GrantKind::host);
    CHECK(grant.scope == store::GrantScope::session);
    CHECK(grant.command == "connect to good.example:443");
    CHECK(grant.reason.empty());
}

TEST_CASE("a key says whether it is of a host") {
    CHECK(is_key_of_host(key_of_host("good.example", 443)));
    CHECK_FALSE(is_key_of_host(key_of_prefix({"network"})));
    CHECK_FALSE(is_key_of_host("as asked"));
}

TEST_CASE("a scope says how far an approval counts") {
    using enum ApprovalScope;
    const auto with = [](ApprovalScope scope) {
        return granted(ApprovalDecision::approved_for_session, scope);
    };

    CHECK(with(workspace).directory == "/tree/part");
    CHECK(with(project).scope == store::GrantScope::project);
    CHECK(with(project).project == "/tree");
    CHECK(with(project).session.empty());
    CHECK(with(always).session.empty());
    for (const ApprovalScope scope : {directory, workspace, session, project, always})
        CHECK(to_wire(to_store(scope)) == scope);
}

TEST_CASE("an approved prefix counts for all commands that begin so") {
    const store::Grant grant = granted(ApprovalDecision::approved_with_prefix_rule);

    CHECK(grant.kind == store::GrantKind::prefix);
    CHECK(grant.scope == store::GrantScope::session);
    CHECK(prefix_of_key(grant.key) == std::vector<std::string>{"make"});
    CHECK(grant.command == "make");
}

TEST_CASE("a denial is remembered with the key of an approval") {
    const store::Grant grant = granted(ApprovalDecision::denied, ApprovalScope::always);

    CHECK(grant.kind == store::GrantKind::denial);
    CHECK(grant.scope == store::GrantScope::always);
    CHECK(grant.key == "as asked");
    CHECK(grant.command == "make test");
}

TEST_CASE("an approval of what was refused covers that, and says so") {
    const store::Grant grant =
        granted(ApprovalDecision::approved_widened, ApprovalScope::directory);

    CHECK(grant.key == "widened");
    CHECK(grant.reason.find("use the network") != std::string::npos);
}

TEST_CASE("an approval that expires too late to matter does not overflow") {
    protocol::ApprovalAnswer answer;
    answer.decision = ApprovalDecision::approved_for_session;
    answer.expires_in_ms = std::numeric_limits<std::uint64_t>::max();

    const store::Grant grant = approval_grant(about_make(), answer, "");

    CHECK(grant.expires_at > grant.created_at);
}
