// execward screen: what a terminal shows at the end of a recorded session, as text or as a picture.
#include "cli/screen.h"

#include "cli/shared/printing.h"
#include "cli/shared/recordings.h"
#include "cli/shared/whole_file.h"
#include "core/text/display.h"
#include "transcript/recorded_screen.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward screen [OPTION…] TRANSCRIPT

Prints what a terminal shows at the end of a recorded session: its rows as text, or with --svg a picture
with colours. TRANSCRIPT is a file that execward serve --record has written. Starts nothing.
)";

constexpr auto options = std::to_array<Option>({
    {"o", "FILE", "write it there", "stdout"},
    {"process", "ID", "whose terminal", "the only process with a terminal"},
    {"svg", "", "an SVG picture that needs no other file and runs no script"},
});

constexpr std::string_view notes = R"(Example:
  execward serve --record session.transcript        let a client talk to this, then
  execward screen --svg -o session.svg session.transcript

The text has no escape sequences: it is safe for a terminal. execward report --recording shows the same
pictures. Exit status: 0 done, 1 a file could not be read or written, or there is no such terminal; 2 usage.
)";

constexpr auto actions =
    std::to_array<Action>({{{}, {.name = "TRANSCRIPT", .least = 1, .most = 1}}});

Result<std::string> shown(const Arguments& arguments) {
    const std::vector<transcript::RecordedTerminal> terminals =
        TRY(terminals_in(arguments.operands().front()));
    const transcript::RecordedTerminal* const terminal =
        TRY(transcript::chosen_terminal(terminals, arguments.value("process").value_or("")));
    const core::Screen screen = TRY(transcript::last_screen(*terminal));
    return arguments.has("svg") ? transcript::picture_of(screen) : transcript::text_of(screen);
}

int show_screen(const Arguments& arguments) {
    Result<std::string> text = shown(arguments);
    if (!text) return fail(text.error());
    const std::optional<std::string> target = arguments.value("o");
    if (target) {
        if (write_file(*target, *text)) return status_ok;
        return fail({ErrorKind::internal,
                     fmt::format("cannot write {}: {}", core::visible(*target), strerror(errno))});
    }
    const std::string_view all = *text;
    if (!all.empty()) print_line(all.substr(0, all.size() - 1)); // print_line() adds it
    return finish(status_ok);
}

} // namespace

constinit const Command screen_command = {
    .name = "screen",
    .summary = "show the last screen of a recorded session, as text or as a picture",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = show_screen};

} // namespace ew::cli
