// Descriptors that are sent to another process, in one message with one byte (SCM_RIGHTS, unix(7)).
#pragma once

#include "base/unique_fd.h"

#include <cstddef>
#include <span>
#include <vector>

namespace ew::os {

constexpr std::size_t most_passed = 253; // SCM_MAX_FD of the kernel

// Sends these borrowed descriptors without waiting. Returns false if they were not sent.
bool send_descriptors(int socket, std::span<const int> descriptors);

// Receives one such message without waiting. Returns an empty list if there is none. If this
// process has not enough descriptors left, those that arrived are returned.
std::vector<UniqueFd> receive_descriptors(int socket);

} // namespace ew::os
