// The entry point of execward: finds the subcommand and executes it.
#include "base/nearest.h"
#include "cli/commands.h"
#include "os/io.h"
#include "protocol/methods.h"
#include "version.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

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
  -V, --version  show versions of program, protocol and libraries
  -h, --help     show this help; execward help COMMAND tells more

Try it: printf '%s\n' '{{"id":1,"method":"initialize","params":{{"clientName":"me"}}}}' | execward serve
)");
}

int refuse_command(std::string_view name) {
    std::vector<std::string_view> names;
    for (const ew::cli::Command* command : ew::cli::commands())
        names.push_back(command->name);
    fmt::print(stderr,
               "execward: there is no command '{}'; did you mean '{}'?\n"
               "execward --help lists the commands.\n",
               name, ew::nearest(name, names));
    return ew::cli::status_usage;
}

int show_help_of(int argc, char** argv) {
    const ew::cli::Command* const command = ew::cli::find_command(argc, argv);
    if (!command) return refuse_command(argc > 1 ? argv[1] : "");
    std::string name(command->name);
    std::string option = "--help";
    std::array<char*, 3> words = {name.data(), option.data(), nullptr};
    return ew::cli::execute(*command, 2, words.data());
}

} // namespace

int main(int argc, char** argv) {
    ew::os::open_missing_stdio();
    if (const ew::cli::Command* command = ew::cli::find_command(argc, argv)) {
        const int words = 1 + static_cast<int>(std::ranges::count(command->name, ' '));
        return ew::cli::execute(*command, argc - words, argv + words);
    }
    const std::string_view name = argc > 1 ? argv[1] : "";
    if (name == "--version" || name == "-V") {
        print_version();
        return ew::cli::status_ok;
    }
    if (name == "help" && argc > 2) return show_help_of(argc - 1, argv + 1);
    const bool asks_for_help = name == "--help" || name == "-h" || name == "help";
    if (!name.empty() && !asks_for_help) return refuse_command(name);
    print_help(asks_for_help ? stdout : stderr);
    return asks_for_help ? ew::cli::status_ok : ew::cli::status_usage;
}
