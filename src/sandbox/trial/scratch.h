// What a trial is done on: a small tree with a writable root, things around it that must be out of
// reach, sockets that somebody listens on, and a named pipe that somebody reads. Gone with the
// object, or with the process.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/policy/policy.h"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

class Scratch {
public:
    // Errors: sandbox_unavailable, there is no place for it.
    static Result<Scratch> make();
    ~Scratch();
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) = delete;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::string inside() const { return root_ + "/inside"; } // a repository, to be writable

    // Of placeholders (placeholders.h), which go with the tree.
    std::string journal() const { return root_ + "/journal"; }

    Policy policy(Network network) const;
    Context context() const;

    // For `execward-init probe` with that network.
    std::vector<std::string> arguments(Network network) const;

    // Removes what trials that were killed with all their processes have left in the usual places:
    // what is older than any trial lasts.
    static void sweep();

private:
    Scratch() = default;
    void make_marker();
    void appoint_heir();
    Result<void> make_tree();
    void make_sockets();
    void make_pipe();
    bool is_in_tmp() const;

    std::string root_;
    std::string marker_;   // a file in /tmp; empty: there is none
    pid_t heir_ = 0;       // the process that removes both if this one cannot any more
    UniqueFd life_;        // and the end of this tells it so
    std::string abstract_; // name of a socket, without the leading NUL; empty: there is none
    std::uint16_t port_ = 0;
    std::string socket_; // path; empty: there is none
    std::vector<UniqueFd> listeners_;
    std::string pipe_; // path of a named pipe; empty: there is none
    UniqueFd reader_;  // of it, or opening it for writing would fail for want of one
};

} // namespace ew::sandbox
