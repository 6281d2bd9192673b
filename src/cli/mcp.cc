// execward mcp: reads the options of the server for clients of the Model Context Protocol.
#include "cli/mcp.h"

#include "base/check.h"
#include "cli/serving.h"
#include "config/config.h"
#include "os/io.h"
#include "version.h"

#include <sys/random.h>
#include <sys/types.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward mcp [OPTION…]

Serves an agent host that speaks the Model Context Protocol over stdin and stdout: this is what the
host spawns. Its model gets tools that run commands, in a sandbox and after the questions that the
configuration and the rules want. When stdin ends, or this process is ended, every program is ended
too.
)";

constexpr auto options = std::to_array<Option>({
    {.name = "workspace",
     .argument = "DIR",
     .meaning = "where commands run, and may write",
     .usual = "the first roots that the host names, or else the working directory",
     .details = "A directory, but not /. With this option the roots of the host do not count."},
    {"config", "FILE", "settings, from a file that must exist",
     "$XDG_CONFIG_HOME/execward/config.toml"},
    {"database", "FILE", "approvals and audit; :memory: keeps nothing beyond the server",
     "$XDG_STATE_HOME/execward/execward.db"},
    {.name = "log-level",
     .argument = "LEVEL",
     .meaning = "what to log",
     .usual = "warning",
     .choices = "error|warning|info|debug|trace"},
    {"log-format", "FORM", "log lines for people, or one JSON object a line", "text", "text|json"},
    {"log-file", "FILE", "append log lines there", "stderr"},
    {"test-ids", "", "predictable ids, for tests"},
});

constexpr std::string_view notes =
    R"(Every option can be given as an environment variable too: --log-level is EXECWARD_LOG_LEVEL. The
command line wins. Exit status: 0 stdin has ended, 1 the server could not start, 2 usage, 70 the
server crashed, 128+N it was ended by signal N.
)";

constexpr std::array<Action, 1> actions = {};

std::string random_key() {
    std::string key(32, '\0');
    CHECK(::getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()));
    return key;
}

int run_mcp(const Arguments& arguments) {
    Wishes wishes;
    if (const std::string mistake = take_wishes(wishes, options, arguments); !mistake.empty())
        return arguments.refuse(mistake);
    wishes.server.framing = protocol::Framing::lines;
    mcp::DialectSetup& setup = wishes.server.mcp.emplace();
    setup.version = program_version;
    if (!wishes.workspace.empty())
        setup.workspace = wishes.workspace;
    else if (os::real_path(".").value_or("/") == "/")
        return arguments.refuse("/ is nobody's workspace: start it in another directory, or give "
                                "--workspace=DIR");
    setup.secret = random_key();
    setup.is_directory = [](const std::string& path) {
        std::error_code error;
        return std::filesystem::is_directory(path, error);
    };
    return serve_client(std::move(wishes));
}

} // namespace

constinit const Command mcp_command = {
    .name = "mcp",
    .summary = "serve an agent host that speaks MCP; this is what the host spawns",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = run_mcp};

} // namespace ew::cli
