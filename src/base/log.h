// Log lines with a level, written to stderr or to a file. This is the only process-wide state of
// the program. If nobody reads the pipe, the logger does not block: it drops lines and counts them.
#pragma once

#include "base/result.h"

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ew::log {

enum class Level : std::uint8_t { error, warning, info, debug, trace };
enum class Format : std::uint8_t { text, json };

struct Settings {
    Level level = Level::warning;
    Format format = Format::text;
    std::string file = {}; // empty: stderr
};

// Opens the log file if the settings name one. Returns an error if it cannot be opened.
Result<void> configure(const Settings& settings);

bool enabled(Level level);
void write(Level level, std::string_view component, std::string_view message);

template <class... Args>
void line(Level level, std::string_view component, fmt::format_string<Args...> format,
          Args&&... args) {
    if (enabled(level)) write(level, component, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void warning(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
    line(Level::warning, component, format, std::forward<Args>(args)...);
}

template <class... Args>
void info(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
    line(Level::info, component, format, std::forward<Args>(args)...);
}

template <class... Args>
void debug(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
    line(Level::debug, component, format, std::forward<Args>(args)...);
}

} // namespace ew::log
