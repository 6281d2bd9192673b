#include "cli/setup/client_setup.h"

#include "base/result.h"
#include "cli/setup/codex_environments.h"
#include "cli/setup/codex_setup.h"
#include "cli/shared/printing.h"
#include "core/text/display.h"
#include "core/text/text.h"
#include "os/io.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view help =
    R"(Usage: execward config init --client=CLIENT [--ssh=HOST | --docker=CONTAINER | --kubectl=POD]
       execward config init --client=codex [--id=NAME] [--write [--yes]] […]

Prints what makes a client start execward. CLIENT is codex, vscode-jsonrpc, emacs or neovim.

For codex it is $CODEX_HOME/environments.toml (~/.codex without that variable): an environment that
starts execward, as the default one. With it Codex runs every command through execward.

  --write        change that file: show the difference, ask, and write it. An environment of that
                 name gets this program and these arguments, default is set, and every other byte
                 stays. The old text is kept as environments.toml.bak (.bak2, … if there is one)
  --yes          with --write: do not ask. Needed where there is no terminal
  --id=NAME      what the environment is called (execward): letters, digits, - and _, at most 64

The server is this program, here, unless it is to run elsewhere. There it must be in PATH:

  --ssh=HOST          on that machine, by ssh -T -o BatchMode=yes: a key and no password
  --docker=CONTAINER  in that container, by docker exec -i
  --kubectl=POD       in that pod, by kubectl exec -i

  -h, --help     show this help

  execward config init --client codex --write             Codex here
  execward config init --client codex --ssh ada@build     Codex here, commands on the machine build

--write refuses a file that is no valid TOML, is a symbolic link, or belongs to another user.
Exit status: 0 printed, written or already so, 1 not written, 2 usage.
)";

