// Access to the database for subcommands.
#pragma once

#include "base/result.h"
#include "cli/shared/options.h"
#include "store/store.h"

#include <memory>
#include <string>

namespace ew::cli {

constexpr Option database_option = {.name = "database",
                                    .argument = "FILE",
                                    .meaning = "look there",
                                    .usual = "EXECWARD_DATABASE, else what the settings say"};

// Opens the database that a server started here would use: `option` if it is not empty, else
// EXECWARD_DATABASE, else the one in the settings in force, else the usual one.
Result<std::unique_ptr<store::Store>> open_store(const std::string& option, store::UnixMs now);

// Returns the project of a directory, which may be relative to the working directory.
std::string project_of(const std::string& directory);

} // namespace ew::cli
