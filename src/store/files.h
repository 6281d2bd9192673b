// Creates the database file for this user only, and refuses a file that others could have written.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

#include <string>

namespace ew::store {

// Creates the file of an absolute path (0600) and its directories (0700) if they are missing.
// Existing ones must be owned by this user and not be writable for others. The file and its
// companions (PATH with -wal, -shm, -journal) must not be symlinks nor have hard links. Removes the
// read permission of others.
//
// The returned lock stops other processes that prepare a file in this directory. Keep it until the
// database has its tables. Waits for the lock at most `patience`.
Result<UniqueFd> prepare_file(const std::string& path, Millis patience = Millis(2000));

} // namespace ew::store
