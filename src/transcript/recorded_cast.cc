#include "transcript/recorded_cast.h"

#include "transcript/recorded_terminals.h"

namespace ew::transcript {

namespace {

std::string cast_of(const RecordedTerminal& terminal, core::CastVersion version) {
    core::CastHeader header;
    header.size = terminal.size;
    header.command = terminal.command;
    core::Asciicast cast(version, header);
    for (const RecordedTerminal::Event& event : terminal.events) {
        const Millis at = event.at - terminal.began;
        switch (event.kind) {
        case RecordedTerminal::Event::Kind::output: cast.output(at, event.bytes); break;
        case RecordedTerminal::Event::Kind::resize: cast.resize(at, event.size); break;
        case RecordedTerminal::Event::Kind::exit: cast.exit(at, event.code); break;
        }
    }
    return cast.take();
}

} // namespace

Result<std::string> recorded_cast(std::string_view text, const std::vector<Step>& steps,
                                  const std::string& process, core::CastVersion version) {
    const Recorded recorded = recorded_terminals(text, steps);
    if (!recorded.has_times)
        return Error{ErrorKind::invalid_params, "this transcript has no times",
                     "`execward serve --record FILE` writes one with times"};
    return cast_of(*TRY(chosen_terminal(recorded.terminals, process)), version);
}

} // namespace ew::transcript
