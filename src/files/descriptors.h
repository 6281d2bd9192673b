// Sends bytes and descriptors (SCM_RIGHTS, unix(7)) over a stream socket. Both sides of a file
// process use it.
#pragma once

#include "base/unique_fd.h"

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ew::files {

constexpr std::size_t most_passed = 4; // descriptors per message

// Calls sendmsg(2) with MSG_NOSIGNAL and `flags`. Returns the number of bytes sent; the borrowed
// descriptors go with the first byte. Returns -1 and sets errno if nothing was sent.
ssize_t send_with(int socket, std::string_view bytes, const std::vector<int>& descriptors,
                  int flags = 0);

// Calls recvmsg(2) with `flags`. Returns the number of bytes (at most `most`) added to `buffer`, or
// 0 at the end. Returns -1 and sets errno on failure; EMFILE means that not all received
// descriptors could be kept.
ssize_t receive_with(int socket, std::string& buffer, std::size_t most,
                     std::vector<UniqueFd>& descriptors, int flags = 0);

} // namespace ew::files
