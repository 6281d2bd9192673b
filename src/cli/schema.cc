// execward schema: prints what the wire looks like.
#include "cli/schema.h"

#include "cli/schema_text.h"
#include "cli/shared/printing.h"

#include <fmt/core.h>

#include <cstdio>
#include <string_view>

namespace ew::cli {

namespace {

constexpr std::string_view help =
    R"(Usage: execward schema

Prints the protocol as one JSON object: "protocol" has the methods, limits and error kinds,
"types" the JSON Schema (2020-12) of every message. docs/protocol.md is written from it.
)";

} // namespace

int schema(int argc, char** argv) {
    if (argc > 1) {
        const bool asks_for_help =
            std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h";
        fmt::print(asks_for_help ? stdout : stderr, "{}", help);
        return asks_for_help ? status_ok : status_usage;
    }
    fmt::print("{{\"protocol\":{},\"types\":{}}}\n", protocol_json(), types_json());
    return status_ok;
}

} // namespace ew::cli
