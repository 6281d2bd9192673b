// execward cast: what a terminal has printed in a recorded session, as a file for a player.
#include "cli/cast.h"

#include "cli/shared/printing.h"
#include "cli/shared/whole_file.h"
#include "core/text/display.h"
#include "transcript/recorded_cast.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward cast [OPTION…] TRANSCRIPT

Makes an asciicast of what a terminal has printed in a recorded session: players such as asciinema
show it with its times. TRANSCRIPT is a file that execward serve --record has written. What was
typed is in the cast only as far as the program has shown it. Starts nothing.
)";

constexpr auto options = std::to_array<Option>({
    {"o", "FILE", "write the cast there", "stdout"},
    {"process", "ID", "whose terminal", "the only process with a terminal"},
    {"v2", "", "write version 2 of the format, for players that do not know version 3"},
});

constexpr std::string_view notes =
    R"(Example:
  execward serve --record session.transcript        let a client talk to this, then
  execward cast -o session.cast session.transcript
  asciinema play session.cast

The cast shows each byte that the program has printed, escape sequences included: play only what
you trust. Exit status: 0 done, 1 a file could not be read or written, or there is no such terminal;
2 usage.
)";

constexpr auto actions =
    std::to_array<Action>({{{}, {.name = "TRANSCRIPT", .least = 1, .most = 1}}});

int cannot(std::string_view verb, const std::string& path) {
    return fail({ErrorKind::internal,
                 fmt::format("cannot {} {}: {}", verb, core::visible(path), strerror(errno))});
}

Result<std::string> cast_in(const Arguments& arguments, const std::string& file,
                            const std::string& text) {
    Result<std::vector<transcript::Step>> steps = transcript::parse_transcript(text);
    if (!steps)
        return Error{ErrorKind::parse,
                     fmt::format("{}:{}", core::visible(file), steps.error().message)};
    const auto version = arguments.has("v2") ? core::CastVersion::v2 : core::CastVersion::v3;
    return transcript::recorded_cast(text, *steps, arguments.value("process").value_or(""),
                                     version);
}

int make_cast(const Arguments& arguments) {
    const std::string& file = arguments.operands().front();
    const std::optional<std::string> text = read_file(file);
    if (!text) return cannot("read", file);
    Result<std::string> cast = cast_in(arguments, file, *text);
    if (!cast) return fail(cast.error());
    const std::optional<std::string> target = arguments.value("o");
    if (target) return write_file(*target, *cast) ? status_ok : cannot("write", *target);
    print_line(std::string_view(*cast).substr(0, cast->size() - 1)); // print_line() adds it
    return finish(status_ok);
}

} // namespace

constinit const Command cast_command = {.name = "cast",
                                        .summary =
                                            "make an asciicast of a recorded session, for a player",
                                        .about = about,
                                        .options = options,
                                        .notes = notes,
                                        .actions = actions,
                                        .run = make_cast};

} // namespace ew::cli
