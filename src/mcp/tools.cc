#include "mcp/tools.h"

#include <fmt/format.h>

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
constexpr std::string_view outcome_schema = R"({
  "type": "object",
  "properties": {
    "state": {
      "type": "string",
      "enum": ["completed", "running", "input_needed", "failed", "not_run"],
      "description": "not_run: a person, a rule or the missing approval of a person kept it from running; reason says which"
    },
    "id": {
      "type": "string",
      "description": "names the process for read_output, send_input and stop_process"
    },
    "exit_code": {"type": "integer"},
    "signal": {"type": "string"},
    "duration_ms": {"type": "integer"},
    "output": {
      "type": "string",
      "description": "stdout and stderr, in order; the beginning and the end if it is long"
    },
    "omitted_bytes": {"type": "integer", "description": "bytes of output that are not in output"},
    "next_after": {"type": "integer", "description": "pass it as after to read the next page"},
    "cwd": {"type": "string"},
    "sandbox": {"type": "string"},
    "denials": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "what": {"type": "string"},
          "program": {"type": "string"},
          "count": {"type": "integer"},
          "allow": {"type": "string"}
        },
        "required": ["what", "count"]
      }
    },
    "changed_files": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "path": {"type": "string"},
          "change": {"type": "string", "enum": ["add", "update", "delete", "move"]},
          "moved_to": {"type": "string"},
          "added_lines": {"type": "integer"},
          "removed_lines": {"type": "integer"}
        },
        "required": ["path", "change", "added_lines", "removed_lines"]
      }
    },
    "ran_instead": {"type": "string", "description": "the command that a person put in place of yours"},
    "reason": {"type": "string"},
    "human_command": {"type": "string", "description": "what a person can type to allow this; you must not"},
    "next": {"type": "string", "description": "what to do now"}
  },
  "required": ["state", "output", "omitted_bytes"]
})";

