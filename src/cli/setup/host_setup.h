// Where a host of the Model Context Protocol has its settings, and how execward is added to them.
#pragma once

#include "base/result.h"
#include "cli/setup/settings_file.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

// The file of the host `client` (`config init --client`). `command` is how the host starts
// execward. The snippet is left to the caller. Errors: HOME is not set.
Result<SettingsFile> host_settings_file(std::string_view client,
                                        const std::vector<std::string>& command);

} // namespace ew::cli
