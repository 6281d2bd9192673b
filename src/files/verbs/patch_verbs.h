// Verbs of patches: check and apply. Each sends one answer (files/wire.h).
#pragma once

#include "files/answer.h"
#include "files/wire.h"

namespace ew::files {

void patch_check(const Request& request, Answer& answer);
void patch_apply(const Request& request, Answer& answer);

} // namespace ew::files
