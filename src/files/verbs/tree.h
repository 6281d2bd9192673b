// Verbs that create and remove names in a tree. Each sends one answer (files/wire.h).
#pragma once

#include "files/answer.h"
#include "files/wire.h"

namespace ew::files {

void create_directory(const Request& request, Answer& answer);
void remove(const Request& request, Answer& answer);

} // namespace ew::files
