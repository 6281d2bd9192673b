// What the subcommands that look into the database share.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "store/store.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

// The database that a server started here would use: `option` if it is not empty, else
// EXECWARD_DATABASE, the file of settings (EXECWARD_CONFIG or the default one), the default place.
Result<std::unique_ptr<store::Store>> open_store(const std::string& option, store::UnixMs now);

// RFC 3339 in UTC, to the second: 2026-01-31T09:30:00Z.
std::string time_text(store::UnixMs time);

// The project that a directory is in; relative to the working directory.
std::string project_of(const std::string& directory);

// Prints a line; what goes wrong is told by finish(). Text of others must be made visible before.
void print_line(std::string_view line);

// Rows below a heading, columns aligned; an empty text is "-".
void print_table(const std::vector<std::vector<std::string>>& rows);

// The status, or status_failure if not everything could be printed.
int finish(int status);

// One line on stderr, and the way out on another; returns status_failure.
int fail(const Error& error);

} // namespace ew::cli
