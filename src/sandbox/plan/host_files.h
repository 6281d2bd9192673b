// The files that lead the programs of a sandbox with a network by host to its resolver.
#pragma once

#include "sandbox/plan/plan.h"

#include <string>
#include <string_view>
#include <vector>

namespace ew::sandbox {

// Returns /etc/resolv.conf, /etc/hosts and /etc/nsswitch.conf as the sandbox shows them, each at
// the place where the machine has it. A missing file needs no other: the C library then asks the
// name server on 127.0.0.1.
std::vector<PlaceholderFile> host_files();

// The text of nsswitch.conf(5) in which hosts are looked up in files and by the resolver alone.
std::string name_services(std::string_view text);

} // namespace ew::sandbox
