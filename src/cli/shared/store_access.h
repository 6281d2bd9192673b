// What the subcommands that look into the database share.
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

// The database that a server started here would use: `option` if it is not empty, else
// EXECWARD_DATABASE, what the settings in force say, the usual place.
Result<std::unique_ptr<store::Store>> open_store(const std::string& option, store::UnixMs now);

// The project that a directory is in; relative to the working directory.
std::string project_of(const std::string& directory);

} // namespace ew::cli
