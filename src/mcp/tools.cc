#include "mcp/tools.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ew::mcp {

namespace {

constexpr std::array<std::pair<std::string_view, Tool>, 7> names = {{
    {"run_command", Tool::run_command},
    {"read_output", Tool::read_output},
    {"send_input", Tool::send_input},
    {"stop_process", Tool::stop_process},
    {"list_processes", Tool::list_processes},
    {"apply_patch", Tool::apply_patch},
    {"check_command", Tool::check_command},
}};

// The result of the tools that deal with one program or patch (mcp/outcome.h).
#define OUTCOME_SCHEMA                                                                                                                                                                                                                                                                                                                      \
    R"({"type":"object","properties":{)"                                                                                                                                                                                                                                                                                                    \
    R"("state":{"type":"string","enum":["completed","running","input_needed","failed","not_run"],"description":"not_run: a person, a rule or the missing approval of a person kept it from running; reason says which"},)"                                                                                                                  \
    R"("id":{"type":"string","description":"names the process for read_output, send_input and stop_process"},)"                                                                                                                                                                                                                             \
    R"("exit_code":{"type":"integer"},)"                                                                                                                                                                                                                                                                                                    \
    R"("signal":{"type":"string"},)"                                                                                                                                                                                                                                                                                                        \
    R"("duration_ms":{"type":"integer"},)"                                                                                                                                                                                                                                                                                                  \
    R"("output":{"type":"string","description":"stdout and stderr, in order; the beginning and the end if it is long"},)"                                                                                                                                                                                                                   \
    R"("omitted_bytes":{"type":"integer","description":"bytes of output that are not in output"},)"                                                                                                                                                                                                                                         \
    R"("next_after":{"type":"integer","description":"pass it as after to read the next page"},)"                                                                                                                                                                                                                                            \
    R"("cwd":{"type":"string"},)"                                                                                                                                                                                                                                                                                                           \
    R"("sandbox":{"type":"string"},)"                                                                                                                                                                                                                                                                                                       \
    R"("denials":{"type":"array","items":{"type":"object","properties":{"what":{"type":"string"},"program":{"type":"string"},"count":{"type":"integer"},"allow":{"type":"string"}},"required":["what","count"]}},)"                                                                                                                         \
    R"("changed_files":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"change":{"type":"string","enum":["add","update","delete","move"]},"moved_to":{"type":"string"},"added_lines":{"type":"integer"},"removed_lines":{"type":"integer"}},"required":["path","change","added_lines","removed_lines"]}},)" \
    R"("ran_instead":{"type":"string","description":"the command that a person put in place of yours"},)"                                                                                                                                                                                                                                   \
    R"("reason":{"type":"string"},)"                                                                                                                                                                                                                                                                                                        \
    R"("human_command":{"type":"string","description":"what a person can type to allow this; you must not"},)"                                                                                                                                                                                                                              \
    R"("next":{"type":"string","description":"what to do now"}},)"                                                                                                                                                                                                                                                                          \
    R"("required":["state","output","omitted_bytes"]})"

constexpr std::string_view list =
    R"("tools":[)"
    R"({"name":"run_command","title":"Run a command","description":"Runs a shell command (command) or a program (argv) in the workspace, in a sandbox, and returns its exit code and output. If it takes longer than timeout_ms it is NOT ended: you get state running and an id for read_output, send_input and stop_process. background returns at once, for servers. tty gives it a terminal: needed to type into it later. Some commands are shown to a person first. Denials say what the sandbox refused; network or write_paths then ask a person for that.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("command":{"type":"string","description":"a script for the user's shell; either this or argv"},)"
    R"("argv":{"type":"array","items":{"type":"string"},"minItems":1,"description":"a program and its arguments, without a shell"},)"
    R"("cwd":{"type":"string","description":"where it runs; relative to the workspace, which is the default"},)"
    R"("stdin":{"type":"string","description":"all of its input; without it and without tty the input is empty"},)"
    R"("tty":{"type":"boolean","default":false,"description":"give it a terminal"},)"
    R"("background":{"type":"boolean","default":false,"description":"return as soon as it has started"},)"
    R"("timeout_ms":{"type":"integer","minimum":0,"maximum":600000,"default":30000,"description":"how long to wait for its end"},)"
    R"("on_cancel":{"type":"string","enum":["keep","stop"],"default":"keep","description":"what happens to it if this call is cancelled"},)"
    R"("network":{"type":"boolean","default":false,"description":"ask a person to let it use the network"},)"
    R"("write_paths":{"type":"array","items":{"type":"string"},"description":"ask a person to let it write there, outside the workspace"},)"
    R"("reason":{"type":"string","description":"why, for the person who is asked"}},"additionalProperties":false},)"
    R"("outputSchema":)" OUTCOME_SCHEMA
    R"(,"annotations":{"title":"Run a command","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}},)"
    R"({"name":"read_output","title":"Read output","description":"Returns what a process has printed since the last answer about it, and its state. wait_ms waits for new output or the end. With after (0, or next_after of the last answer) it pages through all output from its start, also through what an earlier answer left out; the newest 1 MiB is kept, also after the end.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("id":{"type":"string","description":"the process"},)"
    R"("after":{"type":"integer","minimum":0,"description":"0, or next_after: read a page"},)"
    R"("wait_ms":{"type":"integer","minimum":0,"maximum":600000,"default":0,"description":"how long to wait for new output"}},)"
    R"("required":["id"],"additionalProperties":false},"outputSchema":)" OUTCOME_SCHEMA
    R"(,"annotations":{"title":"Read output","readOnlyHint":true,"openWorldHint":false}},)"
    R"({"name":"send_input","title":"Type into a process","description":"Types text into a process that was started with tty, then returns what it printed. A line ends with \n, which you must write. \u0003 (Ctrl-C) interrupts any process. close ends its input (in a terminal like Ctrl-D).",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("id":{"type":"string","description":"the process"},)"
    R"("text":{"type":"string","description":"what to type"},)"
    R"("close":{"type":"boolean","default":false,"description":"end its input after the text"},)"
    R"("wait_ms":{"type":"integer","minimum":0,"maximum":600000,"default":1000,"description":"how long to wait for output after it"}},)"
    R"("required":["id"],"additionalProperties":false},"outputSchema":)" OUTCOME_SCHEMA
    R"(,"annotations":{"title":"Type into a process","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}},)"
    R"({"name":"stop_process","title":"Stop a process","description":"Ends a process with everything that it started, and returns the rest of its output. It gets SIGTERM first, and SIGKILL after grace_ms.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("id":{"type":"string","description":"the process"},)"
    R"("grace_ms":{"type":"integer","minimum":0,"maximum":30000,"default":500,"description":"how long it may take to end by itself"}},)"
    R"("required":["id"],"additionalProperties":false},"outputSchema":)" OUTCOME_SCHEMA
    R"(,"annotations":{"title":"Stop a process","readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}},)"
    R"({"name":"list_processes","title":"List processes","description":"Lists the processes of this session that are kept: running ones, and ended ones whose output can still be read.",)"
    R"("inputSchema":{"type":"object","properties":{},"additionalProperties":false},)"
    R"("outputSchema":{"type":"object","properties":{"processes":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"command":{"type":"string"},"cwd":{"type":"string"},"state":{"type":"string","enum":["running","exited"]},"exit_code":{"type":"integer"},"unread_bytes":{"type":"integer"}},"required":["id","command","state"]}},"omitted":{"type":"integer"}},"required":["processes"]},)"
    R"("annotations":{"title":"List processes","readOnlyHint":true,"openWorldHint":false}},)"
    R"({"name":"apply_patch","title":"Change files","description":"Changes files together or not at all. patch begins with the line *** Begin Patch and ends with *** End Patch. Between them: *** Add File: PATH with lines that begin with +; *** Delete File: PATH; *** Update File: PATH (then maybe *** Move to: PATH) with chunks, each a line @@ (or @@ and a line near the place) and lines that begin with a space (unchanged), - (removed) or + (added). Paths are relative to cwd. A person may be asked.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("patch":{"type":"string"},)"
    R"("cwd":{"type":"string","description":"where its paths start; the workspace by default"},)"
    R"("reason":{"type":"string","description":"why, for the person who is asked"}},)"
    R"("required":["patch"],"additionalProperties":false},"outputSchema":)" OUTCOME_SCHEMA
    R"(,"annotations":{"title":"Change files","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}},)"
    R"({"name":"check_command","title":"Check a command","description":"Tells whether run_command would run this (allow), show it to a person first (prompt) or refuse it (forbidden), and why. Nothing runs.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("command":{"type":"string","description":"a script for the user's shell; either this or argv"},)"
    R"("argv":{"type":"array","items":{"type":"string"},"minItems":1},)"
    R"("cwd":{"type":"string"}},"additionalProperties":false},)"
    R"("outputSchema":{"type":"object","properties":{"decision":{"type":"string","enum":["allow","prompt","forbidden"]},"reason":{"type":"string"},"program":{"type":"string"},"commands":{"type":"array","items":{"type":"object","properties":{"command":{"type":"string"},"decision":{"type":"string","enum":["allow","prompt","forbidden"]},"why":{"type":"string"}},"required":["command","decision","why"]}}},"required":["decision","reason","commands"]},)"
    R"("annotations":{"title":"Check a command","readOnlyHint":true,"openWorldHint":false}}])";

#undef OUTCOME_SCHEMA

} // namespace

std::optional<Tool> tool_named(std::string_view name) {
    const auto* const found =
        std::ranges::find(names, name, &std::pair<std::string_view, Tool>::first);
    if (found == names.end()) return std::nullopt;
    return found->second;
}

std::string_view tool_list() {
    return list;
}

std::string_view tool_names() {
    return "run_command, read_output, send_input, stop_process, list_processes, apply_patch, "
           "check_command";
}

} // namespace ew::mcp
