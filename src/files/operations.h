// What file processes do, one function a verb of wire.h. Each answers once.
#pragma once

#include "base/unique_fd.h"
#include "files/answer.h"
#include "files/wire.h"

#include <vector>

namespace ew::files {

void read_file(const Request& request, Answer& answer);
void read_block(const Request& request, int file, Answer& answer);
void write_block(const Request& request, int file, Answer& answer);
void open_file(const Request& request, Answer& answer);

void write_file(const Request& request, Answer& answer);
void open_replace(const Request& request, Answer& answer);
void commit(const Request& request, int file, int beside, Answer& answer);

void create_directory(const Request& request, Answer& answer);
void remove(const Request& request, Answer& answer);
void copy(const Request& request, Answer& answer);

void metadata(const Request& request, Answer& answer);
void canonicalize(const Request& request, Answer& answer);
void read_directory(const Request& request, Answer& answer);
void walk(const Request& request, Answer& answer);

void patch_check(const Request& request, Answer& answer);
void patch_apply(const Request& request, Answer& answer);

void watch_missing(const Request& request, int inotify, Answer& answer);

} // namespace ew::files
