// What the tools tell about a program or a patch, made of execward's own results.
#pragma once

#include "mcp/answers.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
#include "protocol/patch.h"
#include "protocol/policy.h"
#include "protocol/until.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::mcp {

enum class State : std::uint8_t { completed, running, input_needed, failed, not_run };

// What to do with human_command.
constexpr const char* advice_to_type =
    "Ask the person to type human_command in a terminal of their own; then call this tool again "
    "with the same arguments.";

struct RefusedAccess {
    std::string what = {};
    std::optional<std::string> program = {};
    std::uint64_t count = 1;
    std::optional<std::string> allow = {};
};

struct ChangedFile {
    std::string path = {};
    protocol::PatchChange change = protocol::PatchChange::update;
    std::optional<std::string> moved_to = {};
    std::uint64_t added_lines = 0;
    std::uint64_t removed_lines = 0;
};

// Where a wait has found its pattern.
struct FoundText {
    std::string text = {};
    std::uint64_t line = 0;
};

struct Outcome {
    State state = State::completed;
    std::optional<std::string> id = {};
    std::optional<std::int64_t> exit_code = {};
    std::optional<std::string> signal = {};
    std::optional<std::uint64_t> duration_ms = {};
    std::optional<protocol::WaitEndReason> ended_by = {}; // the wait for one of several things
    std::optional<FoundText> match = {};
    std::optional<std::uint64_t> port = {};
    std::string output = {};
    std::uint64_t omitted_bytes = 0;
    std::optional<std::uint64_t> next_after = {};
    std::optional<std::string> cwd = {};
    std::optional<std::string> sandbox = {};
    std::vector<RefusedAccess> denials = {};
    std::vector<ChangedFile> changed_files = {};
    std::optional<std::string> ran_instead = {};
    std::optional<std::string> reason = {};
    std::optional<std::string> human_command = {};
    std::optional<std::string> next = {};
};

// How many bytes of output an answer may have, as they are written in JSON. An answer stays below
// 20 kB, beyond which hosts show less or nothing of it.
constexpr std::size_t most_output = 14'000;

// `missing` bytes are not in `output`. Cuts what is too long.
void set_output(Outcome& outcome, std::string_view output, std::uint64_t missing);

// `mode` is the sandbox of the session.
Outcome outcome_of(const protocol::ExecResult& result, std::string_view mode);
Outcome outcome_of(const protocol::PatchApplyResult& result);

// Says what to do next, and makes the two forms of the result.
ToolResult result_of(Outcome outcome);
ToolResult result_of(const protocol::ExecListResult& list);

// Returns the command of a process, as a person would write it, and not all of a long one.
std::string shown_command(const protocol::ExecProcessInfo& info);
ToolResult result_of(const protocol::PolicyExplainResult& explanation);

} // namespace ew::mcp

namespace ew::json {

template <>
struct Names<mcp::State> {
    static constexpr std::array<std::string_view, 5> list = {"completed", "running", "input_needed",
                                                             "failed", "not_run"};
};

} // namespace ew::json
