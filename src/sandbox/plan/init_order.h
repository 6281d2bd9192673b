// The order to execward-init: the command, and everything to put in force before it. The encoded
// form is read by src/sandbox/init.
#pragma once

#include "sandbox/init/order_format.h"

#include <linux/filter.h>
#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

struct InitOrder {
    std::vector<std::string> programs = {};    // paths to try, as in execvp(3)
    std::vector<std::string> argv = {};        // as the program sees it
    std::vector<std::string> environment = {}; // NAME=value
    std::string directory = {};
    std::string script = {};   // that the program can read from script_fd; empty: none
    bool has_terminal = false; // descriptor 0 becomes the controlling terminal

    struct Limit {
        int resource = 0;
        rlimit limit = {};
    };

    std::vector<Limit> limits = {}; // core dumps are always off

    // True if execward-init is the first process of a pid namespace, which reaps orphans and ends
    // the namespace. Otherwise it becomes the command itself.
    bool is_first_process = true;

    // Landlock (landlock(7)); abi 0: none. Everything may be read. Below `writable` everything may
    // be written; below `device_writable` files may be written but not made.
    int landlock = 0;
    std::vector<std::string> writable = {};
    std::vector<std::string> device_writable = {};
    bool scopes_sockets_and_signals = true; // from ABI 6 on

    // The files that the sandbox must show. The first process checks them before it runs anything,
    // since paths may have been exchanged while the mounts were made. Filled by expect_mounts()
    // (expected_mounts.h).
    struct Expected {
        order_format::ExpectedKind kind = order_format::ExpectedKind::place;
        std::string path = {};
        std::uint64_t device = 0; // as in stat(2)
        std::uint64_t inode = 0;
    };

    std::vector<Expected> expected = {};
    // Mounts inside a bound directory, which may be writable too. Each is named as in
    // /proc/self/mountinfo: "MAJOR:MINOR ROOT" (init/mount_table.h).
    std::vector<std::string> submounts = {};
    bool checks_mounts = false; // only these and the sandbox's own /dev and /proc may be writable
    bool may_lack_proc = false; // skips the check if there is no /proc to read the mounts from

    std::vector<sock_filter> filter = {}; // empty: no filter
    bool has_listener = false; // make a listener for the filter's notifications and send it
};

std::string encode(const InitOrder& order);

} // namespace ew::sandbox
