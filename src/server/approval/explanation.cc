#include "server/approval/explanation.h"

namespace ew::server {

protocol::PolicyExplainResult explanation_of(const core::Judgement& judgement) {
    protocol::PolicyExplainResult result;
    result.decision = judgement.decision;
    result.reason = judgement.reason;
    if (!judgement.obstacle.empty()) result.obstacle = judgement.obstacle;
    for (const core::CommandVerdict& from : judgement.commands) {
        protocol::CommandVerdict& to = result.commands.emplace_back();
        to.words = from.words;
        to.decision = from.decision;
        to.why = from.why;
        if (!from.rule_origin.empty()) to.rule = from.rule_origin;
        if (!from.justification.empty()) to.justification = from.justification;
    }
    if (!judgement.proposed_prefix.empty()) result.proposed_prefix_rule = judgement.proposed_prefix;
    return result;
}

} // namespace ew::server
