// Verbs that read and write the contents of files. Each sends one answer (files/wire.h).
#pragma once

#include "files/answer.h"
#include "files/wire.h"

namespace ew::files {

void read_file(const Request& request, Answer& answer);
void read_block(const Request& request, int file, Answer& answer);
void write_block(const Request& request, int file, Answer& answer);
void open_file(const Request& request, Answer& answer);

} // namespace ew::files
