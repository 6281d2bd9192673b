// Commands for which execward knows which further words do no harm. Only such commands are offered
// as a rule, and an approved rule allows no other words behind its own.
#pragma once

#include "core/judgement/rules.h"
#include "core/judgement/shell_words.h"

#include <string>
#include <vector>

namespace ew::core {

// Returns true if an approved rule may consist of these words: a program with its subcommand, and
// options that are known. A relative path is refused; of an absolute one the name is looked at.
bool can_be_approved(const Words& prefix);

// Returns true if the command begins with these words, which can_be_approved() accepts, and the
// words behind them are known to do no harm: they start no program, write no file of another kind
// and reach no other place than the approved words do. `has_glob` is as in ShellCommand.
bool continues_harmlessly(const Words& prefix, const ShellCommand& command);

// Returns the words that an approved rule also allows behind these, as a text for a person.
std::string further_words_of(const Words& prefix);

} // namespace ew::core
