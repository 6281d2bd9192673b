#include "cli/setup/client_setup.h"

#include "base/result.h"
#include "cli/setup/codex_environments.h"
#include "cli/setup/codex_setup.h"
#include "cli/setup/host_setup.h"
#include "cli/setup/settings_file.h"
#include "cli/shared/printing.h"
#include "core/text/display.h"
#include "core/text/text.h"
#include "os/io.h"
#include "toml/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward config init --client=CLIENT [--ssh=HOST | --docker=CONTAINER | --kubectl=POD]
       execward config init --client=CLIENT --write [--yes] […]

Prints what makes a client start execward. For codex it is $CODEX_HOME/environments.toml (~/.codex
without that variable): an environment that starts execward, as the default one. With it Codex runs
every command through execward. claude, codex-mcp, gemini, vscode, cursor and zed are hosts that
start `execward mcp`; codex-mcp is Codex as such a host. --write puts it into the host's file:
.mcp.json (claude) and .vscode/mcp.json (vscode) of the working directory, ~/.gemini/settings.json,
~/.cursor/mcp.json, zed's settings.json, and config.toml in Codex's directory (codex-mcp).

The server is this program, here, unless it is to run elsewhere. There it must be in PATH.
)";

constexpr auto options = std::to_array<Option>({
    {"client", "CLIENT", "which client is to start execward", "",
     "codex|vscode-jsonrpc|emacs|neovim|claude|codex-mcp|gemini|vscode|cursor|zed"},
    {.name = "write",
     .meaning = "change the file of the client: show the difference, ask, and write it. An entry "
                "of that name gets this program and these arguments, and every other byte stays. "
                "The old text is kept beside it as .bak (.bak2, … if there is one)",
     .details = "The mode of the file stays. A file that cannot be read as TOML or JSON (comments "
                "are fine), is a symbolic link or belongs to another user is refused, and so is "
                "one in which more would have to change; then what is to be put there by hand is "
                "printed. The settings of vscode-jsonrpc, emacs and neovim are programs, which "
                "this does not change."},
    {"yes", "", "with --write: do not ask. Needed where there is no terminal"},
    {.name = "id",
     .argument = "NAME",
     .meaning = "for codex: what the environment is called: letters, digits, - and _, at most 64",
     .usual = "execward",
     .details = "The names `local` and `none` are Codex's own."},
    {"ssh", "HOST",
     "the server runs on that machine, by ssh -T -o BatchMode=yes: a key and no password"},
    {"docker", "CONTAINER", "the server runs in that container, by docker exec -i"},
    {"kubectl", "POD", "the server runs in that pod, by kubectl exec -i"},
});

constexpr std::string_view notes =
    R"(Examples:
  execward config init --client codex --write             Codex here
  execward config init --client codex --ssh ada@build     Codex here, commands on the machine build
  execward config init --client claude --write            Claude Code, in this project

--write refuses a file that it cannot read, that is a symbolic link, or that is another user's.
Exit status: 0 printed, written or already so, 1 not written, 2 usage.
)";

constexpr std::array<Action, 1> actions = {};

constexpr std::string_view command_mark = "COMMAND";
constexpr std::string_view program_mark = "PROGRAM";
constexpr std::string_view arguments_mark = "ARGUMENTS";

// The beginnings of the pages in docs/integrations.
constexpr std::string_view vscode_snippet =
    R"(// npm install vscode-jsonrpc; a file .mjs
import { spawn } from "node:child_process";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";

const [program, ...args] = [COMMAND];
const server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const execward = createMessageConnection(
  new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
execward.onNotification((method, params) => console.log(method, params));
execward.listen();
console.log(await execward.sendRequest("initialize", { clientName: "vscode-jsonrpc" }));
await execward.sendNotification("initialized");)";

constexpr std::string_view emacs_snippet =
    R"((require 'jsonrpc)

(defvar execward
  (jsonrpc-process-connection
   :name "execward"
   :process (lambda ()
              (make-process :name "execward"
                            :command '(COMMAND)
                            :connection-type 'pipe
                            :coding 'utf-8-emacs-unix
                            :stderr (get-buffer-create "*execward log*")))
   :notification-dispatcher (lambda (_connection method params)
                              (message "%s %S" method params))))

