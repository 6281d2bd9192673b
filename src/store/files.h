// The database's file: made for this user alone, and refused where others could have written to it.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

#include <string>

namespace ew::store {

// Makes the file of an absolute path (0600) and its directories (0700) if they are missing. What
// exists must be owned by this user and writable for nobody else; the file and its companions, PATH
// and -wal, -shm, -journal, must be no symbolic links. Where others may only read, that is ended.
//
// The lock holds up other processes that prepare a file in this directory: it is kept until the
// database has its tables. Waits for it at most `patience`.
Result<UniqueFd> prepare_file(const std::string& path, Millis patience = Millis(2000));

} // namespace ew::store