constexpr std::string_view outcome_mark = "@OUTCOME@";
constexpr std::string_view list = R"([
  {
    "name": "run_command",
    "title": "Run a command",
    "description": "Runs a shell command (command) or a program (argv) in the workspace, in a sandbox, and returns its exit code and output. If it takes longer than timeout_ms it is NOT ended: you get state running and an id for read_output, send_input and stop_process. background returns at once, for servers. tty gives it a terminal: needed to type into it later. Some commands are shown to a person first. Denials say what the sandbox refused; network or write_paths then ask a person for that.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "command": {"type": "string", "description": "a script for the user's shell; either this or argv"},
        "argv": {
          "type": "array",
          "items": {"type": "string"},
          "minItems": 1,
          "description": "a program and its arguments, without a shell"
        },
        "cwd": {
          "type": "string",
          "description": "where it runs; relative to the workspace, which is the default"
        },
        "stdin": {
          "type": "string",
          "description": "all of its input; without it and without tty the input is empty"
        },
        "tty": {"type": "boolean", "default": false, "description": "give it a terminal"},
        "background": {"type": "boolean", "default": false, "description": "return as soon as it has started"},
        "timeout_ms": {
          "type": "integer",
          "minimum": 0,
          "maximum": 600000,
          "default": 30000,
          "description": "how long to wait for its end"
        },
        "on_cancel": {
          "type": "string",
          "enum": ["keep", "stop"],
          "default": "keep",
          "description": "what happens to it if this call is cancelled"
        },
        "network": {
          "type": "boolean",
          "default": false,
          "description": "ask a person to let it use the network"
        },
        "write_paths": {
          "type": "array",
          "items": {"type": "string"},
          "description": "ask a person to let it write there, outside the workspace"
        },
        "reason": {"type": "string", "description": "why, for the person who is asked"}
      },
      "additionalProperties": false
    },
    "outputSchema": @OUTCOME@,
    "annotations": {
      "title": "Run a command",
      "readOnlyHint": false,
      "destructiveHint": true,
      "idempotentHint": false,
      "openWorldHint": true
    }
  },
  {
    "name": "read_output",
    "title": "Read output",
    "description": "Returns what a process has printed since the last answer about it, and its state. wait_ms waits for new output or the end. With after (0, or next_after of the last answer) it pages through all output from its start, also through what an earlier answer left out; the newest 1 MiB is kept, also after the end.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "id": {"type": "string", "description": "the process"},
        "after": {"type": "integer", "minimum": 0, "description": "0, or next_after: read a page"},
        "wait_ms": {
          "type": "integer",
          "minimum": 0,
          "maximum": 600000,
          "default": 0,
          "description": "how long to wait for new output"
        }
      },
      "required": ["id"],
      "additionalProperties": false
    },
    "outputSchema": @OUTCOME@,
    "annotations": {"title": "Read output", "readOnlyHint": true, "openWorldHint": false}
  },
  {
    "name": "send_input",
    "title": "Type into a process",
    "description": "Types text into a process that was started with tty, then returns what it printed. A line ends with \n, which you must write. \u0003 (Ctrl-C) interrupts any process. close ends its input (in a terminal like Ctrl-D).",
    "inputSchema": {
      "type": "object",
      "properties": {
        "id": {"type": "string", "description": "the process"},
        "text": {"type": "string", "description": "what to type"},
        "close": {"type": "boolean", "default": false, "description": "end its input after the text"},
        "wait_ms": {
          "type": "integer",
          "minimum": 0,
          "maximum": 600000,
          "default": 1000,
          "description": "how long to wait for output after it"
        }
      },
      "required": ["id"],
      "additionalProperties": false
    },
    "outputSchema": @OUTCOME@,
    "annotations": {
      "title": "Type into a process",
      "readOnlyHint": false,
      "destructiveHint": true,
      "idempotentHint": false,
      "openWorldHint": true
    }
  },
  {
    "name": "stop_process",
    "title": "Stop a process",
    "description": "Ends a process with everything that it started, and returns the rest of its output. It gets SIGTERM first, and SIGKILL after grace_ms.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "id": {"type": "string", "description": "the process"},
        "grace_ms": {
          "type": "integer",
          "minimum": 0,
          "maximum": 30000,
          "default": 500,
          "description": "how long it may take to end by itself"
        }
      },
      "required": ["id"],
      "additionalProperties": false
    },
    "outputSchema": @OUTCOME@,
    "annotations": {
      "title": "Stop a process",
      "readOnlyHint": false,
      "destructiveHint": true,
      "idempotentHint": true,
      "openWorldHint": false
    }
  },
  {
    "name": "list_processes",
    "title": "List processes",
    "description": "Lists the processes of this session that are kept: running ones, and ended ones whose output can still be read.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
    "outputSchema": {
      "type": "object",
      "properties": {
        "processes": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "id": {"type": "string"},
              "command": {"type": "string"},
              "cwd": {"type": "string"},
              "state": {"type": "string", "enum": ["running", "exited"]},
              "exit_code": {"type": "integer"},
              "unread_bytes": {"type": "integer"}
            },
            "required": ["id", "command", "state"]
          }
        },
        "omitted": {"type": "integer"}
      },
      "required": ["processes"]
    },
    "annotations": {"title": "List processes", "readOnlyHint": true, "openWorldHint": false}
  },
  {
    "name": "apply_patch",
    "title": "Change files",
    "description": "Changes files together or not at all. patch begins with the line *** Begin Patch and ends with *** End Patch. Between them: *** Add File: PATH with lines that begin with +; *** Delete File: PATH; *** Update File: PATH (then maybe *** Move to: PATH) with chunks, each a line @@ (or @@ and a line near the place) and lines that begin with a space (unchanged), - (removed) or + (added). Paths are relative to cwd. A person may be asked.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "patch": {"type": "string"},
        "cwd": {"type": "string", "description": "where its paths start; the workspace by default"},
        "reason": {"type": "string", "description": "why, for the person who is asked"}
      },
      "required": ["patch"],
      "additionalProperties": false
    },
    "outputSchema": @OUTCOME@,
    "annotations": {
      "title": "Change files",
      "readOnlyHint": false,
      "destructiveHint": true,
      "idempotentHint": false,
      "openWorldHint": false
    }
  },
  {
    "name": "check_command",
    "title": "Check a command",
    "description": "Tells whether run_command would run this (allow), show it to a person first (prompt) or refuse it (forbidden), and why. Nothing runs.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "command": {"type": "string", "description": "a script for the user's shell; either this or argv"},
        "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "cwd": {"type": "string"}
      },
      "additionalProperties": false
    },
    "outputSchema": {
      "type": "object",
      "properties": {
        "decision": {"type": "string", "enum": ["allow", "prompt", "forbidden"]},
        "reason": {"type": "string"},
        "program": {"type": "string"},
        "commands": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "command": {"type": "string"},
              "decision": {"type": "string", "enum": ["allow", "prompt", "forbidden"]},
              "why": {"type": "string"}
            },
            "required": ["command", "decision", "why"]
          }
        }
      },
      "required": ["decision", "reason", "commands"]
    },
    "annotations": {"title": "Check a command", "readOnlyHint": true, "openWorldHint": false}
  }
])";

// Returns the JSON text on one line. No string in it has a line end.
std::string joined(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        line += text.substr(0, end);
        text.remove_prefix(end);
        text.remove_prefix(std::min(text.find_first_not_of("\n "), text.size()));
    }
    return line;
}

} // namespace

std::optional<Tool> tool_named(std::string_view name) {
    const auto* const found =
        std::ranges::find(names, name, &std::pair<std::string_view, Tool>::first);
    if (found == names.end()) return std::nullopt;
    return found->second;
}

std::string tool_list() {
    const std::string outcome = joined(outcome_schema);
    std::string tools = joined(list);
    for (std::size_t at = 0; (at = tools.find(outcome_mark, at)) != std::string::npos;)
        tools.replace(at, outcome_mark.size(), outcome);
    return fmt::format(R"("tools":{})", tools);
}

std::string_view tool_names() {
    return "run_command, read_output, send_input, stop_process, list_processes, apply_patch, "
           "check_command";
}

} // namespace ew::mcp
