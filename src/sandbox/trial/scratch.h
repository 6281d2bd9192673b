// The place of a trial: a small tree with a writable root, files around it that must be out of
// reach, sockets that a process listens on, and a named pipe that a process reads. It is removed
// with the object, or with the process.
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
    // Errors: sandbox_unavailable: no directory is suitable.
    static Result<Scratch> make();
    ~Scratch();
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) = delete;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::string inside() const { return root_ + "/inside"; } // a repository, to be writable

    // The journal of the placeholders (placeholders.h), which is removed with the tree.
    std::string journal() const { return root_ + "/journal"; }

    Policy policy(Network network) const;
    Context context() const;

    // The arguments of `execward-init probe` for that network.
    std::vector<std::string> arguments(Network network) const;

    // Removes the leftovers, in the usual places, of trials that were killed with all their
    // processes: entries older than any trial can last.
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
    std::string marker_;   // a file in /tmp; empty: not made
    pid_t heir_ = 0;       // the process that removes both if this one cannot any more
    UniqueFd life_;        // when this end of a pipe closes, it removes them
    std::string abstract_; // name of a socket, without the leading NUL; empty: not made
    std::uint16_t port_ = 0;
    std::string socket_; // path; empty: not made
    std::vector<UniqueFd> listeners_;
    std::string pipe_; // path of a named pipe; empty: not made
    UniqueFd reader_;  // without a reader, opening the pipe for writing would fail
};

} // namespace ew::sandbox
