// execward serve: reads the options of the server.
#include "cli/serve.h"

#include "cli/serving.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward serve [OPTION…]

Serves one client over stdin and stdout: JSON-RPC 2.0, one message a line, or with Content-Length
headers. The client starts programs in terminals and pipes, sees their output, types, signals and
stops them. When stdin ends, or this process is ended, every program is ended too.
)";

constexpr auto options = std::to_array<Option>({
    {.name = "framing",
     .argument = "HOW",
     .meaning = "how messages are delimited; auto looks at the first byte",
     .usual = "auto",
     .choices = "auto|lines|headers",
     .details = "With `lines`, each message is a line; with `headers`, each follows a "
                "`Content-Length` header. With `auto`, the first byte that is not blank decides: "
                "`C` or `c` means headers."},
    {.name = "client-process-id",
     .argument = "PID",
     .meaning = "end when this process ends",
     .details = "A client can name itself in `initialize` instead."},
    {"utf8-hold", "MS", "how long to hold back the first bytes of an unfinished character", "500"},
    {"close-grace", "MS",
     "how long after the exit of a process others may hold its output open before it is told that "
     "the process is closed",
     "as long as it takes"},
    {.name = "process-sandbox",
     .argument = "WHEN",
     .meaning =
         "whether programs are started in a sandbox: as each start asks for, only in one, or "
         "only without",
     .usual = "auto",
     .choices = "auto|require|forbid",
     .old_name = "sandbox",
     .details = "A start that asks for something else is refused: one without a sandbox with the "
                "kind `denied`, one with a sandbox with `sandboxUnavailable`. `--sandbox` is its "
                "earlier name."},
    {"config", "FILE", "settings, from a file that must exist",
     "$XDG_CONFIG_HOME/execward/config.toml"},
    {"database", "FILE", "approvals and audit; :memory: keeps nothing beyond the server",
     "$XDG_STATE_HOME/execward/execward.db"},
    {.name = "record",
     .argument = "FILE",
     .meaning = "write what passes over the wire as a transcript",
     .details = "The file has the form that `replay` reads. It holds everything that was typed and "
                "printed, secrets included."},
    {.name = "log-level",
     .argument = "LEVEL",
     .meaning = "what to log",
     .usual = "warning",
     .choices = "error|warning|info|debug|trace",
     .details = "Typed input and values of environment variables are logged at `trace` at most."},
    {"log-format", "FORM", "log lines for people, or one JSON object a line", "text", "text|json"},
    {"log-file", "FILE", "append log lines there", "stderr"},
    {"test-ids", "", "predictable ids, for tests"},
});

constexpr std::string_view notes =
    R"(Every option can be given as an environment variable too: --log-level is EXECWARD_LOG_LEVEL. The
command line wins. Exit status: 0 the client closed in order, 1 it sent exit without shutdown or the
server could not start, 2 usage, 70 the server crashed, 128+N it was ended by signal N.
)";

constexpr std::array<Action, 1> actions = {};

int serve(const Arguments& arguments) {
    Wishes wishes;
    if (const std::string mistake = take_wishes(wishes, options, arguments); !mistake.empty())
        return arguments.refuse(mistake);
    return serve_client(std::move(wishes));
}

} // namespace

constinit const Command serve_command = {
    .name = "serve",
    .summary = "serve a client over stdin and stdout; this is what a client spawns",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = serve};

} // namespace ew::cli