constexpr std::array<option, 9> long_options = {{
    {"client", required_argument, nullptr, 'c'},
    {"ssh", required_argument, nullptr, 's'},
    {"docker", required_argument, nullptr, 'd'},
    {"kubectl", required_argument, nullptr, 'k'},
    {"id", required_argument, nullptr, 'i'},
    {"write", no_argument, nullptr, 'w'},
    {"yes", no_argument, nullptr, 'y'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

constexpr std::string_view command_mark = "COMMAND";

// What the pages of docs/integrations begin with.
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

struct Client {
    std::string_view name;
    std::string_view snippet;   // empty: it is codex
    std::string_view separator; // of the words of the command
    std::string_view comment;
    std::string_view page;
};

constexpr std::array<Client, 4> clients = {{
    {"codex", "", "", "#", "codex"},
    {"vscode-jsonrpc", vscode_snippet, ", ", "//", "vscode-jsonrpc"},
    {"emacs", emacs_snippet, " ", ";;", "emacs"},
    {"neovim", neovim_snippet, ", ", "--", "neovim"},
}};

constexpr std::string_view usual_id = "execward";

using Words = std::vector<std::string>;

struct Options {
    std::string client;
    std::string id = std::string(usual_id);
    Words elsewhere; // words before "execward serve"; empty: here
    int places = 0;  // how many were named
    bool is_write = false;
    bool is_confirmed = false;
    bool wants_help = false;
    std::string mistake;
};

int refuse(std::string_view why) {
    fmt::print(stderr, "execward: {}; see execward config init --help\n", why);
    return status_usage;
}

// Can it stand in a file, and after a program's own options?
bool is_name(std::string_view text) {
    const auto is_control = [](char byte) {
        return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
    };
    return !text.empty() && text.front() != '-' && core::valid_prefix(text) == text.size() &&
           std::none_of(text.begin(), text.end(), is_control);
}

void set_place(Options& options, std::string_view option, const std::string& name, Words words) {
    if (!is_name(name))
        options.mistake = fmt::format("--{}: '{}' cannot be meant", option, core::visible(name));
    options.elsewhere = std::move(words);
    ++options.places;
}

void take(Options& options, int found, const char* value) {
    if (found == 'c') options.client = value;
    if (found == 's') set_place(options, "ssh", value, {"ssh", "-T", "-o", "BatchMode=yes", value});
    if (found == 'd') set_place(options, "docker", value, {"docker", "exec", "-i", value});
    if (found == 'k') set_place(options, "kubectl", value, {"kubectl", "exec", "-i", value, "--"});
    if (found == 'i') options.id = value;
    if (found == 'w') options.is_write = true;
    if (found == 'y') options.is_confirmed = true;
    if (found == 'h') options.wants_help = true;
    if (found == '?') options.mistake = "that is no option here"; // getopt has said more
}

// What is wrong with the options together, or nothing.
std::string mistake_of(const Options& options, int words_left) {
    if (!options.mistake.empty()) return options.mistake;
    if (words_left > 0) return "config init takes options only";
    if (options.client.empty()) return "say for which client: --client codex";
    if (options.places > 1) return "say one of --ssh, --docker and --kubectl";
    if (options.client != "codex" && (options.is_write || options.id != usual_id))
        return "--write and --id are for codex only";
    if (options.is_confirmed && !options.is_write) return "--yes goes with --write";
    if (!is_codex_id(options.id))
        return fmt::format("--id: '{}' is no name for an environment: letters, digits, - and _, at "
                           "most 64, not local and not none",
                           core::visible(options.id));
    return {};
}

Options parse(int argc, char** argv) {
    Options options;
    optind = 1;
    for (int found = 0;
         (found = ::getopt_long(argc, argv, "h", long_options.data(), nullptr)) != -1;)
        take(options, found, optarg);
    if (!options.wants_help) options.mistake = mistake_of(options, argc - optind);
    return options;
}

// The command line of the server.
Result<Words> command_of(const Options& options) {
    Words command = options.elsewhere;
    const std::string self = os::real_path("/proc/self/exe").value_or("");
    if (command.empty() && !is_name(self))
        return Error{ErrorKind::internal,
                     self.empty() ? "there is no telling where this program is"
                                  : fmt::format("the path {} cannot be written into a file",
                                                core::visible(self)),
                     "put execward somewhere else"};
    command.push_back(command.empty() ? self : "execward");
    command.push_back("serve");
    return command;
}

int set_up_codex(const Options& options, const Words& command) {
    const CodexEnvironment environment = {options.id, command.front(),
                                          Words(command.begin() + 1, command.end())};
    Result<std::string> directory = codex_directory();
    if (!directory) return fail(directory.error());
    if (options.is_write)
        return write_codex_setup(*directory, environment,
                                 options.is_confirmed ? Consent::given : Consent::ask);
    print_line(fmt::format("# For {}\n# With --write execward puts it there.\n",
                           core::visible(codex_file(*directory))));
    print_snippet(environment);
    return finish(status_ok);
}

int print_snippet(const Client& client, const Words& command) {
    std::string words;
    for (const std::string& word : command)
        words.append(words.empty() ? "" : client.separator).append(toml_string(word));
    std::string snippet(client.snippet);
    snippet.replace(snippet.find(command_mark), command_mark.size(), words);
    print_line(
        fmt::format("{} More: docs/integrations/{}.md\n{}", client.comment, client.page, snippet));
    return finish(status_ok);
}

} // namespace

int config_init(int argc, char** argv) {
    const Options options = parse(argc, argv);
    if (options.wants_help) {
        print_line(help.substr(0, help.size() - 1)); // without the newline
        return finish(status_ok);
    }
    if (!options.mistake.empty()) return refuse(options.mistake);
    const auto* const client =
        std::find_if(clients.begin(), clients.end(),
                     [&](const Client& each) { return each.name == options.client; });
    if (client == clients.end())
        return refuse(fmt::format("'{}' is none of codex, vscode-jsonrpc, emacs and neovim",
                                  core::visible(options.client)));
    Result<Words> command = command_of(options);
    if (!command) return fail(command.error());
    return client->snippet.empty() ? set_up_codex(options, *command)
                                   : print_snippet(*client, *command);
}

} // namespace ew::cli
