// Bytes over a stream socket with descriptors beside them (SCM_RIGHTS, unix(7)): both sides of a
// file process speak so.
#pragma once

#include "base/unique_fd.h"

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ew::files {

constexpr std::size_t most_passed = 4; // descriptors with one message

// sendmsg(2) with MSG_NOSIGNAL and `flags`: how many bytes have gone, the descriptors, which are
// borrowed, with the first. -1, with errno: none of either.
ssize_t send_with(int socket, std::string_view bytes, const std::vector<int>& descriptors,
                  int flags = 0);

// recvmsg(2) with `flags`: how many bytes, `most` at most, have been added to `buffer`; 0 at the
// end. -1, with errno; EMFILE: they came, but there was no room for all descriptors.
ssize_t receive_with(int socket, std::string& buffer, std::size_t most,
                     std::vector<UniqueFd>& descriptors, int flags = 0);

} // namespace ew::files
