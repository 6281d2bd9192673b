// Verbs that examine files and directories. Each sends one answer (files/wire.h).
#pragma once

#include "files/answer.h"
#include "files/wire.h"

namespace ew::files {

void metadata(const Request& request, Answer& answer);
void canonicalize(const Request& request, Answer& answer);
void read_directory(const Request& request, Answer& answer);
void walk(const Request& request, Answer& answer);

} // namespace ew::files
