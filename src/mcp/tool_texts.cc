#include "mcp/tool_texts.h"

namespace ew::mcp {

namespace {

constexpr std::string_view run_command =
    R"({
  "name": "run_command",
  "title": "Run a command",
  "description": "Runs a shell command (command) or a program (argv) in the workspace, in a sandbox, and returns its exit code and output. If it takes longer than timeout_ms it is NOT ended: you get state running and an id for wait, read_output, send_input, stop_process. For servers: until_port or until_text returns when it is ready, background at once. tty gives it a terminal: needed to type into it later. Some commands are shown to a person first. Denials say what the sandbox refused; network or write_paths then ask a person for that.",
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
      "cwd": {"type": "string", "description": "where it runs; relative to the workspace, which is the default"},
      "stdin": {"type": "string", "description": "all of its input; without it and without tty the input is empty"},
      "tty": {"type": "boolean", "default": false, "description": "give it a terminal"},
      "background": {"type": "boolean", "default": false, "description": "return as soon as it has started"},
      "timeout_ms": {"type": "integer", "minimum": 0, "maximum": 600000, "default": 30000, "description": "how long to wait for its end"},
      "until_text": {"type": "string", "description": "return as soon as its output has this text; it goes on running"},
      "until_port": {
        "type": "integer",
        "minimum": 0,
        "maximum": 65535,
        "description": "return as soon as it listens on this TCP port (0: on any); it goes on running"
      },
      "on_cancel": {
        "type": "string",
        "enum": ["keep", "stop"],
        "default": "keep",
        "description": "what happens to it if this call is cancelled"
      },
      "network": {"type": "boolean", "default": false, "description": "ask a person to let it use the network"},
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
  "annotations": {"title": "Run a command", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
})";

constexpr std::string_view read_output =
    R"({
  "name": "read_output",
  "title": "Read output",
  "description": "Returns what a process has printed since the last answer about it, and its state. wait_ms waits for new output or the end. With after (0, or next_after of the last answer) it pages through all output from its start, also through what an earlier answer left out; the newest 1 MiB is kept, also after the end.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "id": {"type": "string", "description": "the process"},
      "after": {"type": "integer", "minimum": 0, "description": "0, or next_after: read a page"},
      "wait_ms": {"type": "integer", "minimum": 0, "maximum": 600000, "default": 0, "description": "how long to wait for new output"}
    },
    "required": ["id"],
    "additionalProperties": false
  },
  "outputSchema": @OUTCOME@,
  "annotations": {"title": "Read output", "readOnlyHint": true, "openWorldHint": false}
})";

constexpr std::string_view wait =
    R"({
  "name": "wait",
  "title": "Wait for a process",
  "description": "Waits until a process ends, or until one of these comes about: its output has until_text or a match of until_regex, it listens on until_port, it waits for input (until_input), it has printed something and then nothing for until_quiet_ms. ended_by says which, with match or port. Text counts if no answer has shown it yet, and all that follows; from_start: all of the output. The answer has the new output. When timeout_ms is over, the process goes on and you can wait again.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "id": {"type": "string", "description": "the process"},
      "until_text": {"type": "string", "description": "a text in its output"},
      "until_regex": {"type": "string", "description": "a regular expression (RE2), in place of until_text"},
      "until_port": {
        "type": "integer",
        "minimum": 0,
        "maximum": 65535,
        "description": "a TCP port that it, or what it started, listens on; 0: any"
      },
      "until_input": {"type": "boolean", "default": false, "description": "it waits for input"},
      "until_quiet_ms": {"type": "integer", "minimum": 0, "maximum": 600000, "description": "how long it is silent after output"},
      "from_start": {"type": "boolean", "default": false, "description": "look through all of its output"},
      "timeout_ms": {
        "type": "integer",
        "minimum": 0,
        "maximum": 600000,
        "default": 30000,
        "description": "how long to wait; many hosts give up after 60000"
      }
    },
    "required": ["id"],
    "additionalProperties": false
  },
  "outputSchema": @OUTCOME@,
  "annotations": {"title": "Wait for a process", "readOnlyHint": true, "openWorldHint": false}
})";