(jsonrpc-request execward 'initialize '(:clientName "emacs"))
(jsonrpc-notify execward 'initialized nil))";

constexpr std::string_view neovim_snippet =
    R"(local command = { COMMAND }
local handlers = {
  notification = function(method, params) print(method, vim.inspect(params)) end,
}
local execward
if vim.fn.has("nvim-0.10") == 1 then
  execward = vim.lsp.rpc.start(command, handlers)
else
  execward = vim.lsp.rpc.start(command[1], vim.list_slice(command, 2), handlers)
end

execward.request("initialize", { clientName = "neovim" }, function(failure, result)
  assert(not failure, vim.inspect(failure))
  print(vim.inspect(result))
  execward.notify("initialized", vim.empty_dict())
end))";

// Claude Code, Gemini CLI and Cursor.
constexpr std::string_view servers_snippet =
    R"({
  "mcpServers": {
    "execward": { "command": PROGRAM, "args": [ARGUMENTS] }
  }
})";

constexpr std::string_view vscode_mcp_snippet =
    R"({
  "servers": {
    "execward": { "type": "stdio", "command": PROGRAM, "args": [ARGUMENTS] }
  }
})";

constexpr std::string_view zed_snippet =
    R"({
  "context_servers": {
    "execward": { "command": PROGRAM, "args": [ARGUMENTS] }
  }
})";

constexpr std::string_view codex_mcp_snippet =
    R"([mcp_servers.execward]
command = PROGRAM
args = [ARGUMENTS]
tool_timeout_sec = 660)";

struct Client {
    std::string_view name;
    std::string_view snippet;   // empty for codex
    std::string_view separator; // between the words of the command
    std::string_view comment;
    std::string_view page;
    bool speaks_mcp = false;
    std::string_view after = {}; // what a person does next, printed after the change
};

constexpr std::array<Client, 10> clients = {{
    {"codex", "", "", "#", "codex"},
    {"vscode-jsonrpc", vscode_snippet, ", ", "//", "vscode-jsonrpc"},
    {"emacs", emacs_snippet, " ", ";;", "emacs"},
    {"neovim", neovim_snippet, ", ", "--", "neovim"},
    {"claude", servers_snippet, ", ", "//", "claude", true,
     "Claude Code asks at its next start: choose \"Use this MCP server\". It also asks about each "
     "tool,\nbeside execward. To end that, allow mcp__execward in its settings."},
    {"codex-mcp", codex_mcp_snippet, ", ", "#", "codex-mcp", true,
     "Codex asks about each tool, beside execward. To end that, add to the table of this server:\n"
     "default_tools_approval_mode = \"approve\""},
    {"gemini", servers_snippet, ", ", "//", "gemini", true},
    {"vscode", vscode_mcp_snippet, ", ", "//", "vscode", true},
    {"cursor", servers_snippet, ", ", "//", "cursor", true},
    {"zed", zed_snippet, ", ", "//", "zed", true},
}};

constexpr std::string_view usual_id = "execward";

using Words = std::vector<std::string>;

// Returns true if the text can stand in a file, and after a program's own options.
bool is_name(std::string_view text) {
    const auto is_control = [](char byte) {
        return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
    };
    return !text.empty() && text.front() != '-' && core::valid_prefix(text) == text.size() &&
           std::none_of(text.begin(), text.end(), is_control);
}

// A program that leads to a server on another machine or in a container.
struct Way {
    std::string_view option;
    std::string_view before; // words before the place
    std::string_view behind;
};

constexpr std::array<Way, 3> ways = {{
    {"ssh", "ssh -T -o BatchMode=yes", ""},
    {"docker", "docker exec -i", ""},
    {"kubectl", "kubectl exec -i", "--"},
}};

// Returns the mistake in the options, or an empty text.
std::string mistake_of(const Arguments& arguments) {
    int places = 0;
    for (const Way& way : ways) {
        const std::optional<std::string> place = arguments.value(way.option);
        places += int{place.has_value()};
        if (place && !is_name(*place))
            return fmt::format("--{}: '{}' cannot be meant", way.option, core::visible(*place));
    }
    const std::optional<std::string> client = arguments.value("client");
    const std::string id = arguments.value("id").value_or(std::string(usual_id));
    if (!client) return "say for which client: --client codex";
    if (places > 1) return "say one of --ssh, --docker and --kubectl";
    const auto known = std::ranges::find(clients, *client, &Client::name);
    if (arguments.has("write") && !known->snippet.empty() && !known->speaks_mcp)
        return fmt::format("--write: the settings of {} are a program", *client);
    if (client != "codex" && id != usual_id) return "--id is for codex only";
    if (arguments.has("yes") && !arguments.has("write")) return "--yes goes with --write";
    if (!is_codex_id(id))
        return fmt::format("--id: '{}' is no name for an environment: letters, digits, - and _, at "
                           "most 64, not local and not none",
                           core::visible(id));
    return {};
}

