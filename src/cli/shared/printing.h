// Output functions and exit statuses that subcommands share.
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

// Prints a line; finish() reports a failure. The caller makes foreign text visible before.
void print_line(std::string_view line);

// Prints rows below a heading with aligned columns; an empty text is shown as "-".
void print_table(const std::vector<std::vector<std::string>>& rows);

// Returns the status, or status_failure if the output could not be written completely.
int finish(int status);

// Prints the error on a line of stderr, and its hint on a second line. Returns status_failure.
int fail(const Error& error);

} // namespace ew::cli
