#include "mcp/consent.h"

#include "core/text/display.h"
#include "core/text/long_words.h"
#include "mcp/answers.h"
#include "protocol/stored_approvals.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ew::mcp {

namespace {

using protocol::ApprovalChoice;
using protocol::ApprovalDecision;
using protocol::ApprovalKind;
using protocol::ApprovalRequest;

// A form cannot offer another command, and a host has a way of its own to stop everything.
bool is_offered(const ApprovalChoice& choice) {
    return choice.decision != ApprovalDecision::edited &&
           choice.decision != ApprovalDecision::abort;
}

// Returns the value that stands for the choice in the form.
std::string value_of(const ApprovalChoice& choice) {
    std::string value(json::name_of(choice.decision));
    if (choice.scope) value += fmt::format("_{}", json::name_of(*choice.scope));
    return value;
}

std::string_view heading_of(ApprovalKind kind) {
    switch (kind) {
    case ApprovalKind::command: return "An agent wants to run a command.";
    case ApprovalKind::escalation: return "An agent wants to run a command OUTSIDE the sandbox.";
    case ApprovalKind::permissions:
        return "An agent wants to run a command with more permissions than usual.";
    case ApprovalKind::retry:
        return "The sandbox refused a command something, and it failed. Run it again?";
    case ApprovalKind::patch: return "An agent wants to change files.";
    case ApprovalKind::network: return "A command of an agent wants to connect to a host.";
    }
    return "";
}

void add(std::string& text, std::string_view name, std::string_view value) {
    if (!value.empty()) text += fmt::format("\n{}: {}", name, value);
}

// Adds lines that cannot be taken for our own.
void add_quoted(std::string& text, std::string_view lines) {
    text += '\n';
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        text += fmt::format("\n    {}", lines.substr(0, end));
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
}

std::string shortened(std::string text) {
    constexpr std::size_t longest_begin = 2'000;
    constexpr std::size_t longest_end = 500;
    return core::without_middle(std::move(text), longest_begin, longest_end);
}

// All parts are texts that the server has made safe to show.
std::string message_of(const ApprovalRequest& question) {
    const protocol::ApprovalDisplay& display = question.display;
    std::string text = fmt::format("{}\n\n{}\n", heading_of(question.kind), display.command);
    if (display.has_invisible_characters)
        text += "\nWARNING: what is asked for has characters that cannot be seen; they are spelled "
                "out.";
    if (display.has_mixed_scripts)
        text += "\nWARNING: what is asked for has letters that look like others.";
    // What it may do comes before all that the agent writes.
    for (const std::string& note : display.notes)
        text += fmt::format("\n- {}", note);
    add(text, "Program", display.program);
    add(text, "Directory", display.workdir);
    add(text, "Why you are asked", display.reason);
    add(text, "Rule that is offered", display.prefix_rule.value_or(""));
    add(text, "Input", shortened(display.stdin_text.value_or("")));
    for (const std::string& variable : display.environment)
        add(text, "Variable", shortened(variable));
    add(text, "What the agent says (not checked)", shortened(display.justification.value_or("")));
    if (question.files)
        for (const protocol::PatchedFile& file : *question.files)
            add_quoted(text, file.diff);
    return text;
}

std::string schema_of(const ApprovalRequest& question, bool with_titles) {
    std::string values;
    std::string titles;
    for (const ApprovalChoice& choice : question.available_decisions) {
        if (!is_offered(choice)) continue;
        const std::string value = json_string(value_of(choice));
        const std::string title = json_string(choice.description);
        const std::string_view comma = values.empty() ? "" : ",";
        values += with_titles ? fmt::format(R"({}{{"const":{},"title":{}}})", comma, value, title)
                              : fmt::format("{}{}", comma, value);
        titles += fmt::format("{}{}", comma, title);
    }
    const std::string choices =
        with_titles ? fmt::format(R"("oneOf":[{}])", values)
                    : fmt::format(R"("enum":[{}],"enumNames":[{}])", values, titles);
    return fmt::format(
        R"({{"type":"object","properties":{{"decision":{{"type":"string","title":"Decision",{}}}}},"required":["decision"]}})",
        choices);
}

std::string denial(std::string_view reason) {
    return fmt::format(R"({{"decision":"denied","reason":{}}})", json_string(reason));
}

} // namespace

std::string form_of(const ApprovalRequest& question, bool with_titles) {
    return fmt::format(R"({{{}"message":{},"requestedSchema":{}}})",
                       with_titles ? R"("mode":"form",)" : "", json_string(message_of(question)),
                       schema_of(question, with_titles));
}

std::string answer_of(const ApprovalRequest& question, const FormAnswer& answer) {
    switch (answer.kind) {
    case FormAnswer::Kind::declined: return denial("the person declined");
    case FormAnswer::Kind::dismissed: return denial("the question was dismissed without an answer");
    case FormAnswer::Kind::failed: return denial("the client could not ask the person");
    case FormAnswer::Kind::chosen: break;
    }
    for (const ApprovalChoice& choice : question.available_decisions) {
        if (!is_offered(choice) || value_of(choice) != answer.choice) continue;
        protocol::ApprovalAnswer chosen;
        chosen.decision = choice.decision;
        chosen.scope = choice.scope;
        return json_of(chosen);
    }
    return denial("the answer was not among those that were offered");
}

std::string answer_of_nobody() {
    return R"({"decision":"unasked"})";
}

std::string human_command(std::string_view hint) {
    const std::size_t at = hint.find(protocol::grant_question_command);
    return at == std::string_view::npos ? "" : std::string(hint.substr(at));
}

} // namespace ew::mcp
