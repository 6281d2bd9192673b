// Verbs that put new contents in the place of a file: all or nothing. Each answers once
// (files/wire.h).
#pragma once

#include "files/answer.h"
#include "files/wire.h"

namespace ew::files {

void write_file(const Request& request, Answer& answer);
void open_replace(const Request& request, Answer& answer);
void commit(const Request& request, int file, int beside, Answer& answer);
void copy(const Request& request, Answer& answer);

} // namespace ew::files
