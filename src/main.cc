// The program: finds the subcommand.
#include "cli/approvals.h"
#include "cli/audit.h"
#include "cli/config.h"
#include "cli/doctor.h"
#include "cli/patch.h"
#include "cli/policy.h"
#include "cli/project.h"
#include "cli/replay.h"
#include "cli/run/run.h"
#include "cli/schema.h"
#include "cli/serve.h"
#include "cli/shared/printing.h"
#include "os/io.h"
#include "protocol/methods.h"
#include "version.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <array>
#include <cstdio>
#include <string_view>

namespace {

constexpr std::string_view help =
    R"(Usage: execward COMMAND [OPTION…]

The one local process that editors and agents trust to run commands.

  serve       serve a client over stdin and stdout; this is what a client spawns
  run         run one command in a sandbox, from a shell
  doctor      say what this machine can enforce, and what to do about the rest
  patch       apply a patch as a whole or not at all, or show what it would change
  policy      say what would happen to a command, and why; check files of rules
  approvals   list, withdraw or add what was allowed for more than once
  audit       show what was asked, decided and run
  project     trust the rules of a project, or stop trusting them
  config      show every setting, and where it comes from; set up a client
  replay      play a recorded session against a server and show what differs
  schema      print the protocol: methods and JSON Schema of every message

  --version   show versions of program, protocol and libraries
  -h, --help  show this help; execward COMMAND --help tells more

Try it: printf '%s\n' '{"id":1,"method":"initialize","params":{"clientName":"me"}}' | execward serve
)";

void print_version() {
    fmt::print("execward {}\nprotocol {}\nfmt {}.{}.{}\nsimdjson {}\n", ew::program_version,
               ew::protocol::protocol_version, FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
               FMT_VERSION % 100, SIMDJSON_STRINGIFY(SIMDJSON_VERSION));
}

struct Command {
    std::string_view name;
    int (*run)(int argc, char** argv);
};

constexpr std::array<Command, 11> commands = {{
    {"serve", ew::cli::serve},
    {"run", ew::cli::run},
    {"doctor", ew::cli::doctor},
    {"patch", ew::cli::patch},
    {"policy", ew::cli::policy},
    {"approvals", ew::cli::approvals},
    {"audit", ew::cli::audit},
    {"project", ew::cli::project},
    {"config", ew::cli::config},
    {"replay", ew::cli::replay},
    {"schema", ew::cli::schema},
}};

} // namespace

int main(int argc, char** argv) {
    ew::os::open_missing_stdio();
    const std::string_view name = argc > 1 ? argv[1] : "";
    for (const Command& command : commands)
        if (command.name == name) return command.run(argc - 1, argv + 1);
    if (name == "--version") {
        print_version();
        return ew::cli::status_ok;
    }
    const bool asks_for_help = name == "--help" || name == "-h";
    if (!name.empty() && !asks_for_help)
        fmt::print(stderr, "execward: there is no command '{}'\n\n", name);
    fmt::print(asks_for_help ? stdout : stderr, "{}", help);
    return asks_for_help ? ew::cli::status_ok : ew::cli::status_usage;
}