// Returns the command line of the server.
Result<Words> command_of(const Arguments& arguments) {
    for (const Way& way : ways) {
        const std::optional<std::string> place = arguments.value(way.option);
        if (!place) continue;
        const auto before = choices_of(way.before, ' ');
        Words command(before.begin(), before.end());
        command.push_back(*place);
        if (!way.behind.empty()) command.emplace_back(way.behind);
        command.insert(command.end(), {"execward", "serve"});
        return command;
    }
    const std::string self = os::real_path("/proc/self/exe").value_or("");
    if (!is_name(self))
        return Error{ErrorKind::internal,
                     self.empty() ? "there is no telling where this program is"
                                  : fmt::format("the path {} cannot be written into a file",
                                                core::visible(self)),
                     "put execward somewhere else"};
    return Words{self, "serve"};
}

int set_up_codex(const Arguments& arguments, const Words& command) {
    const CodexEnvironment environment = {arguments.value("id").value_or(std::string(usual_id)),
                                          command.front(),
                                          Words(command.begin() + 1, command.end())};
    Result<std::string> directory = codex_directory();
    if (!directory) return fail(directory.error());
    const SettingsFile file = codex_environments_file(*directory, environment);
    if (arguments.has("write"))
        return write_codex_setup(file, environment.id,
                                 arguments.has("yes") ? Consent::given : Consent::ask);
    print_line(fmt::format("# For {}\n# With --write execward puts it there.\n", shown_path(file)));
    print_snippet(environment);
    return finish(status_ok);
}

void put(std::string& snippet, std::string_view mark, std::string_view words) {
    const std::size_t at = snippet.find(mark);
    if (at != std::string::npos) snippet.replace(at, mark.size(), words);
}

// A host has a place for the program and one for its arguments, others for all of the command.
std::string snippet_for(const Client& client, const Words& command) {
    std::string all;
    std::string rest;
    for (const std::string& word : command) {
        const std::string quoted = toml::quoted(word);
        all.append(all.empty() ? "" : client.separator).append(quoted);
        if (&word != command.data())
            rest.append(rest.empty() ? "" : client.separator).append(quoted);
    }
    std::string snippet(client.snippet);
    put(snippet, command_mark, all);
    put(snippet, arguments_mark, rest);
    put(snippet, program_mark, toml::quoted(command.front()));
    return snippet;
}

int print_snippet(const Client& client, const Words& command) {
    print_line(fmt::format("{} More: docs/integrations/{}.md\n{}", client.comment, client.page,
                           snippet_for(client, command)));
    return finish(status_ok);
}

int set_up_host(const Client& client, const Words& command, Consent consent) {
    Result<SettingsFile> file = host_settings_file(client.name, command);
    if (!file) return fail(file.error());
    file->print_snippet = [&] { print_line(snippet_for(client, command)); };
    std::string text;
    const int status = write_settings(*file, consent, text);
    if (status != status_ok || client.after.empty()) return status;
    print_line(client.after);
    return finish(status_ok);
}

int config_init(const Arguments& arguments) {
    if (const std::string mistake = mistake_of(arguments); !mistake.empty())
        return arguments.refuse(mistake);
    const auto client = std::ranges::find(clients, *arguments.value("client"), &Client::name);
    Result<Words> command = command_of(arguments);
    if (!command) return fail(command.error());
    if (client->speaks_mcp) command->back() = "mcp";
    if (client->speaks_mcp && arguments.has("write"))
        return set_up_host(*client, *command, arguments.has("yes") ? Consent::given : Consent::ask);
    return client->snippet.empty() ? set_up_codex(arguments, *command)
                                   : print_snippet(*client, *command);
}

} // namespace

constinit const Command config_init_command = {.name = "config init",
                                               .about = about,
                                               .options = options,
                                               .notes = notes,
                                               .actions = actions,
                                               .run = config_init};

} // namespace ew::cli
