// Verbs that replace the contents of a file: all or nothing. Each sends one answer (files/wire.h).
#pragma once

#include "files/answer.h"
#include "files/wire.h"

namespace ew::files {

void write_file(const Request& request, Answer& answer);
void open_replace(const Request& request, Answer& answer);
void commit(const Request& request, int file, int beside, Answer& answer);
void copy(const Request& request, Answer& answer);

} // namespace ew::files
