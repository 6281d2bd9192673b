// What the words of loops and conditions say.
#pragma once

#include "core/judgement/script_reading.h"
#include "core/judgement/shell_words.h"
#include "core/judgement/simple_command.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ew::core {

// Reads the values of `for NAME in …`, up to the body. Returns a value twice if names that are not
// known stand for it: the body may run repeatedly.
std::vector<ShellValue> values_of_loop(ScriptReading& in);

// Returns the variables that `while IFS=… read -r -d '' NAME…` sets. Returns none if the condition
// is more than this.
std::vector<std::string> variables_of_read(const SimpleCommand& condition);

// May the command go back in its input? Then a loop that reads from the same file may never end.
bool may_go_back(const ShellCommand& command);

// A loop's body has been read again; its commands are those from `first` on, and those of the pass
// before begin at `previous`. Drops the new ones if they say the same. A second cd leads elsewhere.
// Returns where the commands of the last kept pass begin.
std::size_t kept_pass(std::vector<ShellCommand>& commands, std::size_t previous, std::size_t first);

// Reads what stands behind [[, and the ]]. Fails at comparisons of numbers, which compute, as
// subscripts do.
void read_condition(ScriptReading& in);

} // namespace ew::core
