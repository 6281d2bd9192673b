// Sequences that set the style of what follows (SGR).
#pragma once

#include "core/screen/sequence_reader.h"

#include <string>
#include <vector>

namespace ew::core {

// Returns sequences with one attribute each, for the numbers of one sequence: libvterm looks behind
// the end of a long list. What is not complete is left out.
std::string single_styles(const std::vector<SequenceReader::Number>& numbers);

} // namespace ew::core
