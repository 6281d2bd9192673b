#include "cli/shared/recordings.h"

#include "cli/shared/whole_file.h"
#include "core/text/display.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace ew::cli {

Result<std::vector<transcript::RecordedTerminal>> terminals_in(const std::string& file) {
    const std::optional<std::string> text = read_file(file);
    if (!text)
        return Error{ErrorKind::internal,
                     fmt::format("cannot read {}: {}", core::visible(file), strerror(errno))};
    Result<std::vector<transcript::Step>> steps = transcript::parse_transcript(*text);
    if (!steps)
        return Error{ErrorKind::parse,
                     fmt::format("{}:{}", core::visible(file), steps.error().message)};
    return std::move(transcript::recorded_terminals(*text, *steps).terminals);
}

} // namespace ew::cli
