// What the subcommands that look into the database share.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "store/store.h"

#include <memory>
#include <string>

namespace ew::cli {

// The database that a server started here would use: `option` if it is not empty, else
// EXECWARD_DATABASE, the file of settings (EXECWARD_CONFIG or the default one), the default place.
Result<std::unique_ptr<store::Store>> open_store(const std::string& option, store::UnixMs now);

// The project that a directory is in; relative to the working directory.
std::string project_of(const std::string& directory);

} // namespace ew::cli
