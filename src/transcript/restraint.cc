#include "transcript/restraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace ew::transcript {

namespace {

// These methods only read, or the server decides about what they do. Nothing else may be sent.
constexpr auto judged_methods = std::to_array<std::string_view>(
    {"initialize",      "initialized",    "shutdown",          "exit",
     "$/cancelRequest", "exec/command",   "exec/writeStdin",   "exec/wait",
     "exec/list",       "exec/terminate", "exec/terminateAll", "exec/signal",
     "exec/resize",     "exec/screen",    "patch/check",       "patch/apply",
     "approvals/list",  "policy/explain", "environment/info",  "environment/status",
     "environment/list"});

// Two members of one name: the server may take the other one.
bool has_double_member(const Node& node) {
    for (std::size_t i = 0; i < node.names.size(); ++i)
        if (std::find(node.names.begin(), node.names.begin() + static_cast<std::ptrdiff_t>(i),
                      node.names[i]) != node.names.begin() + static_cast<std::ptrdiff_t>(i))
            return true;
    return std::any_of(node.items.begin(), node.items.end(), has_double_member);
}

bool is_restrained(std::string_view method, const Node& message) {
    if (method != "initialize") return true;
    const Node* const params = message.find("params");
    if (params != nullptr && params->kind != Node::Kind::object) return false; // a name, perhaps
    return message.find("params", "settings") == nullptr &&
           message.find("params", "resumeSessionId") == nullptr;
}

std::optional<std::string> presumption_of(const Step& step) {
    if (step.kind == Step::Kind::options || step.kind == Step::Kind::setting)
        return "this sets options of the server";
    if (step.kind != Step::Kind::send) return std::nullopt;
    if (!step.message || step.message->kind != Node::Kind::object)
        return "it is not known what a server does with this";
    if (has_double_member(*step.message)) return "a member is there twice";
    const Node* const method = step.message->find("method");
    if (method == nullptr) return std::nullopt; // an answer
    const auto* const known = std::find(judged_methods.begin(), judged_methods.end(), method->text);
    if (known == judged_methods.end() || step.message->find("result") != nullptr)
        return "this acts without a decision of the server, or changes how it decides";
    if (!is_restrained(method->text, *step.message)) return "this changes how the server decides";
    return std::nullopt;
}

} // namespace

std::optional<Discord> find_presumption(const std::vector<Step>& steps) {
    for (const Step& step : steps)
        if (const std::optional<std::string> why = presumption_of(step))
            return Discord{step.line,
                           fmt::format("{}; only --trust-recording plays it, and nothing was "
                                       "started",
                                       *why),
                           {},
                           step.text,
                           {}};
    return std::nullopt;
}

Node restrained(const Node& message) {
    if (message.find("method") != nullptr || message.find("result") == nullptr) return message;
    Node answer;
    answer.kind = Node::Kind::object;
    if (const Node* const id = message.find("id")) answer.add("id", *id);
    Node denial;
    denial.kind = Node::Kind::object;
    denial.add("decision", Node::of_text("denied"));
    answer.add("result", std::move(denial));
    return answer;
}

} // namespace ew::transcript
