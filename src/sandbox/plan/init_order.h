// What execward-init is told to do: everything about the command, and what to put in force before
// it. The encoded form is read by src/sandbox/init.
#pragma once

#include "sandbox/init/order_format.h"

#include <linux/filter.h>
#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

struct InitOrder {
    std::vector<std::string> programs = {};    // paths to try, as execvp(3) would
    std::vector<std::string> argv = {};        // as the program sees it
    std::vector<std::string> environment = {}; // NAME=value
    std::string directory = {};
    bool has_terminal = false; // descriptor 0 becomes the controlling terminal

    struct Limit {
        int resource = 0;
        rlimit limit = {};
    };

    std::vector<Limit> limits = {}; // core dumps are always off

    // Is it the first process of a pid namespace, which reaps and ends it? Else it becomes the
    // command itself.
    bool is_first_process = true;

    // Landlock (landlock(7)); abi 0: none. Everything may be read; below `writable` everything may
    // be written, below `device_writable` files may be written but none made.
    int landlock = 0;
    std::vector<std::string> writable = {};
    std::vector<std::string> device_writable = {};
    bool scopes_sockets_and_signals = true; // from ABI 6 on

    // What the sandbox has to show: the first process looks before it runs anything, since paths
    // may have been exchanged while the mounts were made. Filled by expect_mounts()
    // (expected_mounts.h).
    struct Expected {
        order_format::ExpectedKind kind = order_format::ExpectedKind::place;
        std::string path = {};
        std::uint64_t device = 0; // as in stat(2)
        std::uint64_t inode = 0;
    };

    std::vector<Expected> expected = {};
    // What else may be writable: mounts that come along with a directory. Of each, what tells what
    // it shows, as in /proc/self/mountinfo: "MAJOR:MINOR ROOT" (init/mount_table.h).
    std::vector<std::string> submounts = {};
    bool checks_mounts =
        false; // nothing but that, and the sandbox's own /dev and /proc, is writable
    bool may_lack_proc = false; // if there is no /proc to see it in, that is not checked

    std::vector<sock_filter> filter = {}; // empty: none
    bool has_listener = false;            // the filter notifies: make a listener and send it
};

std::string encode(const InitOrder& order);

} // namespace ew::sandbox
