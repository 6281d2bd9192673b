// From the frames of a file process to the result for the client.
#pragma once

#include "base/error.h"
#include "files/wire.h"
#include "server/fs/file_task.h"

#include <string>

namespace ew::server {

// Adds a frame of text, entries or problems to the result of its task. Returns false if it is
// another frame.
bool take_frame(FileTask& task, const files::Frame& frame);

// Completes the result as JSON. Verbs without other frames need only `done`.
void finish_result(FileTask& task, const files::Done& done);

Error error_of(const files::Failed& failed, bool is_confined);

} // namespace ew::server
