// The report as one HTML page that needs nothing else: no network, no other file, no script.
#pragma once

#include "core/judgement/command_safety.h"
#include "report/history.h"
#include "report/suggestions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ew::report {

// The size at which no further command is written. The rest of the page is small.
constexpr std::size_t most_page_bytes = 18 << 20;

// A rule or an approval that nothing has used.
struct Unused {
    std::string what = {};
    std::string where = {}; // its file and line, or its number
};

// The last screen of a recording.
struct Picture {
    std::string svg = {};
    std::string text = {}; // the same, for those who do not see it
    std::string caption = {};
};

struct Report {
    std::string title = {};
    UnixMs made_at = 0;
    std::vector<Command> commands = {}; // by time
    std::vector<std::string> gaps = {}; // about rows of the audit that were lost
    Suggestions suggestions = {};
    std::vector<Unused> unused = {};
    std::vector<Picture> pictures = {};
    std::string home = {}; // of the user; may be empty
};

std::string html_of(const Report& report, const core::ProgramTrust& trust);

} // namespace ew::report
