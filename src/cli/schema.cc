// execward schema: prints the protocol.
#include "cli/schema.h"

#include "cli/schema_text.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward schema

Prints the protocol as one JSON object: "protocol" has the methods, limits and error kinds,
"types" the JSON Schema (2020-12) of every message. docs/protocol.md is written from it.
)";

constexpr std::array<Action, 1> actions = {};

int schema(const Arguments&) {
    fmt::print("{{\"protocol\":{},\"types\":{}}}\n", protocol_json(), types_json());
    return status_ok;
}

} // namespace

constinit const Command schema_command = {
    .name = "schema",
    .summary = "print the protocol: methods and JSON Schema of every message",
    .about = about,
    .actions = actions,
    .run = schema,
    .is_help_shown = true};

} // namespace ew::cli
