#include "mcp/wording.h"

#include <array>
#include <utility>

namespace ew::mcp {

namespace {

// A name that begins with another one comes before it.
constexpr auto names = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"exec/command", "run_command"},
    {"exec/writeStdin", "send_input"},
    {"exec/wait", "wait"},
    {"exec/screen", "screen"},
    {"exec/terminate", "stop_process"},
    {"exec/list", "list_processes"},
    {"process/list", "list_processes"},
    {"process/read", "read_output"},
    {"process/write", "send_input"},
    {"process/terminate", "stop_process"},
    {"patch/apply", "apply_patch"},
    {"policy/explain", "check_command"},
    {"processId", "id"},
    {"workdir", "cwd"},
    {"justification", "reason"},
    {"closeStdin", "close"},
    {"chars", "text"},
    {"yieldTimeMs", "timeout_ms"},
    {"timeoutMs", "timeout_ms"},
    {"graceMs", "grace_ms"},
    {"onCancel", "on_cancel"},
    {"\"terminate\"", "\"stop\""},
    {"additionalPermissions.fileSystem.write", "write_paths"},
    {"additionalPermissions.network", "network"},
    {"additionalPermissions", "network and write_paths"},
    {"until.pattern.text", "until_text"},
    {"until.pattern.regex", "until_regex"},
    {"until.pattern", "until_text"},
    {"until.port", "until_port"},
    {"until.input", "until_input"},
    {"until.quietMs", "until_quiet_ms"},
    {"tty: true", "tty true"},
    {"networkAccess = true (--network)", "network true"},
    {"writableRoots =", "write_paths"},
});

bool continues_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '/';
}

// Returns true if a name may begin behind this character: not inside a path or a quoted value.
bool may_precede(char c) {
    return !continues_name(c) && c != '.' && c != '\'';
}

// Returns the name that begins the text, and null if there is none.
const std::pair<std::string_view, std::string_view>* name_at(std::string_view text) {
    for (const auto& name : names) {
        if (!text.starts_with(name.first)) continue;
        const std::string_view rest = text.substr(name.first.size());
        if (rest.empty() || !continues_name(rest.front())) return &name;
    }
    return nullptr;
}

} // namespace

std::string in_tool_words(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const bool may_begin = at == 0 || may_precede(text[at - 1]);
        const auto* const name = may_begin ? name_at(text.substr(at)) : nullptr;
        result += name != nullptr ? name->second : text.substr(at, 1);
        at += name != nullptr ? name->first.size() : 1;
    }
    return result;
}

} // namespace ew::mcp
