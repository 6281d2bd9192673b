// What subcommands print, and the exit statuses they share.
#pragma once

#include "base/error.h"
#include "store/types.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

constexpr int status_ok = 0;
constexpr int status_failure = 1;
constexpr int status_usage = 2;

// RFC 3339 in UTC, to the second: 2026-01-31T09:30:00Z.
std::string time_text(store::UnixMs time);

// Prints a line; what goes wrong is told by finish(). Text of others must be made visible before.
void print_line(std::string_view line);

// Rows below a heading, columns aligned; an empty text is "-".
void print_table(const std::vector<std::vector<std::string>>& rows);

// The status, or status_failure if not everything could be printed.
int finish(int status);

// One line on stderr, and the way out on another; returns status_failure.
int fail(const Error& error);

} // namespace ew::cli
