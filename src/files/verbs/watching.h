// The verb that waits for a file to appear. It sends one answer per request (files/wire.h).
#pragma once

#include "files/answer.h"
#include "files/wire.h"

namespace ew::files {

void watch_missing(const Request& request, int inotify, Answer& answer);

} // namespace ew::files
