// From what a file process says to what the client is told.
#pragma once

#include "base/error.h"
#include "files/wire.h"
#include "server/fs/file_task.h"

#include <string>

namespace ew::server {

// Adds a frame of text, entries or problems to the result of its task. False: it is none of these.
bool take_frame(FileTask& task, const files::Frame& frame);

// The result as JSON, for the verbs that need nothing but `done`.
void finish_result(FileTask& task, const files::Done& done);

Error error_of(const files::Failed& failed, bool is_confined);

} // namespace ew::server