constexpr std::string_view screen =
    R"({
  "name": "screen",
  "title": "See the screen",
  "description": "Shows what the terminal of a process looks like now: its rows of text, where the cursor is, its title. For programs that draw, such as editors, menus, progress bars and pagers, whose output is hard to read in read_output. Only for a process that was started with tty.",
  "inputSchema": {
    "type": "object",
    "properties": {"id": {"type": "string", "description": "the process"}},
    "required": ["id"],
    "additionalProperties": false
  },
  "outputSchema": {
    "type": "object",
    "properties": {
      "id": {"type": "string"},
      "text": {"type": "string", "description": "the rows, from the top; empty ones at the bottom are left out"},
      "rows": {"type": "integer"},
      "columns": {"type": "integer"},
      "cursor_row": {"type": "integer", "description": "counted from 0"},
      "cursor_column": {"type": "integer"},
      "cursor_visible": {"type": "boolean"},
      "alternate": {"type": "boolean", "description": "a program has taken the whole screen"},
      "title": {"type": "string"},
      "complete": {"type": "boolean", "description": "false: the beginning of its output is not kept any more, so a part may be wrong"}
    },
    "required": ["id", "text", "rows", "columns", "cursor_row", "cursor_column", "cursor_visible", "alternate", "title", "complete"]
  },
  "annotations": {"title": "See the screen", "readOnlyHint": true, "openWorldHint": false}
})";

constexpr std::string_view send_input =
    R"({
  "name": "send_input",
  "title": "Type into a process",
  "description": "Types text into a process that was started with tty, then returns what it printed. A line ends with \\n, which you must write. \\u0003 (Ctrl-C) interrupts any process. close ends its input (in a terminal like Ctrl-D).",
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
})";

constexpr std::string_view stop_process =
    R"({
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
})";

constexpr std::string_view list_processes =
    R"({
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
})";

constexpr std::string_view apply_patch =
    R"({
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
  "annotations": {"title": "Change files", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false}
})";

constexpr std::string_view check_command =
    R"({
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
})";

constexpr std::string_view outcome =
    R"({
  "type": "object",
  "properties": {
    "state": {
      "type": "string",
      "enum": ["completed", "running", "input_needed", "failed", "not_run"],
      "description": "not_run: a person, a rule or the missing approval of a person kept it from running; reason says which"
    },
    "id": {"type": "string", "description": "names the process for wait, read_output, send_input and stop_process"},
    "exit_code": {"type": "integer"},
    "signal": {"type": "string"},
    "duration_ms": {"type": "integer"},
    "ended_by": {
      "type": "string",
      "enum": ["exit", "pattern", "quiet", "port", "input", "time"],
      "description": "what ended the wait; time: timeout_ms is over, and the process goes on"
    },
    "match": {
      "type": "object",
      "properties": {"text": {"type": "string"}, "line": {"type": "integer", "description": "counted from where the search began"}},
      "required": ["text", "line"]
    },
    "port": {"type": "integer", "description": "it listens on this TCP port"},
    "output": {"type": "string", "description": "stdout and stderr, in order; the beginning and the end if it is long"},
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

} // namespace

std::string_view text_of(Tool tool) {
    switch (tool) {
    case Tool::run_command: return run_command;
    case Tool::read_output: return read_output;
    case Tool::wait: return wait;
    case Tool::screen: return screen;
    case Tool::send_input: return send_input;
    case Tool::stop_process: return stop_process;
    case Tool::list_processes: return list_processes;
    case Tool::apply_patch: return apply_patch;
    case Tool::check_command: return check_command;
    }
    return "";
}

std::string_view outcome_schema() {
    return outcome;
}

} // namespace ew::mcp
