// One command on the page: a line with its lane on the time line, which opens to all that the audit
// has about it.
#pragma once

#include "core/judgement/command_safety.h"
#include "report/history.h"
#include "report/markup.h"
#include "report/time_scale.h"

#include <string>

namespace ew::report {

// What a row is made with besides its command.
struct RowSetting {
    const TimeScale& scale;
    const core::ProgramTrust& trust; // to take scripts apart
    const std::string& home;         // for advice about directories; may be empty
    const std::string& directory;    // not shown where it is this one
    UnixMs now = 0;                  // the end of the lane of a command without an end
};

void append_row(Markup& page, const Command& command, const RowSetting& setting);

// Returns the time at which nothing happened to the command any more, for its lane.
UnixMs end_of_lane(const Command& command, UnixMs now);

} // namespace ew::report
