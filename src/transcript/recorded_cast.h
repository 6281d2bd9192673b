// Makes a cast of what a terminal has printed in a recorded session (docs/transcripts.md).
#pragma once

#include "base/result.h"
#include "core/screen/asciicast.h"
#include "transcript/format.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::transcript {

// `text` is the transcript, `steps` are its steps. `process` is the id of a process; it may be
// empty if only one of them has a terminal. Errors: there is no such terminal; the transcript does
// not say when its messages passed.
Result<std::string> recorded_cast(std::string_view text, const std::vector<Step>& steps,
                                  const std::string& process, core::CastVersion version);

} // namespace ew::transcript
