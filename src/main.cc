// The entry point of execward: finds the subcommand and executes it.
#include "cli/commands.h"
#include "os/io.h"
#include "protocol/methods.h"
#include "version.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace {

void print_version() {
    fmt::print("execward {}\nprotocol {}\nfmt {}.{}.{}\nsimdjson {}\n", ew::program_version,
               ew::protocol::protocol_version, FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
               FMT_VERSION % 100, SIMDJSON_STRINGIFY(SIMDJSON_VERSION));
}

void print_help(std::FILE* out) {
    fmt::print(out, "Usage: execward COMMAND [OPTION…]\n\n"
                    "The one local process that editors and agents trust to run commands.\n\n");
    for (const ew::cli::Command* command : ew::cli::commands())
        if (!command->summary.empty())
            fmt::print(out, "  {:<13}{}\n", command->name, command->summary);
    fmt::print(out, R"(
  --version    show versions of program, protocol and libraries
  -h, --help   show this help; execward COMMAND --help tells more

Try it: printf '%s\n' '{{"id":1,"method":"initialize","params":{{"clientName":"me"}}}}' | execward serve
)");
}

} // namespace

int main(int argc, char** argv) {
    ew::os::open_missing_stdio();
    if (const ew::cli::Command* command = ew::cli::find_command(argc, argv)) {
        const int words = 1 + static_cast<int>(std::ranges::count(command->name, ' '));
        return ew::cli::execute(*command, argc - words, argv + words);
    }
    const std::string_view name = argc > 1 ? argv[1] : "";
    if (name == "--version") {
        print_version();
        return ew::cli::status_ok;
    }
    const bool asks_for_help = name == "--help" || name == "-h";
    if (!name.empty() && !asks_for_help)
        fmt::print(stderr, "execward: there is no command '{}'\n\n", name);
    print_help(asks_for_help ? stdout : stderr);
    return asks_for_help ? ew::cli::status_ok : ew::cli::status_usage;
}
